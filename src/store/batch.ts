import {
  type ByteString,
  type Digest,
  digestOf,
  errnoOf,
  invariant,
  type Name,
  type RunId,
} from '../core/index.ts';
import type { Dir, Stat } from '../fs/index.ts';
import { createFile, type NewFile, removeQuietly, rename, syncDir } from '../fs/write.ts';
import { writing } from './failures.ts';
import { indexTemporaryName, LARGE_BYTES, MODE, packIndexName, packName } from './layout.ts';
import { LargeBatch, type Temporary } from './large-batch.ts';
import type { Objects } from './objects.ts';
import { PackRecords } from './pack-records.ts';

/** Objects that become durable and visible together. When the store itself fails, the batch is aborted before the error is thrown. */
export interface ObjectBatch {
  /** Bytes newly written by this batch; objects that were there already do not count. */
  readonly newBytes: number;
  /**
   * True when the object is in the store or in this batch. What a damaged pack index leaves open counts as absent: it is written again.
   * @param bytes its length where it is known: a large object of another length is damaged, and counts as absent
   */
  has(digest: Digest, bytes?: number): boolean;
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
  /**
   * Puts a file of more than 1 MiB by cloning it: the file system shares its blocks with the workspace's, so it costs neither a copy nor, at
   * first, space, and {@link newBytes} does not count it. Whether that works shows at the first attempt, not by a probe: cloning needs both file
   * systems to be one that can, and nothing of ours may be written into the workspace. A refusal is remembered for every file of that device.
   * @param seen what lstat saw of the file
   * @returns undefined when nothing was put, because files of this device cannot be cloned into the store: see {@link putStream}
   * @throws FileMoved when it is not the file seen, or moved meanwhile; the system's error when it may not be read; failures of the store
   */
  putFile(dir: Dir, name: Name, seen: Stat): Digest | undefined;
  /** Everything is on the disk, and found by every reader, when this returns. */
  commit(): void;
  /** Leaves nothing behind; does nothing after a commit. */
  abort(): void;
}

/** Where a batch writes. */
export interface ObjectFolders {
  readonly base: ByteString;
  readonly objects: Pick<Objects, 'holds' | 'refresh'>;
  readonly packs: Dir;
  readonly large: Dir;
}

/** A pack grows by writes of this size. */
const WRITE_BYTES = 4 << 20;

/** Each time so much was written the disk begins with it, so that the commit waits for the rest only. */
const WRITE_OUT_BYTES = 64 << 20;

/** The batch of one run: at most one pack, and the large objects. */
export class Batch implements ObjectBatch {
  readonly #folders: ObjectFolders;
  readonly #run: RunId;
  readonly #small = new PackRecords();
  readonly #large: LargeBatch;
  #pack: { readonly name: Name; readonly file: NewFile } | undefined;
  #packLength = 0;
  #unwritten: Buffer | undefined;
  #filled = 0;
  #unsynced = 0;
  #ended = false;
  #failure: unknown;

  newBytes = 0;

  constructor(folders: ObjectFolders, run: RunId) {
    this.#folders = folders;
    this.#run = run;
    this.#large = new LargeBatch(folders.large, run, (step) => this.#store(step));
  }

  has(digest: Digest, bytes?: number): boolean {
    return this.#small.has(digest) || this.#large.has(digest) || this.#folders.objects.holds(digest, bytes);
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
    if (size > LARGE_BYTES) {
      const temporary = this.#large.write(size, produce);
      if (this.#keepLarge(temporary, size)) this.newBytes += size;
      return temporary.digest;
    }
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

  putFile(dir: Dir, name: Name, seen: Stat): Digest | undefined {
    invariant(seen.size > LARGE_BYTES, 'small files share a pack');
    const temporary = this.#large.clone(dir, name, seen);
    if (temporary === undefined) return undefined;
    this.#keepLarge(temporary, seen.size);
    return temporary.digest;
  }

  commit(): void {
    const isNew = this.#small.size + this.#large.size > 0;
    this.#store(() => {
      this.#large.commit();
      this.#commitPack();
    });
    this.#ended = true;
    if (isNew) this.#folders.objects.refresh();
  }

  abort(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { packs } = this.#folders;
    this.#large.abort();
    if (this.#pack === undefined) return;
    const { file, name } = this.#pack;
    this.#pack = undefined;
    file.close();
    removeQuietly(packs, indexTemporaryName(name));
    removeQuietly(packs, name);
  }

  /** False when the object is there already, and the temporary file was for nothing. */
  #keepLarge(temporary: Temporary, bytes: number): boolean {
    if (this.has(temporary.digest, bytes)) {
      this.#large.drop(temporary);
      return false;
    }
    this.#large.keep(temporary);
    return true;
  }

  #append(digest: Digest, bytes: Uint8Array): void {
    if (this.#filled + bytes.length > WRITE_BYTES) this.#flush();
    this.#unwritten ??= Buffer.allocUnsafe(WRITE_BYTES);
    this.#unwritten.set(bytes, this.#filled);
    this.#filled += bytes.length;
    this.#small.add(digest, this.#packLength, bytes.length);
    this.#packLength += bytes.length;
    this.newBytes += bytes.length;
  }

  #flush(): void {
    this.#pack ??= this.#createPack();
    if (this.#unwritten !== undefined) this.#pack.file.write(this.#unwritten.subarray(0, this.#filled));
    this.#unsynced += this.#filled;
    this.#filled = 0;
    if (this.#unsynced < WRITE_OUT_BYTES) return;
    this.#pack.file.beginSync();
    this.#unsynced = 0;
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
      index.write(this.#small.encode(this.#packLength));
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
