import { type Digest, digestOf, invariant } from '../core/index.ts';
import { DIGEST_LENGTH, encodeIndexHead, HEADER_LENGTH, RECORD_LENGTH } from './pack-index.ts';

/** Records that are stored together, so that growing copies nothing. */
const CHUNK = 1 << 14;
const FIRST_SLOTS = 1 << 12;
/** Records are laid out by this many leading bits of their digests before they are sorted. */
const BUCKET_BITS = 16;
/** A bucket up to this size is sorted by inserting. */
const FEW = 32;
const TWO_32 = 2 ** 32;

/**
 * What lies where in a pack that is being written: the records of its index as they will stand in the file, 48 bytes each, and 6 to 12 more for a
 * table to look them up.
 */
export class PackRecords {
  readonly #chunks: Buffer[] = [];
  /** Open addressing by the first four bytes of the digest; a slot holds the number of its record, from 1. */
  #slots = new Uint32Array(FIRST_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(digest: Digest): boolean {
    return this.#slots[this.#slotOf(digest)] !== 0;
  }

  /** Adds a record; one for each digest. */
  add(digest: Digest, offset: number, length: number): void {
    if (this.#size * 2 >= this.#slots.length) this.#grow();
    if (this.#size % CHUNK === 0) this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK * RECORD_LENGTH));
    const chunk = this.#chunkOf(this.#size);
    const at = (this.#size % CHUNK) * RECORD_LENGTH;
    chunk.write(digest, at, 'hex');
    writeNumber(chunk, at + DIGEST_LENGTH, offset);
    writeNumber(chunk, at + DIGEST_LENGTH + 8, length);
    this.#slots[this.#slotOf(digest)] = ++this.#size;
  }

  /** The bytes of the index of a pack of `packLength` bytes that holds these records. */
  encode(packLength: number): Buffer {
    const end = HEADER_LENGTH + this.#size * RECORD_LENGTH;
    const bytes = Buffer.allocUnsafeSlow(end + DIGEST_LENGTH);
    encodeIndexHead(bytes, { count: this.#size, packLength });
    let to = HEADER_LENGTH;
    for (const record of this.#sorted()) {
      const at = (record % CHUNK) * RECORD_LENGTH;
      this.#chunkOf(record).copy(bytes, to, at, at + RECORD_LENGTH);
      to += RECORD_LENGTH;
    }
    bytes.write(digestOf(bytes.subarray(0, end)), end, 'hex');
    return bytes;
  }

  /** Numbers of the records, from 0, in the order of their digests. */
  #sorted(): Uint32Array {
    const starts = new Uint32Array((1 << BUCKET_BITS) + 1);
    const bucketOf = (record: number): number => this.#head(record) >>> (32 - BUCKET_BITS);
    for (let record = 0; record < this.#size; record++) count(starts, bucketOf(record) + 1);
    let sum = 0;
    for (let bucket = 0; bucket < starts.length; bucket++) starts[bucket] = sum += starts[bucket] ?? 0;
    const order = new Uint32Array(this.#size);
    const next = starts.slice();
    for (let record = 0; record < this.#size; record++) order[count(next, bucketOf(record))] = record;
    const compare = (a: number, b: number): number => this.#compare(a, b);
    for (let bucket = 0; bucket < 1 << BUCKET_BITS; bucket++)
      sortPart(order, starts[bucket] ?? 0, starts[bucket + 1] ?? 0, compare);
    return order;
  }

  #compare(a: number, b: number): number {
    const difference = this.#head(a) - this.#head(b);
    if (difference !== 0) return difference;
    const [atA, atB] = [(a % CHUNK) * RECORD_LENGTH, (b % CHUNK) * RECORD_LENGTH];
    return this.#chunkOf(a).compare(this.#chunkOf(b), atB, atB + DIGEST_LENGTH, atA, atA + DIGEST_LENGTH);
  }

  /** The slot that holds the digest's record, or the empty one where it would stand. */
  #slotOf(digest: Digest): number {
    const mask = this.#slots.length - 1;
    const head = Number.parseInt(digest.slice(0, 8), 16);
    for (let slot = head & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] ?? 0;
      if (number === 0 || (this.#head(number - 1) === head && this.#digest(number - 1) === digest))
        return slot;
    }
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    const mask = this.#slots.length - 1;
    for (let record = 0; record < this.#size; record++) {
      let slot = this.#head(record) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = record + 1;
    }
  }

  /** The first four bytes of a record's digest. */
  #head(record: number): number {
    return this.#chunkOf(record).readUInt32BE((record % CHUNK) * RECORD_LENGTH);
  }

  #digest(record: number): string {
    const at = (record % CHUNK) * RECORD_LENGTH;
    return this.#chunkOf(record).toString('hex', at, at + DIGEST_LENGTH);
  }

  #chunkOf(record: number): Buffer {
    const chunk = this.#chunks[Math.floor(record / CHUNK)];
    invariant(chunk !== undefined, 'every record has its chunk');
    return chunk;
  }
}

/** Adds one to an element; what it was before. */
function count(numbers: Uint32Array, at: number): number {
  const before = numbers[at] ?? 0;
  numbers[at] = before + 1;
  return before;
}

function sortPart(
  order: Uint32Array,
  start: number,
  end: number,
  compare: (a: number, b: number) => number,
): void {
  if (end - start > FEW) {
    order.subarray(start, end).sort(compare);
    return;
  }
  for (let i = start + 1; i < end; i++) {
    const record = order[i] ?? 0;
    let to = i;
    for (; to > start && compare(order[to - 1] ?? 0, record) > 0; to--) order[to] = order[to - 1] ?? 0;
    order[to] = record;
  }
}

/** As 8 bytes, big-endian; exact up to 2^53. */
function writeNumber(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32BE(Math.floor(value / TWO_32), at);
  bytes.writeUInt32BE(value % TWO_32, at + 4);
}
