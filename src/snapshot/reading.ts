import { digestOf, errnoOf, type Name, type RelPath } from '../core/index.ts';
import { type Dir, FileMoved, type Fingerprint, readWhole } from '../fs/index.ts';
import { DIGEST_BYTES } from '../store/index.ts';
import { REASONS, reasonCode } from './codes.ts';
import { isMoved } from './failures.ts';
import { reasonOf } from './stat-state.ts';

/** Small files to be read and hashed, in a form that is cheap to hand to another thread. */
export interface ReadRequest {
  /** Directories in the order of their files: path below the root, identity, and how many of the files are in it. */
  readonly directories: readonly {
    readonly path: RelPath;
    readonly dev: bigint;
    readonly ino: bigint;
    readonly files: number;
  }[];
  readonly names: readonly Name[];
  /** What lstat saw of each file: {@link STAT_FIELDS} numbers. */
  readonly stats: BigInt64Array<ArrayBuffer>;
  /** Sum of the sizes. */
  readonly bytes: number;
}

export interface ReadResult {
  /** One of {@link READ} a file; from `READ.refused` on the reason why it could not be read, see {@link refusal}. */
  readonly outcomes: Uint8Array<ArrayBuffer>;
  readonly digests: Uint8Array<ArrayBuffer>;
  /** The files' bytes, one behind the other, each with the length that lstat saw, whatever came of it. */
  readonly content: Uint8Array<ArrayBuffer>;
}

export const READ = { done: 0, moved: 1, refused: 2 } as const;

/** Why the system did not let a file be read. */
export function refusal(outcome: number): (typeof REASONS)[number] {
  return REASONS[outcome - READ.refused] ?? 'failed';
}

/** Numbers of one file in {@link ReadRequest.stats}: device, inode, size, mode, mtime and ctime in nanoseconds. */
export const STAT_FIELDS = 6;

export function encodeStat({ dev, ino, size, mode, mtimeNs, ctimeNs }: Fingerprint): bigint[] {
  return [dev, ino, BigInt(size), BigInt(mode), mtimeNs, ctimeNs];
}

function decodeStat(stats: BigInt64Array, file: number): Fingerprint {
  const at = (field: number): bigint => stats[file * STAT_FIELDS + field] ?? 0n;
  const [size, mode] = [Number(at(2)), Number(at(3))];
  // Inode numbers have 64 bits without a sign.
  return {
    kind: 'file',
    dev: at(0),
    ino: BigInt.asUintN(64, at(1)),
    size,
    mode,
    mtimeNs: at(4),
    ctimeNs: at(5),
  };
}

/** Reads and hashes what is asked for, each file through a handle on its directory. */
export function readFiles(root: Dir, request: ReadRequest): ReadResult {
  const { directories, names, bytes } = request;
  const result: ReadResult = {
    outcomes: new Uint8Array(names.length),
    digests: new Uint8Array(names.length * DIGEST_BYTES),
    content: new Uint8Array(bytes),
  };
  let file = 0;
  let offset = 0;
  for (const { path, dev, ino, files } of directories) {
    const dir = tryOpen(root, path, { dev, ino });
    try {
      for (const end = file + files; file < end; file++)
        offset += readOne(dir, request, file, offset, result);
    } finally {
      if (typeof dir !== 'number') dir.close();
    }
  }
  return result;
}

/** @returns the outcome for all files in it when it cannot be opened */
function tryOpen(root: Dir, path: RelPath, seen: { dev: bigint; ino: bigint }): Dir | number {
  try {
    return root.openBelow(path, seen);
  } catch (error) {
    return outcomeOf(error);
  }
}

/** @returns the bytes that the file takes in the content */
function readOne(
  dir: Dir | number,
  { names, stats }: ReadRequest,
  file: number,
  offset: number,
  result: ReadResult,
): number {
  const seen = decodeStat(stats, file);
  const name = names[file];
  if (name === undefined) return 0;
  const bytes = result.content.subarray(offset, offset + seen.size);
  result.outcomes[file] = typeof dir === 'number' ? dir : readInto(dir, name, seen, bytes);
  if (result.outcomes[file] === READ.done) {
    Buffer.from(result.digests.buffer).write(digestOf(bytes), file * DIGEST_BYTES, 'hex');
  }
  return seen.size;
}

function readInto(dir: Dir, name: Name, seen: Fingerprint, bytes: Uint8Array): number {
  try {
    readWhole(dir, name, seen, bytes);
    return READ.done;
  } catch (error) {
    return outcomeOf(error);
  }
}

function outcomeOf(error: unknown): number {
  if (error instanceof FileMoved || isMoved(error)) return READ.moved;
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  // Gone, or no directory any more.
  if (errno === 'ENOENT' || errno === 'ENOTDIR' || errno === 'ELOOP') return READ.moved;
  return READ.refused + reasonCode(reasonOf(errno));
}
