import { isMarked, type Name, toBytes } from '../core/index.ts';
import { quickLook } from '../fs/index.ts';
import { type Columns, CONTENT, DIR_FLAG, FLAG, type StatIndex } from '../store/index.ts';
import { LEVELS } from './codes.ts';

/** What a look at everything that an index knows has found; bytes in shared memory, written by several threads, each its own. */
export interface Verdicts {
  /** One of {@link MOVED} a directory. */
  readonly directories: Uint8Array;
  /** 1: the entry is the one that the index knows, in the state that it knows. Directories are judged as directories, and count here too. */
  readonly rows: Uint8Array;
}

export const MOVED = {
  /** Its names have to be listed, as far as anybody knows. */
  listing: 0,
  /** Its names are those of the index; some of the entries moved. */
  entries: 1,
  /** Nothing in it moved; what is below the directories in it has verdicts of its own. */
  nothing: 2,
} as const;

/** How far two times may be apart: Node's milliseconds are exact to a quarter of a microsecond. */
const SAME_MS = 0.0005;

/**
 * Looks whether entries are still what an index says, by one lstat each, in any order. Paths are joined here, which is faster than to open
 * each directory first. It cannot be led to call a changed entry unmoved: only the very inode with the very times counts, wherever it was
 * found. Whatever does not fit is left to a closer look.
 */
export class UnmovedCheck {
  readonly #index: StatIndex;
  readonly #hasWriteTimes: boolean;
  readonly #columns: Columns;
  readonly #verdicts: Verdicts;
  readonly #devices: readonly number[];
  /** Paths of directories seen so far, as their entries' paths begin; null where that is not text. */
  readonly #paths: (string | null | undefined)[];

  /** @param prefix what the paths of all entries begin with: nothing inside the root, else the way to it with a slash */
  constructor(index: StatIndex, prefix: string, hasWriteTimes: boolean, verdicts: Verdicts) {
    this.#hasWriteTimes = hasWriteTimes;
    this.#index = index;
    this.#columns = index.columns;
    this.#verdicts = verdicts;
    this.#devices = index.notes.devices.map(Number);
    this.#paths = [prefix];
  }

  readonly #isNoDirectory = (row: number): boolean => this.#columns.directory[row] === 0;

  /** The directories from the one to before the other. */
  look(from: number, to: number): void {
    for (let directory = from; directory < to; directory++) this.#lookAt(directory);
  }

  #lookAt(directory: number): void {
    const { dirRow, dirFlags, dirLevel } = this.#index.columns;
    const path = this.#pathOf(directory);
    const row = dirRow[directory] ?? 0;
    if (path === null || ((dirFlags[directory] ?? 0) & DIR_FLAG.lookAgain) !== 0) return;
    // By its own name, so that a link in its place is seen; the root has none here.
    if (!this.#isUnmoved(row, directory === 0 ? `${path}.` : path.slice(0, -1))) return;
    this.#verdicts.rows[row] = 1;
    const isStructure = LEVELS[dirLevel[directory] ?? 0] === 'structure';
    const isWhole = isStructure
      ? this.#lookAtHashed(directory, path)
      : this.#lookAtEntries(directory, path, this.#isNoDirectory);
    this.#verdicts.directories[directory] = isWhole ? MOVED.nothing : MOVED.entries;
  }

  /**
   * @param mayAsk which rows are to be asked for; the others are what they were, as far as their level says
   * @returns whether all of them are unmoved
   */
  #lookAtEntries(directory: number, path: string, mayAsk: (row: number) => boolean): boolean {
    const { rows } = this.#verdicts;
    const [from] = this.#index.rowsOf(directory);
    let isWhole = true;
    let row = from;
    for (const name of this.#index.namesOf(directory)) {
      if (mayAsk(row)) {
        if (this.#isUnmoved(row, joined(path, name))) rows[row] = 1;
        else isWhole = false;
      }
      row++;
    }
    return isWhole;
  }

  /** At level `structure` the names are what counts, but for a file that a rule has hashed all the same. */
  #lookAtHashed(directory: number, path: string): boolean {
    const { content } = this.#columns;
    const [from, to] = this.#index.rowsOf(directory);
    for (let row = from; row < to; row++)
      if (content[row] === CONTENT.digest && this.#isHashed(row))
        return this.#lookAtEntries(directory, path, (at) => this.#isHashed(at));
    return true;
  }

  #isHashed(row: number): boolean {
    return this.#columns.content[row] === CONTENT.digest && isFile(this.#columns.mode[row] ?? 0);
  }

  #isUnmoved(row: number, path: string | Buffer): boolean {
    const c = this.#columns;
    if (((c.flags[row] ?? 0) & (FLAG.racy | FLAG.unseen)) !== 0) return false;
    const content = c.content[row];
    if (content === CONTENT.unknown || content === CONTENT.device || content === CONTENT.absent) return false;
    if (!this.#hasWriteTimes && this.#isHashed(row)) return false;
    const now = quickLook(path);
    return (
      now !== undefined &&
      now.ino === (c.inoHigh[row] ?? 0) * 2 ** 32 + (c.inoLow[row] ?? 0) &&
      now.mode === c.mode[row] &&
      isSameTime(now.ctimeMs, c.ctimeMs[row] ?? 0) &&
      isSameTime(now.mtimeMs, c.mtimeMs[row] ?? 0) &&
      // A directory's size says nothing that its times do not.
      (now.size === c.size[row] || c.directory[row] !== 0 || row === 0) &&
      now.dev === this.#devices[c.dev[row] ?? 0]
    );
  }

  #pathOf(directory: number): string | null {
    const known = this.#paths[directory];
    if (known !== undefined) return known;
    const { dirParent, dirRow } = this.#index.columns;
    const parent = this.#pathOf(dirParent[directory] ?? 0);
    const name = this.#index.name(dirRow[directory] ?? 0);
    const path = parent === null || isMarked(name) ? null : `${parent}${name}/`;
    this.#paths[directory] = path;
    return path;
  }
}

function joined(path: string, name: Name): string | Buffer {
  return isMarked(name) ? Buffer.concat([Buffer.from(path), toBytes(name)]) : path + name;
}

function isSameTime(a: number, b: number): boolean {
  const difference = a - b;
  return difference < SAME_MS && difference > -SAME_MS;
}

function isFile(mode: number): boolean {
  return (mode & 0o170000) === 0o100000;
}
