import { type RelPath, ROOT_PATH, splitPath } from '../core/index.ts';
import { type Dir, inside } from '../fs/index.ts';
import { CONTENT, FLAG, type StatIndex } from '../store/index.ts';
import { LEVELS } from './codes.ts';
import type { ScanOptions } from './options.ts';
import type { ProgressCounter } from './progress.ts';
import { takeTurns } from './turns.ts';
import { MOVED, UnmovedCheck, type Verdicts } from './unmoved.ts';

/** Objects up to this size are in packs, and what the index says of those was compared with the packs that there are. */
const PACKED_BYTES = 1 << 20;

/** A tree of fewer entries is no large object: a record takes some 100 bytes and at most 400. */
const LARGE_TREE_ROWS = Math.floor(PACKED_BYTES / 400);

/** What is known of the workspace before anything of it is read: which parts of the index are still true. */
export interface Judgement {
  readonly verdicts: Verdicts;
  /** Is everything below the directory, and its own list of names, as the index says? */
  isWhole(directory: number): boolean;
}

/**
 * Looks at all that the index knows.
 * @returns undefined when its verdicts would mean nothing: it is empty, of another root, or made under other rules
 */
export function judge(
  root: Dir,
  options: ScanOptions,
  rulesId: string,
  progress: ProgressCounter,
): Judgement | undefined {
  const { index } = options;
  if (index.counts.rows === 0 || index.notes.rulesId !== rulesId || !options.hasDirectoryTimes)
    return undefined;
  const { dev, ino } = root.identity;
  if (index.device(0) !== dev || index.ino(0) !== ino) return undefined;
  const shared: Verdicts = {
    directories: new Uint8Array(new SharedArrayBuffer(index.counts.dirs)),
    rows: new Uint8Array(new SharedArrayBuffer(index.counts.rows)),
  };
  const verdicts = check(root, options, shared, progress) ? shared : copyOf(shared);
  distrustMounts(options, verdicts);
  distrustLostObjects(options, verdicts);
  const moved: number[] = [];
  for (let directory = 0; directory < index.counts.dirs; directory++)
    if (verdicts.directories[directory] !== MOVED.nothing) moved.push(directory);
  return {
    verdicts,
    isWhole: (directory) => {
      const next = moved[lowerBound(moved, directory)] ?? Number.POSITIVE_INFINITY;
      return next >= (index.columns.dirEnd[directory] ?? 0);
    },
  };
}

function check(
  root: Dir,
  { index, threads, hasWriteTimes }: ScanOptions,
  verdicts: Verdicts,
  progress: ProgressCounter,
): boolean {
  const { dirFirst } = index.columns;
  const onTurn = (from: number, to: number): void =>
    progress.looked((dirFirst[to] ?? 0) - (dirFirst[from] ?? 0), to - from);
  return inside(root, (prefix) => {
    if (threads?.areWorth({ looks: looksOf(index), files: 0 }) === true)
      return threads.check(index, prefix, hasWriteTimes, verdicts, onTurn);
    const turns = new Int32Array(new SharedArrayBuffer(4));
    takeTurns(new UnmovedCheck(index, prefix, hasWriteTimes, verdicts), index.counts.dirs, turns, onTurn);
    return true;
  });
}

function copyOf({ directories, rows }: Verdicts): Verdicts {
  return { directories: Uint8Array.from(directories), rows: Uint8Array.from(rows) };
}

/** The calls that the check of an index takes. */
export function looksOf(index: StatIndex): number {
  const { dirLevel, dirFirst } = index.columns;
  const structure = LEVELS.indexOf('structure');
  let count = index.counts.dirs;
  for (let directory = 0; directory < index.counts.dirs; directory++)
    if (dirLevel[directory] !== structure)
      count += (dirFirst[directory + 1] ?? 0) - (dirFirst[directory] ?? 0);
  return count;
}

/** A mount can lie over the very directory that was there before. */
function distrustMounts({ index, mounts }: ScanOptions, { directories }: Verdicts): void {
  for (const mount of mounts) {
    const row = index.find(splitPath(mount as RelPath)?.parent ?? ROOT_PATH);
    if (row !== undefined) directories[row === 0 ? 0 : (index.columns.directory[row] ?? 0)] = MOVED.listing;
  }
}

/** Large objects are few: each is asked for. */
function distrustLostObjects({ index, objects }: ScanOptions, { directories, rows }: Verdicts): void {
  const { size, content, dirFirst, dirRow } = index.columns;
  for (let row = 0; row < index.counts.rows; row++) {
    if ((size[row] ?? 0) <= PACKED_BYTES || content[row] !== CONTENT.digest || !index.has(row, FLAG.kept))
      continue;
    if (objects.has(index.digestOf(row), size[row])) continue;
    const directory = lowerBound(dirFirst, row + 1) - 1;
    rows[row] = 0;
    directories[directory] = Math.min(directories[directory] ?? 0, MOVED.entries);
  }
  for (let directory = 0; directory < index.counts.dirs; directory++) {
    const [from, to] = index.rowsOf(directory);
    if (to - from < LARGE_TREE_ROWS || objects.has(index.digestOf(dirRow[directory] ?? 0))) continue;
    directories[directory] = MOVED.listing;
  }
}

/** Where in an ascending list the first value that is not below `value` stands. */
function lowerBound(list: ArrayLike<number>, value: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
