/**
 * The columns of a stat index: one typed array for each fact, all in one buffer. A file of them is used as it was read, nothing is parsed,
 * and threads share it.
 */
export interface Columns {
  /* One value a row. A row is an entry; the rows of a directory stand together, in byte order of their names. Row 0 is the root. */

  /** Bytes; of a symlink those of its target; of a device its number. */
  readonly size: Float64Array;
  /** Milliseconds as Node reports them: `s * 1000 + ns / 1e6`. */
  readonly mtimeMs: Float64Array;
  readonly ctimeMs: Float64Array;
  /** The part of the time below a second, nanoseconds. */
  readonly mtimeNs: Uint32Array;
  readonly ctimeNs: Uint32Array;
  readonly inoLow: Uint32Array;
  readonly inoHigh: Uint32Array;
  readonly uid: Uint32Array;
  readonly gid: Uint32Array;
  readonly nlink: Uint32Array;
  /** Where the name ends in `names`; it begins where the one before ends. */
  readonly nameEnd: Uint32Array;
  /** Number of the directory that the entry is, when it was entered; else 0, which is the root's and nobody's entry. */
  readonly directory: Uint32Array;
  /** `st_mode`, kind included. */
  readonly mode: Uint16Array;
  /** Number of the device in the list of devices. */
  readonly dev: Uint16Array;
  /** Number of the rule that lowered the entry, in the list of rules. */
  readonly rule: Uint16Array;
  /** One of {@link CONTENT}. */
  readonly content: Uint8Array;
  /** Sum of {@link FLAG}; the level of a lowering is in the bits from {@link LEVEL_SHIFT} on. */
  readonly flags: Uint8Array;
  /** 32 bytes a row: SHA-256 of the content, or, for unknown content, the number of the reason in the first one. */
  readonly digest: Uint8Array;

  /* One value a directory that was entered. Directories stand in walk order, parents first; directory 0 is the root. */

  /** Its row. */
  readonly dirRow: Uint32Array;
  /** Its first row; its rows end where those of the next directory begin. One value more than directories: the end of all. */
  readonly dirFirst: Uint32Array;
  /** The first directory that is not in its subtree. */
  readonly dirEnd: Uint32Array;
  readonly dirParent: Uint32Array;
  /** The rule that decides its capture level. */
  readonly dirRule: Uint16Array;
  readonly dirLevel: Uint8Array;
  /** Sum of {@link DIR_FLAG}. */
  readonly dirFlags: Uint8Array;

  /** The names' bytes, end to end. */
  readonly names: Uint8Array;
}

/** What is known of an entry's content. */
export const CONTENT = {
  digest: 0,
  identity: 1,
  unknown: 2,
  device: 3,
  nothing: 4,
  /** There is no such entry: it was listed, and gone when it was to be read. */
  absent: 5,
} as const;

export const FLAG = {
  /** The content is in the store. */
  kept: 1,
  /** Touched so shortly before the scan that a later write could have the same stamps. */
  racy: 2,
  /** A symlink whose target leads out of the workspace. */
  outward: 4,
  /** Less was kept than usual, by `rule`. */
  lowered: 8,
  /** Not even its metadata is known. */
  unseen: 16,
} as const;

export const LEVEL_SHIFT = 5;

export const DIR_FLAG = {
  /** Something in it has to be looked at again by the next scan, whatever the times say. */
  lookAgain: 1,
  /** A name in it has bytes that are not ASCII. */
  notAscii: 2,
} as const;

export const DIGEST_BYTES = 32;

export interface Counts {
  readonly rows: number;
  readonly dirs: number;
  readonly nameBytes: number;
}

type TypedArray = Float64Array | Uint32Array | Uint16Array | Uint8Array;
type Make = (buffer: ArrayBufferLike, offset: number, length: number) => TypedArray;

const f64: Make = (buffer, offset, length) => new Float64Array(buffer, offset, length);
const u32: Make = (buffer, offset, length) => new Uint32Array(buffer, offset, length);
const u16: Make = (buffer, offset, length) => new Uint16Array(buffer, offset, length);
const u8: Make = (buffer, offset, length) => new Uint8Array(buffer, offset, length);

/** How long a column is, and of what. */
interface Shape {
  readonly make: Make;
  readonly bytes: 1 | 2 | 4 | 8;
  readonly length: (counts: Counts) => number;
}

const row = (make: Make, bytes: Shape['bytes']): Shape => ({ make, bytes, length: ({ rows }) => rows });
const dir = (make: Make, bytes: Shape['bytes']): Shape => ({ make, bytes, length: ({ dirs }) => dirs });

/** In the order in which they lie in the buffer. */
export const SHAPES: Readonly<Record<keyof Columns, Shape>> = {
  size: row(f64, 8),
  mtimeMs: row(f64, 8),
  ctimeMs: row(f64, 8),
  mtimeNs: row(u32, 4),
  ctimeNs: row(u32, 4),
  inoLow: row(u32, 4),
  inoHigh: row(u32, 4),
  uid: row(u32, 4),
  gid: row(u32, 4),
  nlink: row(u32, 4),
  nameEnd: row(u32, 4),
  directory: row(u32, 4),
  mode: row(u16, 2),
  dev: row(u16, 2),
  rule: row(u16, 2),
  content: row(u8, 1),
  flags: row(u8, 1),
  digest: { make: u8, bytes: 1, length: ({ rows }) => rows * DIGEST_BYTES },
  dirRow: dir(u32, 4),
  dirFirst: { make: u32, bytes: 4, length: ({ dirs }) => dirs + 1 },
  dirEnd: dir(u32, 4),
  dirParent: dir(u32, 4),
  dirRule: dir(u16, 2),
  dirLevel: dir(u8, 1),
  dirFlags: dir(u8, 1),
  names: { make: u8, bytes: 1, length: ({ nameBytes }) => nameBytes },
};

/** Columns begin at multiples of this, so that every type can lie anywhere. */
const ALIGNMENT = 8;

function aligned(offset: number): number {
  return Math.ceil(offset / ALIGNMENT) * ALIGNMENT;
}

/** Bytes that the columns take. */
export function columnsLength(counts: Counts): number {
  return Object.values(SHAPES).reduce((sum, { bytes, length }) => sum + aligned(length(counts) * bytes), 0);
}

/** The columns that begin at `offset`, a multiple of 8. */
export function columnsIn(buffer: ArrayBufferLike, offset: number, counts: Counts): Columns {
  const columns: Partial<Record<keyof Columns, TypedArray>> = {};
  let at = offset;
  for (const [name, { make, bytes, length }] of Object.entries(SHAPES)) {
    columns[name as keyof Columns] = make(buffer, at, length(counts));
    at += aligned(length(counts) * bytes);
  }
  return columns as unknown as Columns;
}
