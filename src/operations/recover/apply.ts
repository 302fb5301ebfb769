import { AgentdiffError, type RelPath, ROOT_PATH, splitPath } from '../../core/index.ts';
import { type Dir, effectiveUser, type EntryKind, isSameInode } from '../../fs/index.ts';
import { changeDirMetadata, syncDir } from '../../fs/write.ts';
import { isRootInState, observe, type Place, type State } from '../../snapshot/index.ts';
import { isMetadataOnly } from '../workspace/assess.ts';
import { deepestFirst, type PlannedStep, type RecoverPlan } from './plan.ts';
import { Refusal, type RefusalCode, toRefusal } from './refusal.ts';
import type { Staging } from './staging.ts';
import { changeMetadata, finishDirectory, swap } from './swap.ts';

/** What became of one path. */
export interface StepResult {
  readonly path: RelPath;
  /** Of the wanted entry, or of the one removed. */
  readonly kind: EntryKind;
  readonly result: 'restored' | 'removed' | 'already-right' | 'refused';
  /** With result `refused`. */
  readonly code?: RefusalCode;
  readonly detail?: string;
  /** What is not as it was although the step was done. */
  readonly note?: string;
}

/** What was done, whatever comes after it. */
export interface Applied {
  readonly results: readonly StepResult[];
  /** The changed names are on the disk when this returns. Throws the system's error. */
  readonly makeDurable: () => void;
}

/**
 * Carries out a plan: every step is checked again at its turn, by compare-and-swap, and a failure of one is a refusal of that one.
 * Order: modes of directories that open them to their owner, those that are to go included; removals deepest first, directories shallowest
 * first, files and links; then all other modes and times of directories, deepest first.
 */
export function applyPlan(root: Dir, plan: RecoverPlan, staging: Staging): Applied {
  const work = new Work(root, staging);
  const steps = plan.steps.filter((step) => step.verdict === 'apply');
  const [removals, rest] = partition(steps, isRemoval);
  const [directories, others] = partition(rest, (step) => step.wanted?.state.kind === 'directory');
  const [newDirectories, keptDirectories] = partition(
    directories,
    (step) => step.expected?.kind !== 'directory',
  );
  const [opened, closed] = partition(keptDirectories, isOpenedToOwner);
  for (const step of opened.sort((a, b) => deepestFirst(b, a))) work.attempt(step, metadataStep);
  const locked = effectiveUser() === 0 ? [] : removals.filter(isLockedDirectory);
  for (const step of locked.sort((a, b) => deepestFirst(b, a))) work.unlock(step);
  for (const step of removals.sort(deepestFirst)) work.attempt(work.asUnlocked(step), swapStep);
  for (const step of locked.sort(deepestFirst)) work.lockAgain(step);
  for (const step of newDirectories.sort((a, b) => deepestFirst(b, a))) work.attempt(step, swapStep);
  const [metadata, contents] = partition(others, isMetadataStep);
  for (const step of metadata) work.attempt(step, metadataStep);
  staging.inBatches(contents, (step) => work.attempt(step, swapStep));
  for (const step of [...newDirectories].sort(deepestFirst)) work.attempt(step, finishStep);
  for (const step of closed.sort(deepestFirst)) work.attempt(step, metadataStep);
  return { results: plan.steps.map((step) => work.resultOf(step)), makeDurable: () => work.end() };
}

/** Steps that free a name, or that put something else where a directory is. */
function isRemoval({ expected, wanted }: PlannedStep): boolean {
  return wanted === undefined || (expected?.kind === 'directory' && wanted.state.kind !== 'directory');
}

/** Without all of these rights the names in a directory cannot be seen and changed; whoever has privilege needs none. */
const OWNER_RIGHTS = 0o700;

function opensToOwner(mode = 0): boolean {
  return (mode & OWNER_RIGHTS) === OWNER_RIGHTS;
}

function isOpenedToOwner({ expected, wanted }: PlannedStep): boolean {
  return opensToOwner(wanted?.state.mode) && !opensToOwner(expected?.mode);
}

function isLockedDirectory({ expected }: PlannedStep): boolean {
  return expected?.kind === 'directory' && expected.content.is === 'digest' && !opensToOwner(expected.mode);
}

function unlocked(state: State): State {
  return { ...state, mode: state.mode | OWNER_RIGHTS };
}

function isMetadataStep({ expected, wanted }: PlannedStep): boolean {
  return wanted !== undefined && isMetadataOnly(expected, wanted.state);
}

/** @param known the entry's ctime is that of this recover's own last act on another name of the same file */
type Action = (place: Target, step: PlannedStep, staging: Staging, known: 'in-place' | 'renamed') => void;

type Target = Exclude<Place, { found: 'blocked' }>;

const swapStep: Action = ({ parent, name }, { expected, wanted }, staging, known) =>
  swap(parent, name, { expected, wanted, known }, staging);

const metadataStep: Action = ({ parent, name }, { expected, wanted }) => {
  if (expected !== undefined && wanted !== undefined) changeMetadata(parent, name, expected, wanted.state);
};

const finishStep: Action = ({ parent, name }, { wanted }) => {
  if (wanted !== undefined) finishDirectory(parent, name, wanted);
};

/** The refusals so far, the directories whose names changed, and the files of which one name was handled. */
class Work {
  readonly #root: Dir;
  readonly #staging: Staging;
  readonly #refusals = new Map<RelPath, Refusal>();
  readonly #touched = new Set<RelPath>();
  /** By `dev:ino`, of files with several names. */
  readonly #ctimes = new Map<string, bigint>();
  readonly #unlocked = new Set<RelPath>();

  constructor(root: Dir, staging: Staging) {
    this.#root = root;
    this.#staging = staging;
  }

  attempt(step: PlannedStep, action: Action): void {
    if (this.#refusals.has(step.path)) return;
    try {
      if (step.path === ROOT_PATH) this.#attemptRoot(step);
      else this.#attemptInside(step, action);
    } catch (error) {
      this.#refusals.set(step.path, contentRefusal(error) ?? toRefusal(error));
    }
  }

  /** Gives the owner all rights in a directory that is to go, so that what is in it can go first. Where that fails the removals tell why. */
  unlock({ path, expected }: PlannedStep): void {
    if (expected !== undefined && this.#changeMode(path, expected, unlocked(expected)))
      this.#unlocked.add(path);
  }

  asUnlocked(step: PlannedStep): PlannedStep {
    const { path, expected } = step;
    return expected !== undefined && this.#unlocked.has(path)
      ? { ...step, expected: unlocked(expected) }
      : step;
  }

  /** A directory that had to stay after all is as it was found. */
  lockAgain({ path, expected }: PlannedStep): void {
    if (expected === undefined || !this.#unlocked.has(path) || !this.#refusals.has(path)) return;
    this.#changeMode(path, unlocked(expected), expected);
  }

  #changeMode(path: RelPath, expected: State, wanted: State): boolean {
    const place = observe(this.#root, path);
    if (place.found === 'blocked') return false;
    try {
      if (place.found === 'absent') return false;
      changeMetadata(place.parent, place.name, expected, wanted);
      return true;
    } catch (error) {
      toRefusal(error);
      return false;
    } finally {
      place.parent.close();
    }
  }

  #attemptInside(step: PlannedStep, action: Action): void {
    const place = observe(this.#root, step.path);
    if (place.found === 'blocked') {
      const code = place.why === 'link' ? 'parent-is-link' : 'parent-changed';
      throw new Refusal(code, 'the directory that should hold it is not there');
    }
    try {
      this.#attemptAt(place, step, action);
      this.#touched.add(splitPath(step.path)?.parent ?? ROOT_PATH);
    } finally {
      place.parent.close();
    }
  }

  /** Dropping one name of a file moves the ctime that its other names are known by, so what it becomes by our own act is kept in mind. */
  #attemptAt(place: Target, step: PlannedStep, action: Action): void {
    if (place.found === 'absent') return action(place, step, this.#staging, 'in-place');
    const { parent, name, stat } = place;
    const inode = `${stat.dev}:${stat.ino}`;
    const ctime = this.#ctimes.get(inode);
    if (stat.kind !== 'file' || (stat.nlink < 2 && ctime === undefined))
      return action(place, step, this.#staging, 'in-place');
    const file = parent.openEntry(name);
    try {
      action(place, step, this.#staging, ctime === stat.ctimeNs ? 'renamed' : 'in-place');
      if (isSameInode(file.stat(), stat)) this.#ctimes.set(inode, file.stat().ctimeNs);
    } finally {
      file.close();
    }
  }

  #attemptRoot({ expected, wanted }: PlannedStep): void {
    if (expected === undefined || wanted === undefined) return;
    if (!isRootInState(this.#root, expected))
      throw new Refusal('changed-during', 'the root was changed meanwhile');
    changeDirMetadata(this.#root, wanted.state);
  }

  /** Makes all changes of names durable, each directory once. One that is gone again needs nothing. */
  end(): void {
    for (const path of this.#touched) {
      if (path === ROOT_PATH) syncDir(this.#root);
      else this.#syncInside(path);
    }
  }

  #syncInside(path: RelPath): void {
    const place = observe(this.#root, path);
    if (place.found === 'blocked') return;
    try {
      // A step further up may have put something else in its place.
      if (place.found === 'absent' || place.stat.kind !== 'directory') return;
      const dir = place.parent.openDir(place.name);
      syncDir(dir);
      dir.close();
    } finally {
      place.parent.close();
    }
  }

  resultOf(step: PlannedStep): StepResult {
    const { path, kind, links } = step;
    if (step.verdict !== 'apply') return plannedResult(step);
    const refusal = this.#refusals.get(path);
    if (refusal !== undefined)
      return { path, kind, result: 'refused', code: refusal.code, detail: refusal.detail };
    if (step.action === 'remove') return { path, kind, result: 'removed' };
    if (links === undefined) return { path, kind, result: 'restored' };
    return {
      path,
      kind,
      result: 'restored',
      note: `a file of its own now; it was one of ${links} names of a file`,
    };
  }
}

/** The result of a step that the plan leaves alone. */
export function plannedResult({ path, kind, verdict, code, detail }: PlannedStep): StepResult {
  if (verdict === 'already') return { path, kind, result: 'already-right' };
  return { path, kind, result: 'refused', ...(code && { code }), ...(detail && { detail }) };
}

function contentRefusal(error: unknown): Refusal | undefined {
  if (!(error instanceof AgentdiffError)) return undefined;
  if (error.code === 'OBJECT_MISSING')
    return new Refusal('content-missing', 'its content is not in the store any more');
  if (error.code === 'OBJECT_DAMAGED' || error.code === 'STORE_DAMAGED')
    return new Refusal('content-damaged', 'its content in the store is damaged');
  return undefined;
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
