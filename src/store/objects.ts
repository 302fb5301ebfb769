import { AgentdiffError, type Digest, digestOf, errnoOf, Hasher } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { LargeObjects } from './large.ts';
import { Failed, ObjectFiles } from './object-files.ts';
import { Packs } from './packs.ts';
import type { Place } from './place.ts';

/** What became of an object. Where it cannot be told whether it is there, it counts as damaged. */
export type ObjectStatus = 'present' | 'missing' | 'damaged';

/** Objects by their digest. Every read checks size and digest; what does not match is never handed out as content. */
export interface ObjectReader {
  /**
   * Whether the store names the object; its bytes are judged when they are read.
   * @throws STORE_DAMAGED when it is not found and a damaged pack index could be the one that lists it
   */
  has(digest: Digest): boolean;
  /** Bytes of the object as far as the store names it, without reading it: for figures, not for a judgement. */
  namedSize(digest: Digest): number | undefined;
  /**
   * The whole object.
   * @param maxBytes a longer object is refused before it is read, as OBJECT_DAMAGED: it cannot be what the caller knows it should be
   * @throws OBJECT_MISSING, OBJECT_DAMAGED, STORE_DAMAGED
   */
  get(digest: Digest, maxBytes?: number): Buffer;
  /**
   * The object piece by piece; a piece is only valid until `sink` returns. The digest is known at the end, so callers must not publish what
   * they made of the pieces before this returned.
   * @throws OBJECT_MISSING, OBJECT_DAMAGED, STORE_DAMAGED
   */
  stream(digest: Digest, sink: (piece: Uint8Array) => void): void;
  /** Reads and hashes it again. */
  check(digest: Digest): ObjectStatus;
  /** As {@link check}, for many: they are read in the order in which they lie. One answer each, in the order of the questions. */
  checkEach(digests: readonly Digest[]): ObjectStatus[];
}

/** Reading whole objects into memory ends here; longer ones are streamed. */
const MAX_WHOLE_BYTES = 2 ** 30;

/** Its bytes do not have its digest. */
const NOT_AS_STORED = new Failed(undefined);

export class Objects implements ObjectReader {
  readonly #packs: Packs;
  readonly #large: LargeObjects;
  readonly #files = new ObjectFiles();

  /** @param workspace the workspace's directory in the store; undefined when nothing was ever stored */
  constructor(workspace: Dir | undefined) {
    this.#packs = new Packs(workspace);
    this.#large = new LargeObjects(workspace);
  }

  has(digest: Digest): boolean {
    if (this.#isNamed(digest)) return true;
    if (this.#packs.hasLost()) {
      this.refresh();
      if (this.#isNamed(digest)) return true;
    }
    this.#packs.refuseIfDamaged(digest);
    return false;
  }

  namedSize(digest: Digest): number | undefined {
    return first(this.#places(digest))?.length;
  }

  /**
   * Whether the object need not be written: it is named by an index whose checksum was compared, or was itself read just now. What cannot be
   * told counts as absent: to write an object twice does no harm.
   * @param bytes its length where it is known: a large object of another length is damaged, and does not count
   */
  holds(digest: Digest, bytes?: number): boolean {
    for (const place of this.#packs.places(digest)) {
      if (place.isVerified || this.#isIntact(place, digest)) return true;
    }
    return bytes === undefined ? this.#large.has(digest) : this.#large.place(digest)?.length === bytes;
  }

  get(digest: Digest, maxBytes = MAX_WHOLE_BYTES): Buffer {
    return this.#from(digest, (place) => {
      if (place.length > maxBytes) return new Failed(tooLong(digest, place.length, maxBytes));
      const bytes = Buffer.allocUnsafe(place.length);
      let filled = 0;
      const failed = this.#files.read(place, (piece) => {
        bytes.set(piece, filled);
        filled += piece.length;
      });
      return failed ?? (digestOf(bytes) === digest ? bytes : NOT_AS_STORED);
    });
  }

  stream(digest: Digest, sink: (piece: Uint8Array) => void): void {
    this.#from(digest, (place) => {
      const whole = this.#files.whole(place);
      if (whole === undefined) return this.#streamLong(place, digest, sink);
      if (!Buffer.isBuffer(whole)) return whole;
      if (digestOf(whole) !== digest) return NOT_AS_STORED;
      if (whole.length > 0) sink(whole);
      return undefined;
    });
  }

  check(digest: Digest): ObjectStatus {
    try {
      this.stream(digest, () => {});
      return 'present';
    } catch (error) {
      if (!(error instanceof AgentdiffError)) throw error;
      return error.code === 'OBJECT_MISSING' ? 'missing' : 'damaged';
    }
  }

  checkEach(digests: readonly Digest[]): ObjectStatus[] {
    const found = digests.map((digest, i) => ({ digest, i, place: first(this.#places(digest)) }));
    const statuses: ObjectStatus[] = Array.from({ length: digests.length });
    for (const { digest, i, place } of found.toSorted((a, b) => comparePlaces(a.place, b.place))) {
      const isPresent = place !== undefined && this.#isIntact(place, digest);
      statuses[i] = isPresent ? 'present' : this.check(digest);
    }
    return statuses;
  }

  /** Looks for objects that were stored since the last look. */
  refresh(): void {
    this.#packs.refresh();
    this.#large.refresh();
  }

  close(): void {
    this.#files.close();
    this.#packs.close();
    this.#large.close();
  }

  #isNamed(digest: Digest): boolean {
    return first(this.#places(digest)) !== undefined;
  }

  /** All copies of the object that are known. */
  *#places(digest: Digest): Generator<Place> {
    yield* this.#packs.places(digest);
    const large = this.#large.place(digest);
    if (large !== undefined) yield large;
  }

  /**
   * What `read` makes of the first copy that it does not fail for. When none is known, or its file was removed, after another look at the store:
   * objects come, and move from pack to pack.
   * @throws OBJECT_MISSING, OBJECT_DAMAGED, STORE_DAMAGED, and what `read` throws
   */
  #from<T>(digest: Digest, read: (place: Place) => T | Failed): T {
    let failure: Failed | undefined;
    for (const isLastLook of [false, true]) {
      failure = undefined;
      for (const place of this.#places(digest)) {
        const result = read(place);
        if (!(result instanceof Failed)) return result;
        // What was altered counts more than what was removed: it must not pass for absent.
        if (failure === undefined || isRemoved(failure)) failure = result;
      }
      if (failure !== undefined && !isRemoved(failure)) break;
      if (!isLastLook) this.refresh();
    }
    throw this.#unreadable(digest, failure);
  }

  #streamLong(place: Place, digest: Digest, sink: (piece: Uint8Array) => void): Failed | undefined {
    // With several copies, an intact one is found before a piece is handed out.
    if (this.#hasOtherThan(place, digest) && !this.#isIntact(place, digest)) return NOT_AS_STORED;
    const hasher = new Hasher();
    const failed = this.#files.read(place, (piece) => {
      hasher.update(piece);
      sink(piece);
    });
    return failed ?? (hasher.digest() === digest ? undefined : NOT_AS_STORED);
  }

  #hasOtherThan(place: Place, digest: Digest): boolean {
    for (const { name } of this.#places(digest)) if (name !== place.name) return true;
    return false;
  }

  #isIntact(place: Place, digest: Digest): boolean {
    const whole = this.#files.whole(place);
    if (whole !== undefined) return Buffer.isBuffer(whole) && digestOf(whole) === digest;
    const hasher = new Hasher();
    const failed = this.#files.read(place, (piece) => hasher.update(piece));
    return failed === undefined && hasher.digest() === digest;
  }

  #unreadable(digest: Digest, failed: Failed | undefined): AgentdiffError {
    const data = { object: digest };
    if (failed === undefined) {
      this.#packs.refuseIfDamaged(digest);
      return new AgentdiffError('OBJECT_MISSING', `object ${digest} is not in the store`, { data });
    }
    const { cause } = failed;
    if (cause instanceof AgentdiffError) return cause;
    if (isRemoved(failed))
      return new AgentdiffError('OBJECT_MISSING', `object ${digest} was removed from the store`, {
        data,
        cause,
      });
    const errno = errnoOf(cause);
    const what = errno === undefined ? 'is not what was stored' : `cannot be read (${errno})`;
    return new AgentdiffError('OBJECT_DAMAGED', `object ${digest} ${what}`, { data, cause });
  }
}

function isRemoved({ cause }: Failed): boolean {
  return !(cause instanceof AgentdiffError) && errnoOf(cause) === 'ENOENT';
}

function first<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value;
  return undefined;
}

/** By file, then by where it lies in it. */
function comparePlaces(a: Place | undefined, b: Place | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.offset - b.offset;
}

function tooLong(digest: Digest, size: number, maxBytes: number): AgentdiffError {
  return new AgentdiffError(
    'OBJECT_DAMAGED',
    `object ${digest} has ${size} bytes; no more than ${maxBytes} can be right`,
    {
      data: { object: digest, size, maxBytes },
    },
  );
}
