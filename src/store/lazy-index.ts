import { type Digest, errnoOf, Hasher, type Name } from '../core/index.ts';
import { type Dir, FileMoved, readFile, readSmallFile, type Stat } from '../fs/index.ts';
import { packOfIndex } from './layout.ts';
import {
  decodeIndexHead,
  DIGEST_LENGTH,
  findRecord,
  HEADER_LENGTH,
  type IndexHead,
  PackIndex,
  RECORD_LENGTH,
  type Span,
  spanOf,
} from './pack-index.ts';

/** An index up to this size is read whole at once: that costs no more than one look into it. */
const SMALL_BYTES = 64 << 10;

/** So many windows are looked into one beside the other before the rest is halved. */
const NEIGHBOURS = 3;

/** Room, in bytes, for indexes that are kept in memory; shared by all of one reader. */
export interface IndexRoom {
  left: number;
}

/**
 * The index of one pack, read as far as the questions need. What it names can be looked up without reading it whole: an object is compared with its
 * digest anyhow. What it does not name is absent only once its checksum was compared ({@link verify}).
 */
export class LazyIndex {
  readonly name: Name;
  readonly pack: Name;
  readonly #dir: Dir;
  readonly #room: IndexRoom;
  readonly #seen: Stat;
  readonly #head: IndexHead | undefined;
  #whole: PackIndex | undefined;
  #verdict: 'unread' | 'whole' | 'damaged' = 'unread';
  /** Bytes read by looking things up. */
  #probed = 0;

  /** @throws the system's error when there is no such index, or when it cannot be read */
  constructor(dir: Dir, name: Name, room: IndexRoom) {
    this.name = name;
    this.pack = packOfIndex(name);
    this.#dir = dir;
    this.#room = room;
    this.#seen = dir.lstat(name);
    this.#head = this.#seen.kind === 'file' ? this.#readHead() : undefined;
    if (this.#head === undefined) this.#verdict = 'damaged';
    else if (this.#seen.size <= SMALL_BYTES) this.verify();
  }

  /** Its checksum was compared, and is right. */
  get isWhole(): boolean {
    return this.#verdict === 'whole';
  }

  /**
   * Where it says that the object lies, within the pack.
   * @throws the system's error
   */
  find(digest: Digest): Span | undefined {
    // Looking up more than the whole has cost as much as reading it.
    if (this.#verdict === 'unread' && this.#probed > this.#seen.size) this.verify();
    if (this.#whole !== undefined) return this.#whole.find(digest);
    if (this.#head === undefined) return undefined;
    const span = this.#probe(digest, this.#head.count);
    if (span === undefined || span.offset + span.length <= this.#head.packLength) return span;
    this.#verdict = 'damaged';
    return undefined;
  }

  /**
   * Compares the checksum, once. The index is kept in memory if there is room.
   * @returns false when the index is not what was written
   * @throws the system's error
   */
  verify(): boolean {
    if (this.#verdict === 'unread') this.#verdict = this.#readWhole() ? 'whole' : 'damaged';
    return this.#verdict === 'whole';
  }

  #readHead(): IndexHead | undefined {
    const bytes = Buffer.alloc(HEADER_LENGTH);
    if (this.#read(bytes, 0) < HEADER_LENGTH) return undefined;
    const head = decodeIndexHead(bytes, this.#seen.size);
    return head !== undefined && this.#dir.tryLstat(this.pack)?.size === head.packLength ? head : undefined;
  }

  #readWhole(): boolean {
    const { size } = this.#seen;
    try {
      if (size > this.#room.left) return this.#hash();
      this.#whole = PackIndex.parse(readSmallFile(this.#dir, this.name, size));
    } catch (error) {
      // It is not any more the file that was opened: nobody of ours writes into one.
      if (errnoOf(error) === undefined) return false;
      throw error;
    }
    if (this.#whole !== undefined) this.#room.left -= size;
    return this.#whole !== undefined;
  }

  /** Hashes it piece by piece, where there is no room for all of it. */
  #hash(): boolean {
    const hasher = new Hasher();
    const end = this.#seen.size - DIGEST_LENGTH;
    const trailer = Buffer.alloc(DIGEST_LENGTH);
    let position = 0;
    readFile(this.#dir, this.name, this.#seen, (piece) => {
      const body = Math.max(0, Math.min(piece.length, end - position));
      hasher.update(piece.subarray(0, body));
      trailer.set(piece.subarray(body), Math.max(0, position - end));
      position += piece.length;
    });
    return hasher.digest() === trailer.toString('hex');
  }

  /**
   * Looks the record up by the places where it should lie, a window at a time: evenly spread digests lie within the square root of their number
   * of where their value puts them. Each window leaves less to look at, so that altered bytes cannot keep this from ending.
   */
  #probe(digest: Digest, count: number): Span | undefined {
    const window = Math.max(64, 2 * Math.ceil(Math.sqrt(count)));
    const bytes = Buffer.allocUnsafe(Math.min(window, count) * RECORD_LENGTH);
    const share = Number.parseInt(digest.slice(0, 8), 16) / 2 ** 32;
    let low = 0;
    let high = count;
    let middle = Math.floor(share * count);
    for (let misses = 1; low < high; misses++) {
      const first = Math.max(low, Math.min(middle - (window >> 1), high - window));
      const records = bytes.subarray(0, Math.min(window, high - first) * RECORD_LENGTH);
      if (this.#read(records, HEADER_LENGTH + first * RECORD_LENGTH) < records.length) throw new FileMoved();
      const last = records.length - RECORD_LENGTH;
      const isBefore = digest < records.toString('hex', 0, DIGEST_LENGTH);
      if (isBefore) high = first;
      else if (digest > records.toString('hex', last, last + DIGEST_LENGTH))
        low = first + records.length / RECORD_LENGTH;
      else {
        const at = findRecord(records, 0, records.length / RECORD_LENGTH, digest);
        return at === -1 ? undefined : spanOf(records, at);
      }
      // It lies beside the window; if not even there, evenly spread is not what they are.
      if (misses > NEIGHBOURS) middle = (low + high) >> 1;
      else middle = isBefore ? high - (window >> 1) : low + (window >> 1);
    }
    return undefined;
  }

  #read(buffer: Buffer, position: number): number {
    const file = this.#dir.openFile(this.name);
    try {
      this.#probed += buffer.length;
      return file.read(buffer, position);
    } finally {
      file.close();
    }
  }
}
