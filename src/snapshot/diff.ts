import { compareBytes, type Digest, joinPath, type RelPath, ROOT_PATH } from '../core/index.ts';
import type { ObjectReader, StatIndex } from '../store/index.ts';
import { hasSameMetadata } from './stat-state.ts';
import type { Change, Content, Observed, Snapshot, State } from './state.ts';
import { decodeTree, type TreeEntry } from './tree.ts';

/** What is needed of a snapshot to compare it. */
export type SnapshotRoot = Pick<Snapshot, 'tree' | 'root'>;

/** Two directories side by side, each as far as it was gone through. */
interface Frame {
  readonly path: RelPath;
  readonly before: readonly TreeEntry[];
  readonly after: readonly TreeEntry[];
  atBefore: number;
  atAfter: number;
}

/**
 * The paths whose states differ, lazily. A directory comes right before what is in it, and the entries of one directory are in byte order
 * of their names. Equal subtrees are not read.
 *
 * A directory that is there on both sides is a change only when its own metadata differs: its entries are changes of their own. Nothing is
 * said about what is below a directory that one side does not know: it may have been there all the time. Such a directory is itself a change,
 * because one cannot say that it is the same, unless both sides do not know it and have the same stat identity (or none).
 * @throws OBJECT_MISSING, OBJECT_DAMAGED
 */
export function* diffSnapshots(
  objects: Pick<ObjectReader, 'get'>,
  before: SnapshotRoot,
  after: SnapshotRoot,
): Generator<Change> {
  if (!hasSameMetadata(before.root.state, after.root.state)) {
    yield { path: ROOT_PATH, before: before.root, after: after.root };
  }
  if (before.tree === after.tree) return;
  const open = (digest: Digest | undefined): TreeEntry[] =>
    digest === undefined ? [] : decodeTree(objects.get(digest));
  const stack: Frame[] = [
    { path: ROOT_PATH, before: open(before.tree), after: open(after.tree), atBefore: 0, atAfter: 0 },
  ];
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const pair = nextPair(frame);
    if (pair === undefined) {
      stack.pop();
      continue;
    }
    const path = joinPath(frame.path, pair.name);
    if (isChange(pair.before, pair.after)) yield toChange(path, pair.before, pair.after);
    const below = treesBelow(pair.before, pair.after);
    if (below === undefined) continue;
    stack.push({ path, before: open(below.before), after: open(below.after), atBefore: 0, atAfter: 0 });
  }
}

interface Pair {
  readonly name: TreeEntry['name'];
  readonly before: State | undefined;
  readonly after: State | undefined;
}

function nextPair(frame: Frame): Pair | undefined {
  const before = frame.before[frame.atBefore];
  const after = frame.after[frame.atAfter];
  const first = before ?? after;
  if (first === undefined) return undefined;
  const order = before === undefined ? 1 : after === undefined ? -1 : compareBytes(before.name, after.name);
  if (order <= 0) frame.atBefore++;
  if (order >= 0) frame.atAfter++;
  return {
    name: (order <= 0 ? before : after)?.name ?? first.name,
    before: order <= 0 ? before?.state : undefined,
    after: order >= 0 ? after?.state : undefined,
  };
}

function toChange(path: RelPath, before: State | undefined, after: State | undefined): Change {
  return {
    path,
    ...(before === undefined ? {} : { before: { state: before } }),
    ...(after === undefined ? {} : { after: { state: after } }),
  };
}

function isChange(before: State | undefined, after: State | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  if (!hasSameMetadata(before, after) || before.size !== after.size) return true;
  const areKnownDirectories =
    before.kind === 'directory' && before.content.is === 'digest' && after.content.is === 'digest';
  return !areKnownDirectories && !isSameContent(before.content, after.content);
}

function isSameContent(a: Content, b: Content): boolean {
  switch (a.is) {
    case 'digest':
      return b.is === 'digest' && a.digest === b.digest;
    case 'identity':
      return b.is === 'identity' && a.identity === b.identity;
    case 'unknown':
      return b.is === 'unknown' && a.identity === b.identity;
    case 'device':
      return b.is === 'device' && a.number === b.number;
    case 'nothing':
      return b.is === 'nothing';
  }
}

/** The trees to be compared below an entry; undefined when there is nothing to compare or nothing to say. */
function treesBelow(
  before: State | undefined,
  after: State | undefined,
): { before: Digest | undefined; after: Digest | undefined } | undefined {
  if (isUnknownDirectory(before) || isUnknownDirectory(after)) return undefined;
  const trees = { before: treeOf(before), after: treeOf(after) };
  return trees.before === trees.after ? undefined : trees;
}

function isUnknownDirectory(state: State | undefined): boolean {
  return state?.kind === 'directory' && state.content.is === 'unknown';
}

function treeOf(state: State | undefined): Digest | undefined {
  return state?.kind === 'directory' && state.content.is === 'digest' ? state.content.digest : undefined;
}

/** Adds to both sides of each change what the stat indexes of the two scans tell beside the state. */
export function* withParticulars(
  changes: Iterable<Change>,
  beforeIndex: Pick<StatIndex, 'lookup'>,
  afterIndex: Pick<StatIndex, 'lookup'>,
): Generator<Change> {
  for (const { path, before, after } of changes) {
    yield {
      path,
      ...(before === undefined ? {} : { before: withRecord(before, path, beforeIndex) }),
      ...(after === undefined ? {} : { after: withRecord(after, path, afterIndex) }),
    };
  }
}

function withRecord(side: Observed, path: RelPath, index: Pick<StatIndex, 'lookup'>): Observed {
  const record = index.lookup(path);
  if (record === undefined) return side;
  const { mtimeNs, nlink, inode } = record;
  return { state: side.state, particulars: { mtimeNs, nlink, inode } };
}
