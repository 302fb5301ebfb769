import { compareBytes, type Digest, joinPath, type RelPath } from '../core/index.ts';
import { CONTENT, DIGEST_BYTES, FLAG, LEVEL_SHIFT, type StatIndex } from '../store/index.ts';
import { isLeftOut, LEVELS } from './codes.ts';
import { particularsOfRow, reasonOfRow, stateOfRow } from './rows.ts';
import type { Lowering, Snapshot, Unobserved } from './state.ts';
import { encodeTree, type TreeEntry } from './tree.ts';

/** Directories whose trees are known already: from the first to before the second. */
export type Settled = readonly [from: number, to: number];

/**
 * Makes the tree objects of a new index, deepest first, and writes their digests into the rows of the directories.
 * @param settled in ascending order
 */
export function storeTrees(
  index: StatIndex,
  settled: readonly Settled[],
  put: (tree: Buffer) => Digest,
): void {
  const { digest, dirRow, content } = index.columns;
  const bytes = Buffer.from(digest.buffer, digest.byteOffset, digest.length);
  let next = settled.length - 1;
  for (let directory = index.counts.dirs - 1; directory >= 0; directory--) {
    const range = settled[next];
    if (range !== undefined && directory < range[1]) {
      directory = range[0];
      next--;
      continue;
    }
    const row = dirRow[directory] ?? 0;
    bytes.write(put(encodeTree(entriesOf(index, directory))), row * DIGEST_BYTES, 'hex');
    content[row] = CONTENT.digest;
  }
}

function entriesOf(index: StatIndex, directory: number): TreeEntry[] {
  const [from] = index.rowsOf(directory);
  const entries: TreeEntry[] = [];
  for (const [at, name] of index.namesOf(directory).entries()) {
    if (index.columns.content[from + at] !== CONTENT.absent)
      entries.push({ name, state: stateOfRow(index, from + at) });
  }
  return entries;
}

/** The snapshot that an index with all its trees stands for. */
export function snapshotOf(index: StatIndex): Snapshot {
  const tree = index.digestOf(0);
  const root = { state: stateOfRow(index, 0), particulars: particularsOfRow(index, 0) };
  return { tree, root, ...countEntries(index), ...listPeculiar(index) };
}

const TYPE = 0o170000;
const REGULAR = 0o100000;

function countEntries(
  index: StatIndex,
  from = 1,
  to = index.counts.rows,
): { entries: number; files: number; bytes: number } {
  const { size, content, mode } = index.columns;
  let [entries, files, bytes] = [0, 0, 0];
  for (let row = from; row < to; row++) {
    const known = content[row];
    if (known === CONTENT.absent) continue;
    entries++;
    if (((mode[row] ?? 0) & TYPE) !== REGULAR) continue;
    // What is left out was not looked at.
    if (known === CONTENT.unknown && isLeftOut(reasonOfRow(index, row))) continue;
    files++;
    bytes += size[row] ?? 0;
  }
  return { entries, files, bytes };
}

/** What is told of single entries, in byte order of their paths. */
function listPeculiar(index: StatIndex): Pick<Snapshot, 'unobserved' | 'lowered' | 'outward'> {
  const unobserved: Unobserved[] = [];
  const lowered: Lowering[] = [];
  const outward: RelPath[] = [];
  const { flags, content, dirFirst } = index.columns;
  for (let directory = 0; directory < index.counts.dirs; directory++) {
    let parent: RelPath | undefined;
    for (let row = dirFirst[directory] ?? 0; row < (dirFirst[directory + 1] ?? 0); row++) {
      const isUnknown = content[row] === CONTENT.unknown;
      const flag = flags[row] ?? 0;
      if ((!isUnknown && (flag & (FLAG.outward | FLAG.lowered)) === 0) || content[row] === CONTENT.absent)
        continue;
      parent ??= index.pathOf(directory);
      const path = joinPath(parent, index.name(row));
      if (isUnknown) unobserved.push({ path, reason: reasonOfRow(index, row) });
      if ((flag & FLAG.outward) !== 0) outward.push(path);
      if ((flag & FLAG.lowered) !== 0) lowered.push(loweringOf(index, row, path));
    }
  }
  const byPath = (a: { path: RelPath }, b: { path: RelPath }): number => compareBytes(a.path, b.path);
  return {
    unobserved: unobserved.sort(byPath),
    lowered: lowered.sort(byPath),
    outward: outward.sort(compareBytes),
  };
}

function loweringOf(index: StatIndex, row: number, path: RelPath): Lowering {
  const { flags, rule, size, mode, directory, dirFirst, dirEnd } = index.columns;
  const level = LEVELS[(flags[row] ?? 0) >> LEVEL_SHIFT] ?? 'none';
  const words = { path, level, rule: index.notes.rules[rule[row] ?? 0] ?? '' };
  const entered = directory[row] ?? 0;
  if (entered !== 0) {
    const { files, bytes } = countEntries(index, dirFirst[entered], dirFirst[dirEnd[entered] ?? 0]);
    return { ...words, files, bytes };
  }
  const isFile = ((mode[row] ?? 0) & TYPE) === REGULAR;
  return { ...words, files: isFile ? 1 : 0, bytes: isFile ? (size[row] ?? 0) : 0 };
}
