import {
  type ByteString,
  type Digest,
  digestOf,
  errnoOf,
  Hasher,
  invariant,
  type Name,
  randomHex,
  type RunId,
} from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import {
  createFile,
  ensureDir,
  type NewFile,
  removeQuietly,
  rename,
  syncDir,
  syncFile,
} from '../fs/write.ts';
import { writing } from './failures.ts';
import {
  indexTemporaryName,
  LARGE_BYTES,
  largePlace,
  largeTemporaryName,
  MODE,
  packIndexName,
  packName,
} from './layout.ts';
import type { Objects } from './objects.ts';
import { encodePackIndex, type Span } from './pack-index.ts';

/** Objects that become durable and visible together. When the store itself fails, the batch is aborted before the error is thrown. */
export interface ObjectBatch {
  /** Bytes newly written by this batch; objects that were there already do not count. */
  readonly newBytes: number;
  /** True when the object is in the store or in this batch. What a damaged pack index leaves open counts as absent: it is written again. */
  has(digest: Digest): boolean;
  put(bytes: Uint8Array): Digest;
  /**
   * As {@link put}, for a small object (at most 1 MiB) that was hashed already, by a thread of ours over these very bytes: it is not hashed
   * again. A wrong digest stores what no reader will hand out, since reading compares.
   */
  putHashed(digest: Digest, bytes: Uint8Array): void;
  /**
   * Puts `size` bytes that `produce` hands to `sink` piece by piece; the pieces are not kept after `sink` returned.
   * What `produce` throws comes through unchanged, and nothing of the object is left.
   */
  putStream(size: number, produce: (sink: (piece: Uint8Array) => void) => void): Digest;
  /** Everything is on the disk, and found by every reader, when this returns. */
  commit(): void;
  /** Leaves nothing behind; does nothing after a commit. */
  abort(): void;
}

/** Where a batch writes. */
export interface ObjectFolders {
  readonly base: ByteString;
  readonly objects: Objects;
  readonly packs: Dir;
  readonly large: Dir;
}

/** A pack grows by writes of this size. */
const WRITE_BYTES = 4 << 20;

/** The batch of one run: at most one pack, and a temporary file for each large object until the commit. */
export class Batch implements ObjectBatch {
  readonly #folders: ObjectFolders;
  readonly #run: RunId;
  readonly #small = new Map<Digest, Span>();
  readonly #large = new Map<Digest, Name>();
  #pack: { readonly name: Name; readonly file: NewFile } | undefined;
  #packLength = 0;
  #unwritten: Buffer | undefined;
  #filled = 0;
  #ended = false;
  #failure: unknown;

  newBytes = 0;

  constructor(folders: ObjectFolders, run: RunId) {
    this.#folders = folders;
    this.#run = run;
  }

  has(digest: Digest): boolean {
    return this.#small.has(digest) || this.#large.has(digest) || this.#folders.objects.holds(digest);
  }

  put(bytes: Uint8Array): Digest {
    if (bytes.length > LARGE_BYTES) return this.putStream(bytes.length, (sink) => sink(bytes));
    const digest = digestOf(bytes);
    this.putHashed(digest, bytes);
    return digest;
  }

  putHashed(digest: Digest, bytes: Uint8Array): void {
    invariant(bytes.length <= LARGE_BYTES, 'a large object is hashed while it is written');
    if (!this.has(digest)) this.#store(() => this.#append(digest, bytes));
  }

  putStream(size: number, produce: (sink: (piece: Uint8Array) => void) => void): Digest {
    if (size > LARGE_BYTES) return this.#putLarge(size, produce);
    const bytes = Buffer.allocUnsafe(size);
    let filled = 0;
    produce((piece) => {
      invariant(filled + piece.length <= size, 'no more bytes than announced');
      bytes.set(piece, filled);
      filled += piece.length;
    });
    invariant(filled === size, 'as many bytes as announced');
    return this.put(bytes);
  }

  commit(): void {
    this.#store(() => {
      this.#commitLarge();
      this.#commitPack();
    });
    this.#ended = true;
    if (this.newBytes > 0 || this.#small.size > 0) this.#folders.objects.refresh();
  }

  abort(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { packs, large } = this.#folders;
    for (const name of this.#large.values()) removeQuietly(large, name);
    if (this.#pack === undefined) return;
    const { file, name } = this.#pack;
    this.#pack = undefined;
    file.close();
    removeQuietly(packs, indexTemporaryName(name));
    removeQuietly(packs, name);
  }

  #putLarge(size: number, produce: (sink: (piece: Uint8Array) => void) => void): Digest {
    const { large } = this.#folders;
    const temporary = largeTemporaryName(this.#run, randomHex(8));
    const file = this.#store(() => createFile(large, temporary, MODE.large));
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
      removeQuietly(large, temporary);
      throw error;
    }
    file.close();
    return this.#keepLarge(hasher.digest(), temporary, size);
  }

  #keepLarge(digest: Digest, temporary: Name, size: number): Digest {
    if (this.has(digest)) {
      removeQuietly(this.#folders.large, temporary);
    } else {
      this.#large.set(digest, temporary);
      this.newBytes += size;
    }
    return digest;
  }

  #append(digest: Digest, bytes: Uint8Array): void {
    if (this.#filled + bytes.length > WRITE_BYTES) this.#flush();
    this.#unwritten ??= Buffer.allocUnsafe(WRITE_BYTES);
    this.#unwritten.set(bytes, this.#filled);
    this.#filled += bytes.length;
    this.#small.set(digest, { offset: this.#packLength, length: bytes.length });
    this.#packLength += bytes.length;
    this.newBytes += bytes.length;
  }

  #flush(): void {
    this.#pack ??= this.#createPack();
    if (this.#unwritten !== undefined) this.#pack.file.write(this.#unwritten.subarray(0, this.#filled));
    this.#filled = 0;
  }

  /** Packs of one run are numbered; the file itself reserves the number. */
  #createPack(): { name: Name; file: NewFile } {
    for (let number = 0; ; number++) {
      const name = packName(this.#run, number);
      try {
        return { name, file: createFile(this.#folders.packs, name, MODE.file) };
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
      }
    }
  }

  #commitLarge(): void {
    const { large } = this.#folders;
    for (const temporary of this.#large.values()) syncFile(large, temporary);
    const folders = new Map<Name, Dir>();
    try {
      for (const [digest, temporary] of this.#large) {
        const { folder, name } = largePlace(digest);
        const dir = folders.get(folder) ?? ensureDir(large, folder, MODE.dir);
        folders.set(folder, dir);
        rename(large, temporary, dir, name);
        this.#large.delete(digest);
      }
      for (const dir of folders.values()) syncDir(dir);
    } finally {
      for (const dir of folders.values()) dir.close();
    }
    if (folders.size > 0) syncDir(large);
  }

  #commitPack(): void {
    if (this.#small.size === 0) return;
    const { packs } = this.#folders;
    this.#flush();
    const pack = this.#pack;
    invariant(pack !== undefined, 'flushing makes the pack');
    pack.file.sync();
    // The pack's name must be on the disk before the index that makes it count.
    syncDir(packs);
    const temporary = indexTemporaryName(pack.name);
    const index = createFile(packs, temporary, MODE.file);
    try {
      index.write(encodePackIndex(this.#small, this.#packLength));
      index.sync();
    } finally {
      index.close();
    }
    rename(packs, temporary, packs, packIndexName(pack.name));
    // From here on others may rely on it: it is whole and stays, even if the last step fails.
    this.#pack = undefined;
    pack.file.close();
    syncDir(packs);
  }

  /** Runs one step on the store. After a failure the batch is over, and every later step fails in the same way. */
  #store<T>(step: () => T): T {
    if (this.#failure !== undefined) throw this.#failure;
    invariant(!this.#ended, 'a batch is not used after its end');
    try {
      return writing(this.#folders.base, step);
    } catch (error) {
      this.#failure = error;
      this.abort();
      throw error;
    }
  }
}
