import {
  type Digest,
  digestOf,
  fromBytes,
  joinPath,
  type Name,
  namesOf,
  type RelPath,
  ROOT_PATH,
  toBytes,
} from '../../core/index.ts';
import type { Stat } from '../../fs/index.ts';
import {
  type Columns,
  columnsIn,
  columnsLength,
  CONTENT,
  type Counts,
  DIGEST_BYTES,
  DIR_FLAG,
  FLAG,
} from './columns.ts';

/** Device, inode, size, mtime and ctime in one text; equal texts mean that, as far as the kernel tells, nothing was written in between. */
export function statIdentity(stat: Pick<Stat, 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs'>): string {
  return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/**
 * A file written within this span before the scan began (2 s, the coarsest time stamp of a common file system) may have been written
 * again with the same stamps; its record is not relied on.
 */
export const RACY_NS = 2_000_000_000n;

/** What an index knows of one path beside its state. */
export interface IndexRecord {
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly nlink: number;
  /** `dev:ino` */
  readonly inode: string;
}

/** What the columns refer to by number, and what their validity rests on. */
export interface IndexNotes {
  /** Decimal device numbers. */
  readonly devices: readonly string[];
  readonly rules: readonly string[];
  /** Names the capture rules and limits that the scan had; under others its decisions mean nothing. */
  readonly rulesId: string;
  /** Pack files that were there when the index was written: file name and bytes. While they are, what is marked as kept is. */
  readonly packs: readonly (readonly [name: string, bytes: number])[];
}

export const HEADER_BYTES = 64;
const MAGIC = 'agentdiff-index 2\n';
/** Where the header's numbers of 4 bytes are, counted in numbers. */
const AT = { order: 5, rows: 6, dirs: 7, nameBytes: 8, looks: 9 } as const;
/** Another number on a machine whose bytes lie the other way round. */
const BYTE_ORDER = 0x01020304;

const NO_NOTES: IndexNotes = { devices: [], rules: [], rulesId: '', packs: [] };

/**
 * The stat index of a workspace: all that the last scan saw, in columns (see {@link Columns}). A cache that is either whole or empty.
 * It is never changed once it is made.
 */
export class StatIndex {
  readonly counts: Counts;
  readonly columns: Columns;
  readonly notes: IndexNotes;
  /** Header and columns; shared with the threads of a scan. */
  readonly buffer: SharedArrayBuffer;

  readonly #names: Buffer;

  private constructor(buffer: SharedArrayBuffer, counts: Counts, notes: IndexNotes) {
    this.buffer = buffer;
    this.counts = counts;
    this.columns = columnsIn(buffer, HEADER_BYTES, counts);
    this.notes = notes;
    const { names } = this.columns;
    this.#names = Buffer.from(names.buffer, names.byteOffset, names.length);
  }

  static empty(): StatIndex {
    return StatIndex.make({ rows: 0, dirs: 0, nameBytes: 0 }, NO_NOTES, () => undefined);
  }

  /** A new index, whose columns `fill` writes. */
  static make(counts: Counts, notes: IndexNotes, fill: (columns: Columns) => void): StatIndex {
    const buffer = new SharedArrayBuffer(HEADER_BYTES + columnsLength(counts));
    Buffer.from(buffer).write(MAGIC, 'latin1');
    const header = new Uint32Array(buffer, 0, HEADER_BYTES / 4);
    header[AT.order] = BYTE_ORDER;
    header[AT.rows] = counts.rows;
    header[AT.dirs] = counts.dirs;
    header[AT.nameBytes] = counts.nameBytes;
    const index = new StatIndex(buffer, counts, notes);
    fill(index.columns);
    return index;
  }

  /** @param looks how many entries the next scan will ask for, see {@link looksIn} */
  noteLooks(looks: number): void {
    new Uint32Array(this.buffer, 0, HEADER_BYTES / 4)[AT.looks] = looks;
  }

  /** How many entries the next scan will ask for, told by the first {@link HEADER_BYTES} of a file before the rest is read; a hint and no more. */
  static looksIn(header: Buffer): number {
    const at = AT.looks * 4;
    return header.length < at + 4
      ? 0
      : (new Uint32Array(Uint8Array.from(header.subarray(at, at + 4)).buffer)[0] ?? 0);
  }

  /** The index that another thread of this process made. */
  static shared(buffer: SharedArrayBuffer, notes: IndexNotes): StatIndex {
    return new StatIndex(buffer, countsIn(buffer), notes);
  }

  /** The index in the bytes of a file; an empty one when they are cut off, damaged or something else. */
  static parse(buffer: SharedArrayBuffer): StatIndex {
    const bytes = Buffer.from(buffer);
    const end = bytes.length - DIGEST_BYTES;
    if (end < HEADER_BYTES || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return StatIndex.empty();
    if (digestOf(bytes.subarray(0, end)) !== bytes.toString('hex', end)) return StatIndex.empty();
    const header = new Uint32Array(buffer, 0, HEADER_BYTES / 4);
    if (header[AT.order] !== BYTE_ORDER) return StatIndex.empty();
    const counts = countsIn(buffer);
    const notes = bytes.toString('utf8', HEADER_BYTES + columnsLength(counts), end);
    return new StatIndex(buffer, counts, JSON.parse(notes) as IndexNotes);
  }

  /**
   * The bytes of a file.
   * @param packs those that are in the store now
   */
  encode(packs: IndexNotes['packs']): Buffer {
    const columns = Buffer.from(this.buffer, 0, HEADER_BYTES + columnsLength(this.counts));
    const notes = Buffer.from(JSON.stringify({ ...this.notes, packs }));
    const bytes = Buffer.allocUnsafe(columns.length + notes.length + DIGEST_BYTES);
    columns.copy(bytes);
    notes.copy(bytes, columns.length);
    const end = bytes.length - DIGEST_BYTES;
    bytes.write(digestOf(bytes.subarray(0, end)), end, 'hex');
    return bytes;
  }

  /**
   * The same knowledge of digests, without the claim that anything is kept: objects are missing that were there when it was written. A scan
   * decides and asks anew for every entry then.
   */
  withoutKept(): StatIndex {
    const { flags } = this.columns;
    for (let row = 0; row < flags.length; row++) flags[row] = (flags[row] ?? 0) & ~FLAG.kept;
    return new StatIndex(this.buffer, this.counts, { ...this.notes, rulesId: '' });
  }

  /** Digest of the root's tree object; undefined for an empty index. */
  get tree(): Digest | undefined {
    return this.counts.rows === 0 ? undefined : this.digestOf(0);
  }

  /** What was seen of a path; undefined when it was not there or nothing is known of it. */
  lookup(path: RelPath): IndexRecord | undefined {
    const row = this.find(path);
    if (row === undefined || this.has(row, FLAG.unseen) || this.columns.content[row] === CONTENT.absent) {
      return undefined;
    }
    return {
      mtimeNs: this.mtimeNs(row),
      ctimeNs: this.ctimeNs(row),
      nlink: this.columns.nlink[row] ?? 0,
      inode: this.inode(row),
    };
  }

  /** The row of a path; there may be one for an entry that is {@link CONTENT.absent}. */
  find(path: RelPath): number | undefined {
    let row = this.counts.rows === 0 ? undefined : 0;
    let directory = 0;
    for (const [depth, name] of namesOf(path).entries()) {
      if (row === undefined || (depth > 0 && directory === 0)) return undefined;
      row = this.#search(directory, toBytes(name));
      directory = row === undefined ? 0 : (this.columns.directory[row] ?? 0);
    }
    return row;
  }

  /** Rows of a directory: from the first to before the second. */
  rowsOf(directory: number): [from: number, to: number] {
    return [this.columns.dirFirst[directory] ?? 0, this.columns.dirFirst[directory + 1] ?? 0];
  }

  name(row: number): Name {
    const { nameEnd } = this.columns;
    const [start, end] = [nameEnd[row - 1] ?? 0, nameEnd[row] ?? 0];
    const text = this.#names.toString('latin1', start, end);
    // Bytes and characters are the same as long as all are ASCII; to decode is several times slower.
    return (isAscii(text) ? text : fromBytes(this.#names.subarray(start, end))) as Name;
  }

  /** The names of all rows of a directory, in their order. */
  namesOf(directory: number): Name[] {
    const [from, to] = this.rowsOf(directory);
    const { nameEnd, dirFlags } = this.columns;
    const found: Name[] = [];
    if (((dirFlags[directory] ?? 0) & DIR_FLAG.notAscii) !== 0) {
      for (let row = from; row < to; row++) found.push(this.name(row));
      return found;
    }
    // Decoded in one go: a call for each name costs more than all else that is done with it.
    const start = nameEnd[from - 1] ?? 0;
    const text = this.#names.toString('latin1', start, nameEnd[to - 1]);
    for (let row = from, at = 0; row < to; row++) {
      const end = (nameEnd[row] ?? 0) - start;
      found.push(text.slice(at, end) as Name);
      at = end;
    }
    return found;
  }

  pathOf(directory: number): RelPath {
    const { dirParent, dirRow } = this.columns;
    const names: Name[] = [];
    for (let at = directory; at !== 0; at = dirParent[at] ?? 0) names.push(this.name(dirRow[at] ?? 0));
    return names.reduceRight(joinPath, ROOT_PATH);
  }

  has(row: number, flag: number): boolean {
    return ((this.columns.flags[row] ?? 0) & flag) !== 0;
  }

  digestOf(row: number): Digest {
    const { digest } = this.columns;
    return Buffer.from(digest.buffer, digest.byteOffset + row * DIGEST_BYTES, DIGEST_BYTES).toString(
      'hex',
    ) as Digest;
  }

  device(row: number): bigint {
    return BigInt(this.notes.devices[this.columns.dev[row] ?? 0] ?? 0);
  }

  ino(row: number): bigint {
    return (BigInt(this.columns.inoHigh[row] ?? 0) << 32n) | BigInt(this.columns.inoLow[row] ?? 0);
  }

  inode(row: number): string {
    return `${this.device(row)}:${this.ino(row)}`;
  }

  mtimeNs(row: number): bigint {
    return toNs(this.columns.mtimeMs[row] ?? 0, this.columns.mtimeNs[row] ?? 0);
  }

  ctimeNs(row: number): bigint {
    return toNs(this.columns.ctimeMs[row] ?? 0, this.columns.ctimeNs[row] ?? 0);
  }

  /** Binary search by the bytes of the name. */
  #search(directory: number, name: Buffer): number | undefined {
    const { nameEnd } = this.columns;
    let [low, high] = this.rowsOf(directory);
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = this.#names.compare(name, 0, name.length, nameEnd[middle - 1] ?? 0, nameEnd[middle]);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }
}

function countsIn(buffer: SharedArrayBuffer): Counts {
  const header = new Uint32Array(buffer, 0, HEADER_BYTES / 4);
  return {
    rows: header[AT.rows] ?? 0,
    dirs: header[AT.dirs] ?? 0,
    nameBytes: header[AT.nameBytes] ?? 0,
  };
}

/** Milliseconds are inexact below a microsecond; the second is not. */
function toNs(ms: number, ns: number): bigint {
  return BigInt(Math.round((ms - ns / 1e6) / 1000)) * 1_000_000_000n + BigInt(ns);
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) >= 0x80) return false;
  return true;
}
