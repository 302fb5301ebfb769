import type { ChangeRecord, NotRecoverableReason } from '../../capsule/index.ts';
import { isWithin, joinPath, type Name, namesOf, type RelPath, ROOT_PATH } from '../../core/index.ts';
import type { EntryKind } from '../../fs/index.ts';

/** One line for a person: an entry, or several of them under the directory that holds them. */
export interface SummaryLine {
  readonly path: RelPath;
  readonly kind: EntryKind;
  /** Entries that this line stands for. */
  readonly entries: number;
  /** `whole`: the directory itself came or went with all that is in it. `inside`: so many entries somewhere below it. */
  readonly extent: 'single' | 'whole' | 'inside';
  /** What is special about a modification: only the mode, or the kind. */
  readonly note?: 'mode' | 'type';
}

export interface ChangeSummary {
  readonly created: readonly SummaryLine[];
  readonly deleted: readonly SummaryLine[];
  readonly modified: readonly SummaryLine[];
  /** Changes inside the data of git repositories, by its directory; not among the lines above. */
  readonly repositories: readonly { readonly path: RelPath; readonly entries: number }[];
  readonly notRecoverable: readonly {
    readonly reason: NotRecoverableReason;
    readonly count: number;
    /** A few of them. */
    readonly examples: readonly RelPath[];
  }[];
}

type Category = 'created' | 'deleted' | 'modified';

const MAX_LINES = 8;
const MAX_EXAMPLES = 3;

/** Gathers a short summary from changes in the order of a walk, without keeping the changes. */
export class Summarizer {
  readonly #lines: Record<Category, SummaryLine[]> = { created: [], deleted: [], modified: [] };
  readonly #repositories = new Map<RelPath, number>();
  readonly #reasons = new Map<NotRecoverableReason, { count: number; examples: RelPath[] }>();

  add(change: ChangeRecord): void {
    if (change.reason !== undefined) this.#addReason(change.reason, change.path);
    const category =
      change.before === undefined ? 'created' : change.after === undefined ? 'deleted' : 'modified';
    const lines = this.#lines[category];
    const last = lines.at(-1);
    if (last?.extent === 'whole' && isWithin(change.path, last.path)) {
      lines[lines.length - 1] = { ...last, entries: last.entries + 1 };
      return;
    }
    const repository = repositoryOf(change.path);
    if (repository !== undefined)
      this.#repositories.set(repository, (this.#repositories.get(repository) ?? 0) + 1);
    else lines.push(toLine(change, category));
  }

  summary(): ChangeSummary {
    return {
      created: collapse(this.#lines.created),
      deleted: collapse(this.#lines.deleted),
      modified: collapse(this.#lines.modified),
      repositories: [...this.#repositories].map(([path, entries]) => ({ path, entries })),
      notRecoverable: [...this.#reasons].map(([reason, rest]) => ({ reason, ...rest })),
    };
  }

  #addReason(reason: NotRecoverableReason, path: RelPath): void {
    const entry = this.#reasons.get(reason) ?? { count: 0, examples: [] };
    entry.count++;
    if (entry.examples.length < MAX_EXAMPLES) entry.examples.push(path);
    this.#reasons.set(reason, entry);
  }
}

function toLine({ path, before, after }: ChangeRecord, category: Category): SummaryLine {
  const kind = (after ?? before)?.state.kind ?? 'file';
  const extent = category !== 'modified' && kind === 'directory' ? 'whole' : 'single';
  const note = noteOf(before?.state, after?.state);
  return { path, kind, entries: 1, extent, ...(category === 'modified' && note !== undefined && { note }) };
}

type Side = NonNullable<ChangeRecord['before']>['state'] | undefined;

function noteOf(before: Side, after: Side): SummaryLine['note'] {
  if (before === undefined || after === undefined) return undefined;
  if (before.kind !== after.kind) return 'type';
  if (before.kind === 'directory') return 'mode';
  const isSameContent =
    before.content.is === 'digest' &&
    after.content.is === 'digest' &&
    before.content.digest === after.content.digest;
  return isSameContent ? 'mode' : undefined;
}

/** The `.git` directory that `path` lies in; undefined for the `.git` entry itself. */
function repositoryOf(path: RelPath): RelPath | undefined {
  const names = namesOf(path);
  const at = names.indexOf('.git' as Name);
  return at === -1 || at === names.length - 1
    ? undefined
    : names.slice(0, at + 1).reduce(joinPath, ROOT_PATH);
}

/** Folds the deepest lines into the directories that hold them until few enough are left. */
function collapse(lines: readonly SummaryLine[]): SummaryLine[] {
  let current = [...lines];
  while (current.length > MAX_LINES) {
    const depth = current.reduce((most, line) => Math.max(most, namesOf(line.path).length), 0);
    if (depth <= 1) break;
    current = foldAt(current, depth);
  }
  return current;
}

function foldAt(lines: readonly SummaryLine[], depth: number): SummaryLine[] {
  const folded = new Map<RelPath, SummaryLine>();
  for (const line of lines) {
    const names = namesOf(line.path);
    const path = names.length < depth ? line.path : names.slice(0, depth - 1).reduce(joinPath, ROOT_PATH);
    const known = folded.get(path);
    if (names.length < depth && known === undefined) folded.set(path, line);
    else {
      const entries = (known?.entries ?? 0) + line.entries;
      folded.set(path, {
        path,
        kind: 'directory',
        entries,
        extent: known?.extent === 'whole' ? 'whole' : 'inside',
      });
    }
  }
  return [...folded.values()];
}
