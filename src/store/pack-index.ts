import { type Digest, digestOf } from '../core/index.ts';

/** Where an object lies in its pack, in bytes. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

const MAGIC = Buffer.from('agentdiff-idx 1\n');
/** Magic, number of records, length of the pack. */
export const HEADER_LENGTH = MAGIC.length + 16;
export const DIGEST_LENGTH = 32;
/** Digest, offset, length. */
export const RECORD_LENGTH = DIGEST_LENGTH + 16;

/** What the first bytes of an index say. */
export interface IndexHead {
  /** Number of records. */
  readonly count: number;
  /** Length of the pack, bytes. */
  readonly packLength: number;
}

/**
 * @param head at least {@link HEADER_LENGTH} bytes
 * @param size of the whole index, bytes
 * @returns undefined when the head is not one of ours, or not that of an index of this size
 */
export function decodeIndexHead(head: Buffer, size: number): IndexHead | undefined {
  if (head.length < HEADER_LENGTH || !head.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const count = head.readBigUInt64BE(MAGIC.length);
  if (BigInt(HEADER_LENGTH + DIGEST_LENGTH) + count * BigInt(RECORD_LENGTH) !== BigInt(size))
    return undefined;
  return { count: Number(count), packLength: Number(head.readBigUInt64BE(MAGIC.length + 8)) };
}

/** Writes the first {@link HEADER_LENGTH} bytes of an index. */
export function encodeIndexHead(bytes: Buffer, { count, packLength }: IndexHead): void {
  MAGIC.copy(bytes);
  bytes.writeBigUInt64BE(BigInt(count), MAGIC.length);
  bytes.writeBigUInt64BE(BigInt(packLength), MAGIC.length + 8);
}

/** Where the record of `digest` begins among `count` sorted ones that begin at `start`; -1 when it is not there. */
export function findRecord(bytes: Buffer, start: number, count: number, digest: Digest): number {
  const wanted = Number.parseInt(digest.slice(0, 8), 16);
  let low = 0;
  let high = count - 1;
  while (low <= high) {
    const middle = guess(bytes, start, low, high, wanted);
    const at = start + middle * RECORD_LENGTH;
    const order =
      bytes.readUInt32BE(at) - wanted ||
      compareDigests(bytes.toString('hex', at, at + DIGEST_LENGTH), digest);
    if (order === 0) return at;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** Digests are evenly spread, so their value tells where to look. Near the end of the search the middle is as good. */
function guess(bytes: Buffer, start: number, low: number, high: number, wanted: number): number {
  if (high - low < 8) return (low + high) >> 1;
  const first = bytes.readUInt32BE(start + low * RECORD_LENGTH);
  const last = bytes.readUInt32BE(start + high * RECORD_LENGTH);
  if (wanted <= first) return low;
  if (wanted >= last) return high;
  return low + Math.floor(((wanted - first) / (last - first)) * (high - low));
}

/** The span in the record that begins at `at`. */
export function spanOf(bytes: Buffer, at: number): Span {
  return {
    offset: Number(bytes.readBigUInt64BE(at + DIGEST_LENGTH)),
    length: Number(bytes.readBigUInt64BE(at + DIGEST_LENGTH + 8)),
  };
}

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
    const head = decodeIndexHead(bytes, bytes.length);
    const end = bytes.length - DIGEST_LENGTH;
    if (head === undefined || digestOf(bytes.subarray(0, end)) !== bytes.toString('hex', end))
      return undefined;
    return new PackIndex(bytes, head.count, head.packLength);
  }

  find(digest: Digest): Span | undefined {
    const at = findRecord(this.#bytes, HEADER_LENGTH, this.count, digest);
    return at === -1 ? undefined : spanOf(this.#bytes, at);
  }

  /** All that the pack holds, in the order of the digests. */
  *entries(): Generator<{ readonly digest: Digest; readonly span: Span }> {
    for (let i = 0; i < this.count; i++) {
      const at = HEADER_LENGTH + i * RECORD_LENGTH;
      const digest = this.#bytes.toString('hex', at, at + DIGEST_LENGTH) as Digest;
      yield { digest, span: spanOf(this.#bytes, at) };
    }
  }
}

function compareDigests(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
