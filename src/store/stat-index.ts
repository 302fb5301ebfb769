import {
  type ByteString,
  type Digest,
  digestOf,
  fromBytes,
  isDigest,
  isMarked,
  type RelPath,
  toBytes,
} from '../core/index.ts';
import type { Stat } from '../fs/index.ts';

/** What was known of one entry when the index was written. */
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
  readonly digest?: Digest;
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
const BLANK = 0x20;
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
    if (end < 0) return StatIndex.empty();
    const body = bytes.subarray(0, end);
    const header = new RegExp(`^${MAGIC} (\\d{1,20}) (\\d{1,10})\n`).exec(bytes.toString('latin1', 0, 80));
    if (header === null || bytes.toString('latin1', end) !== trailerOf(digestOf(body)))
      return StatIndex.empty();
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
    const { pathStart, end } = this.#span(offset);
    if (this.#pathAt(pathStart, end) !== path) return undefined;
    this.#cursor = end + 1;
    return decodeValues(this.#bytes.toString('latin1', offset, pathStart - 1));
  }

  #allOffsets(): Map<string, number> {
    const offsets = new Map<string, number>();
    for (let offset = this.#start; offset < this.#end; ) {
      const { pathStart, end } = this.#span(offset);
      offsets.set(this.#pathAt(pathStart, end), offset);
      offset = end + 1;
    }
    return offsets;
  }

  #span(offset: number): { pathStart: number; end: number } {
    const bytes = this.#bytes;
    let pathStart = offset;
    for (let blanks = 0; blanks < VALUES && pathStart < this.#end; pathStart++)
      if (bytes[pathStart] === BLANK) blanks++;
    const end = bytes.indexOf(NUL, pathStart);
    return { pathStart, end: end === -1 ? this.#end : end };
  }

  #pathAt(start: number, end: number): ByteString {
    return fromBytes(this.#bytes.subarray(start, end));
  }
}

function decodeValues(text: string): IndexRecord | undefined {
  const [identity, mode, nlink, digest, kept] = text.split(' ');
  const [dev, ino, , mtimeNs] = identity?.split(':') ?? [];
  if (identity === undefined || mtimeNs === undefined || digest === undefined) return undefined;
  return {
    identity,
    mode: Number.parseInt(mode ?? '', 8),
    nlink: Number(nlink),
    mtimeNs: BigInt(mtimeNs),
    inode: `${dev}:${ino}`,
    ...(isDigest(digest) ? { digest } : {}),
    kept: kept === 'k',
  };
}

/** One record, NUL included: values first, so that the path may hold anything but NUL. */
export function encodeRecord(path: RelPath, record: IndexRecord): string | Buffer {
  const { identity, mode, nlink, digest, kept } = record;
  const values = `${identity} ${mode.toString(8)} ${nlink} ${digest ?? '-'} ${kept ? 'k' : '-'} `;
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
