import {
  canonicalJson,
  compareBytes,
  type Digest,
  digestOf,
  isWithin,
  joinPath,
  lossyText,
  namesOf,
  type RelPath,
  ROOT_PATH,
  type RunId,
  splitPath,
  toJsonPath,
} from '../../core/index.ts';
import type { ChangeRecord } from '../../capsule/index.ts';
import type { Dir, EntryKind, Stat } from '../../fs/index.ts';
import { isInState, isRootInState, observe, type State } from '../../snapshot/index.ts';
import type { ObjectReader } from '../../store/index.ts';
import { isMetadataOnly } from '../workspace/assess.ts';
import { Refusal, type RefusalCode, toRefusal } from './refusal.ts';
import type { Wanted } from './staging.ts';

export type StepAction = 'restore' | 'remove' | 'change-mode';
export type StepVerdict = 'apply' | 'already' | 'refused';

/** What a recover means to do with one path. `expected` is what the run left there, `wanted` what was there before it. */
export interface PlannedStep {
  readonly path: RelPath;
  readonly action: StepAction;
  /** Of the wanted entry, or of the one to be removed. */
  readonly kind: EntryKind;
  readonly expected?: State;
  readonly wanted?: Wanted;
  /** Names that a file had which is put back as a file of its own; absent when it had only the one. */
  readonly links?: number;
  readonly verdict: StepVerdict;
  /** With verdict `refused`. */
  readonly code?: RefusalCode;
  readonly detail?: string;
}

export interface RecoverPlan {
  /** The run to be taken back. */
  readonly runId: RunId;
  /** SHA-256 over the canonical JSON of everything the plan says. */
  readonly digest: Digest;
  /** In byte order of their paths, so a directory stands before what is in it. */
  readonly steps: readonly PlannedStep[];
  readonly counts: Readonly<Record<StepVerdict, number>>;
}

interface Draft {
  readonly record: ChangeRecord;
  readonly path: RelPath;
  readonly expected: State | undefined;
  readonly wanted: Wanted | undefined;
  verdict: StepVerdict;
  refusal?: Refusal;
  /** Of the entry that is there now, where it has to be compared with other steps'. */
  seen?: Stat;
}

/** What a plan is made from. Nothing here is changed, and nothing outside the selected paths is looked at. */
export interface PlanInput {
  readonly runId: RunId;
  readonly root: Dir;
  /** In byte order of their paths. */
  readonly changes: Iterable<ChangeRecord>;
  /** Only these paths and what is below them; empty: all. */
  readonly paths: readonly RelPath[];
  readonly objects: ObjectReader;
  readonly mounts: ReadonlySet<string>;
}

/** Compares each selected change with what is in the workspace now. */
export function makePlan(input: PlanInput): RecoverPlan {
  const drafts = select(input);
  for (const draft of drafts.values()) judge(draft, drafts, input);
  refuseSharedFiles(drafts);
  refuseOccupiedDirectories(drafts, input.root);
  refuseBelowRefused(drafts);
  const steps = [...drafts.values()].map(toStep);
  const counts = { apply: 0, already: 0, refused: 0 };
  for (const step of steps) counts[step.verdict]++;
  return { runId: input.runId, digest: digestPlan(input.runId, steps), steps, counts };
}

/** The selected changes, and the directories above them that the run took away and that they need. */
function select({ changes, paths }: PlanInput): Map<RelPath, Draft> {
  const drafts = new Map<RelPath, Draft>();
  for (const record of changes) {
    const isSelected = paths.length === 0 || paths.some((path) => isWithin(record.path, path));
    const isTakenAway = record.before?.state.kind === 'directory' && record.after?.state.kind !== 'directory';
    const isNeeded = isTakenAway && paths.some((path) => isWithin(path, record.path));
    if (!isSelected && !isNeeded) continue;
    const { path, before, after } = record;
    const mtimeNs = before?.particulars?.mtimeNs;
    const wanted = before && { state: before.state, ...(mtimeNs === undefined ? {} : { mtimeNs }) };
    drafts.set(path, { record, path, expected: after?.state, wanted, verdict: 'apply' });
  }
  return drafts;
}

function judge(draft: Draft, drafts: ReadonlyMap<RelPath, Draft>, input: PlanInput): void {
  try {
    const now = compareWithNow(draft, drafts, input);
    draft.verdict = now;
    if (now === 'apply') checkPossible(draft, input);
  } catch (error) {
    draft.verdict = 'refused';
    draft.refusal = toRefusal(error);
  }
}

function compareWithNow(
  draft: Draft,
  drafts: ReadonlyMap<RelPath, Draft>,
  { root, mounts }: PlanInput,
): 'apply' | 'already' {
  const { path, expected, wanted } = draft;
  if (path === ROOT_PATH) return compareRoot(draft, root);
  if (isMounted(path, mounts))
    throw new Refusal('mount-in-the-way', 'another file system is mounted there, or above it');
  const place = observe(root, path);
  if (place.found === 'blocked') return blockedBy(place, draft, drafts);
  if (place.found === 'absent') {
    place.parent.close();
    if (expected === undefined && wanted !== undefined) return 'apply';
    if (wanted === undefined) return 'already';
    throw new Refusal('changed-since', `expected ${describe(expected)}, found nothing`);
  }
  try {
    draft.seen = place.stat;
    if (expected !== undefined && isInState(place.parent, place.name, expected) === 'yes') return 'apply';
    if (wanted !== undefined && isInState(place.parent, place.name, wanted.state) === 'yes') return 'already';
  } finally {
    place.parent.close();
  }
  if (expected?.content.is === 'unknown' && expected.content.identity === undefined) {
    throw new Refusal('not-observed', 'what the run left there is not known');
  }
  throw new Refusal(
    'changed-since',
    `expected ${describe(expected)}, found ${describeFound(place.stat, expected)}`,
  );
}

function isMounted(path: RelPath, mounts: ReadonlySet<string>): boolean {
  if (mounts.size === 0) return false;
  return namesOf(path).some((_, i, names) => mounts.has(names.slice(0, i + 1).reduce(joinPath, ROOT_PATH)));
}

function compareRoot({ expected, wanted }: Draft, root: Dir): 'apply' | 'already' {
  if (expected !== undefined && isRootInState(root, expected)) return 'apply';
  if (wanted !== undefined && isRootInState(root, wanted.state)) return 'already';
  throw new Refusal('changed-since', 'the mode or owner of the root was changed after the run');
}

/** A parent is missing or in the way: right only if this very plan puts the directory back first. */
function blockedBy(
  place: { at: RelPath; why: 'link' | 'not-directory' | 'unreadable' | 'missing' },
  { expected, wanted }: Draft,
  drafts: ReadonlyMap<RelPath, Draft>,
): 'apply' | 'already' {
  const parent = drafts.get(place.at);
  const isPutBack = parent?.verdict === 'apply' && parent.wanted?.state.kind === 'directory';
  if (isPutBack && expected === undefined) return 'apply';
  if (wanted === undefined && (place.why === 'missing' || parent?.verdict === 'already')) return 'already';
  const at = quoted(place.at);
  if (parent?.verdict === 'refused') throw new Refusal('parent-refused', `${at} had to be refused`);
  if (place.why === 'link') throw new Refusal('parent-is-link', `${at} is a symlink now`);
  if (place.why === 'unreadable') throw new Refusal('not-permitted', `${at} may not be entered`);
  throw new Refusal('parent-changed', `${at} is ${place.why === 'missing' ? 'gone' : 'no directory now'}`);
}

/** The wanted state must be one that can be made from what was kept. */
function checkPossible({ record, expected, wanted }: Draft, { objects }: PlanInput): void {
  if (wanted === undefined) return;
  const { kind, content } = wanted.state;
  if (isMetadataOnly(expected, wanted.state)) return;
  if (content.is === 'unknown')
    throw new Refusal('not-observed', `what was there before the run is not known (${content.reason})`);
  if (kind === 'directory') return;
  if (kind !== 'file' && kind !== 'symlink')
    throw new Refusal('unsupported-kind', `a ${kind} cannot be made again`);
  if (content.is !== 'digest' || record.reason === 'content-not-kept') {
    throw new Refusal('content-not-kept', `its content was not kept (level ${record.level})`);
  }
  if (!objects.has(content.digest))
    throw new Refusal('content-missing', 'its content is not in the store any more');
}

/** A file with several names may be replaced only where the plan sees to all of them; otherwise one name would keep what the run wrote. */
function refuseSharedFiles(drafts: ReadonlyMap<RelPath, Draft>): void {
  const names = new Map<string, Draft[]>();
  for (const draft of drafts.values()) {
    const { verdict, seen } = draft;
    if (verdict !== 'apply' || seen?.kind !== 'file' || seen.nlink < 2) continue;
    const inode = `${seen.dev}:${seen.ino}`;
    const group = names.get(inode);
    if (group === undefined) names.set(inode, [draft]);
    else group.push(draft);
  }
  for (const group of names.values()) {
    const links = group[0]?.seen?.nlink ?? 0;
    if (links === group.length) continue;
    for (const draft of group) {
      if (draft.wanted === undefined) continue;
      refuse(
        draft,
        new Refusal(
          'hard-linked',
          `the file has ${links} names, and this run changed ${group.length} of them`,
        ),
      );
    }
  }
}

/** A directory that has to go, or to make way, must hold nothing but what goes with it. Deepest first, so that a refusal climbs. */
function refuseOccupiedDirectories(drafts: ReadonlyMap<RelPath, Draft>, root: Dir): void {
  for (const draft of [...drafts.values()].reverse()) {
    if (draft.verdict !== 'apply' || draft.expected?.kind !== 'directory') continue;
    if (draft.wanted?.state.kind === 'directory') continue;
    const refusal = refusalOfContent(draft.path, drafts, root);
    if (refusal === undefined) continue;
    refuse(draft, refusal);
    // A directory that must make way for something else stays whole: taking half of it away would help nobody.
    if (draft.wanted !== undefined) refuseSubtree(draft.path, drafts);
  }
}

function refusalOfContent(
  path: RelPath,
  drafts: ReadonlyMap<RelPath, Draft>,
  root: Dir,
): Refusal | undefined {
  try {
    const foreign = namesIn(path, root).find((child) => !isRemoved(drafts.get(child)));
    return foreign && new Refusal('directory-not-empty', `it holds ${quoted(foreign)}, which stays`);
  } catch (error) {
    return toRefusal(error);
  }
}

function namesIn(path: RelPath, root: Dir): RelPath[] {
  const place = observe(root, path);
  if (place.found === 'blocked') return [];
  try {
    if (place.found === 'absent') return [];
    const dir = place.parent.openDir(place.name);
    try {
      return dir.names().map((name) => joinPath(path, name));
    } finally {
      dir.close();
    }
  } finally {
    place.parent.close();
  }
}

function isRemoved(draft: Draft | undefined): boolean {
  return draft !== undefined && draft.verdict === 'apply' && draft.wanted === undefined;
}

function refuseSubtree(path: RelPath, drafts: ReadonlyMap<RelPath, Draft>): void {
  const refusal = new Refusal('parent-refused', `${quoted(path)} had to be refused`);
  for (const draft of drafts.values()) {
    if (draft.path !== path && isWithin(draft.path, path) && draft.verdict === 'apply')
      refuse(draft, refusal);
  }
}

/** What is to be made inside a directory that is not put back after all is refused too. */
function refuseBelowRefused(drafts: ReadonlyMap<RelPath, Draft>): void {
  for (const draft of drafts.values()) {
    if (draft.verdict !== 'apply' || draft.wanted === undefined) continue;
    const parent = nearestAbove(draft.path, drafts);
    const needsParent = parent?.wanted?.state.kind === 'directory' && parent.expected?.kind !== 'directory';
    if (parent?.verdict === 'refused' && needsParent) {
      refuse(draft, new Refusal('parent-refused', `${quoted(parent.path)} had to be refused`));
    }
  }
}

function nearestAbove(path: RelPath, drafts: ReadonlyMap<RelPath, Draft>): Draft | undefined {
  const parent = splitPath(path)?.parent;
  return parent === undefined || parent === ROOT_PATH ? undefined : drafts.get(parent);
}

function refuse(draft: Draft, refusal: Refusal): void {
  draft.verdict = 'refused';
  draft.refusal = refusal;
}

function toStep({ record, path, expected, wanted, verdict, refusal }: Draft): PlannedStep {
  const action =
    wanted === undefined ? 'remove' : isMetadataOnly(expected, wanted.state) ? 'change-mode' : 'restore';
  const links = wanted?.state.kind === 'file' ? (record.before?.particulars?.nlink ?? 1) : 1;
  return {
    path,
    action,
    kind: wanted?.state.kind ?? expected?.kind ?? 'file',
    ...(expected === undefined ? {} : { expected }),
    ...(wanted === undefined ? {} : { wanted }),
    ...(action === 'restore' && links > 1 && { links }),
    verdict,
    ...(refusal === undefined ? {} : { code: refusal.code, detail: refusal.detail }),
  };
}

function digestPlan(runId: RunId, steps: readonly PlannedStep[]): Digest {
  const shown = steps.map(({ path, expected, wanted, verdict, code }) => ({
    ...toJsonPath(path),
    ...(expected === undefined ? {} : { expected }),
    ...(wanted === undefined ? {} : { wanted: wanted.state }),
    verdict,
    ...(code === undefined ? {} : { code }),
  }));
  return digestOf(canonicalJson({ runId, steps: shown }));
}

function quoted(path: RelPath): string {
  return `"${lossyText(path)}"`;
}

function describe(state: State | undefined): string {
  if (state === undefined) return 'nothing';
  const mode = state.mode.toString(8).padStart(4, '0');
  if (state.kind === 'directory') return `a directory with mode ${mode}`;
  const content = state.content.is === 'digest' ? ` and SHA-256 ${state.content.digest.slice(0, 12)}…` : '';
  return `a ${state.kind} with mode ${mode}, ${state.size} bytes${content}`;
}

function describeFound(stat: Stat, expected: State | undefined): string {
  const mode = stat.mode.toString(8).padStart(4, '0');
  const isAlike = expected?.kind === stat.kind && expected.mode === stat.mode && expected.size === stat.size;
  return `a ${stat.kind} with mode ${mode}${stat.kind === 'directory' ? '' : `, ${stat.size} bytes`}${isAlike ? ', other content or owner' : ''}`;
}

/** Orders steps so that what is inside a directory comes before it. */
export function deepestFirst(a: PlannedStep, b: PlannedStep): number {
  return namesOf(b.path).length - namesOf(a.path).length || compareBytes(a.path, b.path);
}
