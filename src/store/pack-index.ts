import { type Digest, digestOf, invariant } from '../core/index.ts';

/** Where an object lies in its pack, in bytes. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

const MAGIC = Buffer.from('agentdiff-idx 1\n');
/** Magic, number of records, length of the pack. */
const HEADER_LENGTH = MAGIC.length + 16;
const DIGEST_LENGTH = 32;
/** Digest, offset, length. */
const RECORD_LENGTH = DIGEST_LENGTH + 16;

/**
 * The index of one pack, looked up in the bytes of its file: `magic, count, pack length, count x (digest, offset, length), SHA-256 of all
 * before`, records sorted by digest, numbers big-endian in 8 bytes.
 */
export class PackIndex {
  readonly packLength: number;
  readonly count: number;
  readonly #bytes: Buffer;

  private constructor(bytes: Buffer, count: number, packLength: number) {
    this.#bytes = bytes;
    this.count = count;
    this.packLength = packLength;
  }

  /** @returns undefined when the bytes are not a whole, unaltered index */
  static parse(bytes: Buffer): PackIndex | undefined {
    const end = bytes.length - DIGEST_LENGTH;
    if (end < HEADER_LENGTH || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
    const count = bytes.readBigUInt64BE(MAGIC.length);
    if (BigInt(HEADER_LENGTH) + count * BigInt(RECORD_LENGTH) !== BigInt(end)) return undefined;
    if (digestOf(bytes.subarray(0, end)) !== bytes.toString('hex', end)) return undefined;
    return new PackIndex(bytes, Number(count), Number(bytes.readBigUInt64BE(MAGIC.length + 8)));
  }

  find(digest: Digest): Span | undefined {
    const wanted = Number.parseInt(digest.slice(0, 8), 16);
    let low = 0;
    let high = this.count - 1;
    while (low <= high) {
      const middle = this.#guess(low, high, wanted);
      const at = HEADER_LENGTH + middle * RECORD_LENGTH;
      const order =
        this.#bytes.readUInt32BE(at) - wanted ||
        compareDigests(this.#bytes.toString('hex', at, at + DIGEST_LENGTH), digest);
      if (order === 0) return this.#spanAt(at + DIGEST_LENGTH);
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }

  /** Digests are evenly spread, so their value tells where to look. Near the end of the search the middle is as good. */
  #guess(low: number, high: number, wanted: number): number {
    if (high - low < 8) return (low + high) >> 1;
    const first = this.#bytes.readUInt32BE(HEADER_LENGTH + low * RECORD_LENGTH);
    const last = this.#bytes.readUInt32BE(HEADER_LENGTH + high * RECORD_LENGTH);
    if (wanted <= first) return low;
    if (wanted >= last) return high;
    return low + Math.floor(((wanted - first) / (last - first)) * (high - low));
  }

  #spanAt(at: number): Span {
    return {
      offset: Number(this.#bytes.readBigUInt64BE(at)),
      length: Number(this.#bytes.readBigUInt64BE(at + 8)),
    };
  }
}

function compareDigests(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The bytes of the index of a pack that holds `entries`. */
export function encodePackIndex(entries: ReadonlyMap<Digest, Span>, packLength: number): Buffer {
  const bytes = Buffer.alloc(HEADER_LENGTH + entries.size * RECORD_LENGTH + DIGEST_LENGTH);
  MAGIC.copy(bytes);
  bytes.writeBigUInt64BE(BigInt(entries.size), MAGIC.length);
  bytes.writeBigUInt64BE(BigInt(packLength), MAGIC.length + 8);
  let at = HEADER_LENGTH;
  for (const digest of [...entries.keys()].sort(compareDigests)) {
    const span = entries.get(digest);
    invariant(span !== undefined, 'a key of a map has a value');
    bytes.write(digest, at, 'hex');
    bytes.writeBigUInt64BE(BigInt(span.offset), at + DIGEST_LENGTH);
    bytes.writeBigUInt64BE(BigInt(span.length), at + DIGEST_LENGTH + 8);
    at += RECORD_LENGTH;
  }
  bytes.write(digestOf(bytes.subarray(0, at)), at, 'hex');
  return bytes;
}
