import { type Digest, errnoOf, Hasher, invariant, type Name, randomHex, type RunId } from '../core/index.ts';
import { type Dir, FileMoved, isUnmoved, openSeen, type OpenFile, readFile, type Stat } from '../fs/index.ts';
import { cloneFile, createFile, ensureDir, removeQuietly, rename, syncDir, syncFile } from '../fs/write.ts';
import { largePlace, largeTemporaryName, MODE } from './layout.ts';

/** What is answered for every file: one of the two file systems cannot clone, or they are not the same. */
const NEVER_CLONED: ReadonlySet<string | undefined> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'ENOSYS']);

/** What can be answered for one file alone: one that is kept without copy-on-write, or in use as swap space. */
const NOT_THIS_ONE: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ETXTBSY']);

/** Runs one step on the store; what the system refuses there ends the whole batch. */
export type StoreStep = <T>(step: () => T) => T;

/** A large object whose bytes are in the store under a temporary name. */
export interface Temporary {
  readonly name: Name;
  readonly digest: Digest;
}

/** The large objects of one batch: a temporary file each, renamed at the commit. */
export class LargeBatch {
  readonly #large: Dir;
  readonly #run: RunId;
  readonly #store: StoreStep;
  readonly #kept = new Map<Digest, Name>();
  /** Devices of files that could not be cloned into the store: one answer holds for all files of a device. */
  readonly #notCloned = new Set<bigint>();

  constructor(large: Dir, run: RunId, store: StoreStep) {
    this.#large = large;
    this.#run = run;
    this.#store = store;
  }

  /** Objects that the commit will bring. */
  get size(): number {
    return this.#kept.size;
  }

  has(digest: Digest): boolean {
    return this.#kept.has(digest);
  }

  /** Writes what `produce` hands to its sink. What it throws comes through unchanged, and nothing of the object is left. */
  write(size: number, produce: (sink: (piece: Uint8Array) => void) => void): Temporary {
    const name = this.#temporaryName();
    const file = this.#store(() => createFile(this.#large, name, MODE.large));
    const hasher = new Hasher();
    let written = 0;
    try {
      produce((piece) => {
        hasher.update(piece);
        this.#store(() => file.write(piece));
        written += piece.length;
      });
      // A producer that swallowed the store's failure must not go on.
      this.#store(() => {});
      invariant(written === size, 'as many bytes as announced');
    } catch (error) {
      file.close();
      removeQuietly(this.#large, name);
      throw error;
    }
    file.close();
    return { name, digest: hasher.digest() };
  }

  /**
   * Clones a file and hashes the clone, so that bytes and digest are of one state, whatever happens to the file meanwhile.
   * @returns undefined where files of this device cannot be cloned into the store
   * @throws FileMoved when it is not the file seen, or moved before it was cloned; the system's error when it may not be read
   */
  clone(dir: Dir, name: Name, seen: Stat): Temporary | undefined {
    // Only a handle keeps the name from leading elsewhere between the look and the cloning.
    if (dir.anchoring !== 'handle' || this.#notCloned.has(seen.dev)) return undefined;
    const source = openSeen(dir, name, seen);
    const temporary = this.#temporaryName();
    try {
      const isCloned = this.#store(() => this.#tryClone(source, temporary, seen));
      if (!isUnmoved(source.stat(), seen)) throw new FileMoved();
      if (!isCloned) return undefined;
      const clone = this.#store(() => this.#hash(temporary));
      if (clone.size !== seen.size) throw new FileMoved();
      return { name: temporary, digest: clone.digest };
    } catch (error) {
      removeQuietly(this.#large, temporary);
      throw error;
    } finally {
      source.close();
    }
  }

  keep({ digest, name }: Temporary): void {
    this.#kept.set(digest, name);
  }

  drop({ name }: Temporary): void {
    removeQuietly(this.#large, name);
  }

  /** Every object's bytes are on the disk before its name appears, and the names are when this returns. */
  commit(): void {
    for (const temporary of this.#kept.values()) syncFile(this.#large, temporary);
    const folders = new Map<Name, Dir>();
    try {
      for (const [digest, temporary] of this.#kept) {
        const { folder, name } = largePlace(digest);
        const dir = folders.get(folder) ?? ensureDir(this.#large, folder, MODE.dir);
        folders.set(folder, dir);
        rename(this.#large, temporary, dir, name);
        this.#kept.delete(digest);
      }
      for (const dir of folders.values()) syncDir(dir);
    } finally {
      for (const dir of folders.values()) dir.close();
    }
    if (folders.size > 0) syncDir(this.#large);
  }

  abort(): void {
    for (const name of this.#kept.values()) removeQuietly(this.#large, name);
  }

  #temporaryName(): Name {
    return largeTemporaryName(this.#run, randomHex(8));
  }

  /** False when it was not cloned, because that cannot be done or because the file is not any more what was seen. */
  #tryClone(source: OpenFile, temporary: Name, seen: Stat): boolean {
    try {
      cloneFile(source, this.#large, temporary, MODE.large);
      return true;
    } catch (error) {
      const errno = errnoOf(error);
      if (NEVER_CLONED.has(errno)) this.#notCloned.add(seen.dev);
      // A file that was taken away, or locked up, meanwhile is no fault of the store.
      else if (!NOT_THIS_ONE.has(errno) && isUnmoved(source.stat(), seen)) throw error;
      // The system may have left the empty file that it could not fill.
      removeQuietly(this.#large, temporary);
      return false;
    }
  }

  #hash(temporary: Name): { digest: Digest; size: number } {
    const hasher = new Hasher();
    const seen = this.#large.lstat(temporary);
    readFile(this.#large, temporary, seen, (piece) => hasher.update(piece));
    return { digest: hasher.digest(), size: seen.size };
  }
}
