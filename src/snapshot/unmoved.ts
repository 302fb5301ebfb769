import { type ByteString, isMarked, type Name, toBytes } from '../core/index.ts';
import { quickLook } from '../fs/index.ts';
import { CONTENT, DIR_FLAG, FLAG, type StatIndex } from '../store/index.ts';
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
  readonly #verdicts: Verdicts;
  readonly #devices: readonly number[];
  /** Paths of directories seen so far, with a slash at the end; empty where the path is not text. */
  readonly #paths: (string | undefined)[];

  /** @param root absolute path of the workspace */
  constructor(index: StatIndex, root: ByteString, verdicts: Verdicts) {
    this.#index = index;
    this.#verdicts = verdicts;
    this.#devices = index.notes.devices.map(Number);
    this.#paths = [isMarked(root) ? '' : `${root}/`];
  }

  /** The directories from the one to before the other. */
  look(from: number, to: number): void {
    for (let directory = from; directory < to; directory++) this.#lookAt(directory);
  }

  #lookAt(directory: number): void {
    const { dirRow, dirFlags, dirLevel } = this.#index.columns;
    const path = this.#pathOf(directory);
    const row = dirRow[directory] ?? 0;
    if (path === '' || ((dirFlags[directory] ?? 0) & DIR_FLAG.lookAgain) !== 0) return;
    if (!this.#isUnmoved(row, path.slice(0, -1))) return;
    this.#verdicts.rows[row] = 1;
    const isStructure = LEVELS[dirLevel[directory] ?? 0] === 'structure';
    const isWhole = isStructure || this.#lookAtEntries(directory, path);
    this.#verdicts.directories[directory] = isWhole ? MOVED.nothing : MOVED.entries;
  }

  /** @returns whether all of them are unmoved */
  #lookAtEntries(directory: number, path: string): boolean {
    const { columns } = this.#index;
    const [from] = this.#index.rowsOf(directory);
    let isWhole = true;
    for (const [at, name] of this.#index.namesOf(directory).entries()) {
      const row = from + at;
      if (columns.directory[row] !== 0) continue;
      const isUnmoved = this.#isUnmoved(row, joined(path, name));
      if (isUnmoved) this.#verdicts.rows[row] = 1;
      else isWhole = false;
    }
    return isWhole;
  }

  #isUnmoved(row: number, path: string | Buffer): boolean {
    const c = this.#index.columns;
    if (((c.flags[row] ?? 0) & (FLAG.racy | FLAG.unseen)) !== 0) return false;
    const content = c.content[row];
    if (content === CONTENT.unknown || content === CONTENT.device || content === CONTENT.absent) return false;
    const now = quickLook(path);
    return (
      now !== undefined &&
      now.ino === (c.inoHigh[row] ?? 0) * 2 ** 32 + (c.inoLow[row] ?? 0) &&
      now.mode === c.mode[row] &&
      Math.abs(now.ctimeMs - (c.ctimeMs[row] ?? 0)) < SAME_MS &&
      Math.abs(now.mtimeMs - (c.mtimeMs[row] ?? 0)) < SAME_MS &&
      // A directory's size says nothing that its times do not.
      (now.size === c.size[row] || c.directory[row] !== 0 || row === 0) &&
      now.dev === this.#devices[c.dev[row] ?? 0]
    );
  }

  #pathOf(directory: number): string {
    const known = this.#paths[directory];
    if (known !== undefined) return known;
    const { dirParent, dirRow } = this.#index.columns;
    const parent = this.#pathOf(dirParent[directory] ?? 0);
    const name = this.#index.name(dirRow[directory] ?? 0);
    const path = parent === '' || isMarked(name) ? '' : `${parent}${name}/`;
    this.#paths[directory] = path;
    return path;
  }
}

function joined(path: string, name: Name): string | Buffer {
  return isMarked(name) ? Buffer.concat([Buffer.from(path), toBytes(name)]) : path + name;
}
