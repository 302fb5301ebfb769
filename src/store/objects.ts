import { AgentdiffError, type Digest, digestOf, errnoOf, Hasher, type Name } from '../core/index.ts';
import type { Dir, OpenFile } from '../fs/index.ts';
import { LargeObjects } from './large.ts';
import { Packs } from './packs.ts';
import type { Place } from './place.ts';

/** Objects by their digest. Every read checks size and digest; what does not match is never handed out as content. */
export interface ObjectReader {
  /** @throws STORE_DAMAGED when it is not found and a damaged pack index could be the one that lists it */
  has(digest: Digest): boolean;
  /** Bytes; undefined when it is not there. @throws STORE_DAMAGED as {@link has} */
  size(digest: Digest): number | undefined;
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
  /** Reads and hashes it again. Where it cannot be told whether the object is there, it counts as damaged. */
  check(digest: Digest): 'present' | 'missing' | 'damaged';
}

/** Reading whole objects into memory ends here; longer ones are streamed. */
const MAX_WHOLE_BYTES = 2 ** 30;
const PIECE = 1 << 20;

/** Why one copy of an object could not be read. */
interface Failure {
  readonly cause: unknown;
}

export class Objects implements ObjectReader {
  readonly #packs: Packs;
  readonly #large: LargeObjects;
  #open: { readonly name: Name; readonly file: OpenFile } | undefined;

  /** @param workspace the workspace's directory in the store; undefined when nothing was ever stored */
  constructor(workspace: Dir | undefined) {
    this.#packs = new Packs(workspace);
    this.#large = new LargeObjects(workspace);
  }

  has(digest: Digest): boolean {
    if (this.holds(digest)) return true;
    this.#packs.refuseIfDamaged(digest);
    return false;
  }

  /** As {@link has}, but what cannot be told counts as absent: to write an object twice does no harm. */
  holds(digest: Digest): boolean {
    return this.#packs.has(digest) || this.#large.has(digest);
  }

  size(digest: Digest): number | undefined {
    const [place] = this.#places(digest);
    if (place === undefined) this.#packs.refuseIfDamaged(digest);
    return place?.length;
  }

  get(digest: Digest, maxBytes = MAX_WHOLE_BYTES): Buffer {
    let failure: Failure | undefined;
    for (const place of this.#places(digest)) {
      if (place.length > maxBytes) throw tooLong(digest, place.length, maxBytes);
      const bytes = Buffer.allocUnsafe(place.length);
      let filled = 0;
      failure = this.#read(place, (piece) => {
        bytes.set(piece, filled);
        filled += piece.length;
      });
      if (failure === undefined && digestOf(bytes) === digest) return bytes;
      failure ??= { cause: undefined };
    }
    throw this.#unreadable(digest, failure);
  }

  stream(digest: Digest, sink: (piece: Uint8Array) => void): void {
    const places = this.#places(digest);
    // With several copies the first intact one is found before a piece is handed out.
    const place =
      places.length > 1 ? (places.find((each) => this.#isIntact(each, digest)) ?? places[0]) : places[0];
    if (place === undefined) throw this.#unreadable(digest, undefined);
    const hasher = new Hasher();
    const failure = this.#read(place, (piece) => {
      hasher.update(piece);
      sink(piece);
    });
    if (failure !== undefined || hasher.digest() !== digest) {
      throw this.#unreadable(digest, failure ?? { cause: undefined });
    }
  }

  check(digest: Digest): 'present' | 'missing' | 'damaged' {
    try {
      this.stream(digest, () => {});
      return 'present';
    } catch (error) {
      if (!(error instanceof AgentdiffError)) throw error;
      return error.code === 'OBJECT_MISSING' ? 'missing' : 'damaged';
    }
  }

  /** Looks for objects that were stored since the last look. */
  refresh(): void {
    this.#packs.refresh();
    this.#large.refresh();
  }

  close(): void {
    this.#open?.file.close();
    this.#open = undefined;
    this.#packs.close();
    this.#large.close();
  }

  /** All copies of the object; when none is known, after another look at the store. */
  #places(digest: Digest): Place[] {
    const known = this.#knownPlaces(digest);
    if (known.length > 0) return known;
    this.refresh();
    return this.#knownPlaces(digest);
  }

  #knownPlaces(digest: Digest): Place[] {
    const large = this.#large.place(digest);
    return [...this.#packs.places(digest), ...(large === undefined ? [] : [large])];
  }

  #isIntact(place: Place, digest: Digest): boolean {
    const hasher = new Hasher();
    return this.#read(place, (piece) => hasher.update(piece)) === undefined && hasher.digest() === digest;
  }

  /** Hands out `place.length` bytes. What `sink` throws comes through. */
  #read(place: Place, sink: (piece: Uint8Array) => void): Failure | undefined {
    const buffer = Buffer.allocUnsafe(Math.min(place.length, PIECE));
    for (let done = 0; done < place.length; ) {
      const piece = buffer.subarray(0, Math.min(buffer.length, place.length - done));
      const read = this.#readPiece(place, piece, place.offset + done);
      if (typeof read !== 'number') return read;
      if (read === 0) return { cause: undefined };
      sink(piece.subarray(0, read));
      done += read;
    }
    return undefined;
  }

  #readPiece(place: Place, piece: Buffer, position: number): number | Failure {
    try {
      return this.#file(place)?.read(piece, position) ?? 0;
    } catch (cause) {
      return { cause };
    }
  }

  /** The last file stays open: neighbours in a pack are read one after the other. */
  #file(place: Place): OpenFile | undefined {
    if (this.#open?.name === place.name) return this.#open.file;
    this.#open?.file.close();
    this.#open = undefined;
    const file = place.open();
    if (file !== undefined) this.#open = { name: place.name, file };
    return file;
  }

  #unreadable(digest: Digest, failure: Failure | undefined): AgentdiffError {
    const data = { object: digest };
    if (failure === undefined) {
      this.#packs.refuseIfDamaged(digest);
      return new AgentdiffError('OBJECT_MISSING', `object ${digest} is not in the store`, { data });
    }
    const errno = errnoOf(failure.cause);
    if (errno === 'ENOENT') {
      return new AgentdiffError('OBJECT_MISSING', `object ${digest} was removed from the store`, {
        data,
        cause: failure.cause,
      });
    }
    const what = errno === undefined ? 'is not what was stored' : `cannot be read (${errno})`;
    return new AgentdiffError('OBJECT_DAMAGED', `object ${digest} ${what}`, { data, cause: failure.cause });
  }
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
