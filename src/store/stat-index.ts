import {
  type ByteString,
  type Digest,
  digestOf,
  isDigest,
  fromBytes,
  isMarked,
  type RelPath,
  toBytes,
} from '../core/index.ts';
import type { Stat } from '../fs/index.ts';

/** What was known of one entry when the index was written. Its values may be accessors: copy them one by one, not by spreading. */
export interface IndexRecord {
  /** `dev:ino:size:mtimeNs:ctimeNs`, see {@link statIdentity}. */
  readonly identity: string;
  /** Permission bits, `0..0o7777`. */
  readonly mode: number;
  readonly nlink: number;
  readonly mtimeNs: bigint;
  /** `dev:ino` */
  readonly inode: string;
  /** Of the content, when it was hashed. */
  readonly digest?: Digest | undefined;
  /** The object was put into the store. */
  readonly kept: boolean;
}

/** Device, inode, size, mtime and ctime in one text; equal texts mean that, as far as the kernel tells, nothing was written in between. */
export function statIdentity(stat: Pick<Stat, 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs'>): string {
  return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/** The record of an entry that was seen as `stat`. */
export function indexRecord(stat: Stat, content: { digest?: Digest; kept: boolean }): IndexRecord {
  return {
    identity: statIdentity(stat),
    mode: stat.mode,
    nlink: stat.nlink,
    mtimeNs: stat.mtimeNs,
    inode: `${stat.dev}:${stat.ino}`,
    ...content,
  };
}

/**
 * A file written within this span before the scan began (2 s, the coarsest time stamp of a common file system) may have been written
 * again with the same stamps; its record is not relied on.
 */
export const RACY_NS = 2_000_000_000n;

const MAGIC = 'agentdiff-index 1';
/** `sha256 <64 hex>\n` */
const TRAILER_LENGTH = 72;
const NUL = 0;
/** Values before the path: identity, mode, nlink, digest, kept. */
const VALUES = 5;

/**
 * The stat index of a workspace: a cache that is either whole or empty. Records are looked up in the order of the scan that wrote them, so
 * each is found right behind the one before and decoded only then; the map of all paths is made when that fails for the first time.
 */
export class StatIndex {
  readonly size: number;
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly #safeBeforeNs: bigint;
  #cursor: number;
  #offsets: Map<string, number> | undefined;

  private constructor(bytes: Buffer, start: number, size: number, startedAtNs: bigint) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = Math.max(start, bytes.length - TRAILER_LENGTH);
    this.#cursor = start;
    this.size = size;
    this.#safeBeforeNs = startedAtNs - RACY_NS;
  }

  static empty(): StatIndex {
    return new StatIndex(Buffer.alloc(0), 0, 0, 0n);
  }

  /** The index in `bytes`; an empty one when they are cut off, damaged or something else. */
  static parse(bytes: Buffer): StatIndex {
    const end = bytes.length - TRAILER_LENGTH;
    if (end < 0 || bytes.toString('latin1', end) !== trailerOf(digestOf(bytes.subarray(0, end))))
      return StatIndex.empty();
    return StatIndex.of(bytes);
  }

  /** The index in bytes that this very process made: whole, so the checksum is not computed again. */
  static of(bytes: Buffer): StatIndex {
    const header = new RegExp(`^${MAGIC} (\\d{1,20}) (\\d{1,10})\n`).exec(bytes.toString('latin1', 0, 80));
    if (header === null) return StatIndex.empty();
    const [line, startedAtNs, size] = header;
    return new StatIndex(bytes, line.length, Number(size), BigInt(startedAtNs ?? 0));
  }

  lookup(path: RelPath): IndexRecord | undefined {
    return this.#recordAt(this.#cursor, path) ?? this.#search(path);
  }

  /** True when `stat` shows the very state that was recorded, and the record is old enough to be told from a later write. */
  trusted(record: IndexRecord, stat: Stat): boolean {
    return stat.ctimeNs < this.#safeBeforeNs && record.identity === statIdentity(stat);
  }

  #search(path: RelPath): IndexRecord | undefined {
    this.#offsets ??= this.#allOffsets();
    const offset = this.#offsets.get(path);
    return offset === undefined ? undefined : this.#recordAt(offset, path);
  }

  /** The record that starts at `offset`, when it is the one of `path`; the cursor goes behind it. */
  #recordAt(offset: number, path: RelPath): IndexRecord | undefined {
    if (offset >= this.#end) return undefined;
    const line = this.#lineAt(offset);
    if (line.path !== path) return undefined;
    this.#cursor = line.end + 1;
    return new StoredRecord(line.values);
  }

  #allOffsets(): Map<string, number> {
    const offsets = new Map<string, number>();
    for (let offset = this.#start; offset < this.#end; ) {
      const line = this.#lineAt(offset);
      offsets.set(line.path, offset);
      offset = line.end + 1;
    }
    return offsets;
  }

  #lineAt(offset: number): Line {
    const nul = this.#bytes.indexOf(NUL, offset);
    const end = nul === -1 ? this.#end : nul;
    const text = this.#bytes.toString('utf8', offset, end);
    const length = valuesLength(text);
    const values = text.slice(0, length);
    // The values are ASCII, so their length is the same in bytes. Bytes that are not UTF-8 were replaced and are read again as they are.
    const path = text.includes(REPLACEMENT)
      ? fromBytes(this.#bytes.subarray(offset + length + 1, end))
      : text.slice(length + 1);
    return { values, path, end };
  }
}

interface Line {
  readonly values: string;
  readonly path: ByteString;
  /** Offset of the NUL. */
  readonly end: number;
}

const REPLACEMENT = '\ufffd';

/** Length of the values without the blank before the path. */
function valuesLength(text: string): number {
  let at = -1;
  for (let count = 0; count < VALUES; count++) at = text.indexOf(' ', at + 1);
  return at;
}

/** A record as it stands in the index: a scan asks for little of it, so each value is parsed when it is asked for. */
class StoredRecord implements IndexRecord {
  readonly #values: string;

  /** @param values all values of one line; the index is whole, so they are as they were written */
  constructor(values: string) {
    this.#values = values;
  }

  get identity(): string {
    return this.#value(0);
  }

  get mode(): number {
    return Number.parseInt(this.#value(1), 8);
  }

  get nlink(): number {
    return Number(this.#value(2));
  }

  get mtimeNs(): bigint {
    return BigInt(this.identity.split(':')[3] ?? 0);
  }

  get inode(): string {
    return this.identity.split(':', 2).join(':');
  }

  get digest(): Digest | undefined {
    const digest = this.#value(3);
    return isDigest(digest) ? digest : undefined;
  }

  get kept(): boolean {
    return this.#values.endsWith(KEPT);
  }

  #value(index: number): string {
    let start = 0;
    for (let skipped = 0; skipped < index; skipped++) start = this.#values.indexOf(' ', start) + 1;
    return this.#values.slice(start, this.#values.indexOf(' ', start));
  }
}

const KEPT = 'k';
const NOT_KEPT = '-';
const NO_DIGEST = '-';

/** One record, NUL included: values first, so that the path may hold anything but NUL. */
export function encodeRecord(path: RelPath, record: IndexRecord): string | Buffer {
  const { identity, mode, nlink, digest, kept } = record;
  const values = `${identity} ${mode.toString(8)} ${nlink} ${digest ?? NO_DIGEST} ${kept ? KEPT : NOT_KEPT} `;
  return isMarked(path)
    ? Buffer.concat([Buffer.from(values), toBytes(path), Buffer.of(NUL)])
    : `${values}${path}\0`;
}

export function headerOf(startedAtNs: bigint, size: number): string {
  return `${MAGIC} ${startedAtNs} ${size}\n`;
}

export function trailerOf(checksum: Digest): string {
  return `sha256 ${checksum}\n`;
}
