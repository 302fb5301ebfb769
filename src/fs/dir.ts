import * as fs from 'node:fs';
import {
  AgentdiffError,
  type ByteString,
  compareBytes,
  errnoOf,
  fromBytes,
  invariant,
  isMarked,
  type Name,
  namesOf,
  type RelPath,
  toBytes,
} from '../core/index.ts';
import { type Fingerprint, isSameInode, isUnmoved, type Stat, toStat } from './stat.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/** Linux's O_PATH, which Node does not name: a handle on an entry itself, also on one that may not be read. */
const O_PATH = 0o10000000;

/** What `st_blocks` counts, bytes. */
const BLOCK = 512;

/**
 * How names are resolved. `handle`: relative to an open directory (`/proc/self/fd/N/name` is what `openat` does), so nobody can swap a
 * parent under us. `path`: by joined path with identity checks before and after, which leaves a window; for systems without such a /proc.
 */
export type Anchoring = 'handle' | 'path';

/**
 * A handle on one open directory, for reading. It never follows a link and never takes a path, only a {@link Name}.
 * The functions that change something through a Dir are in `write.ts`.
 *
 * Its calls throw the system's error (`errnoOf` gives the code), or ROOT_REPLACED when, with `path` anchoring, the directory is no longer the one opened.
 */
export class Dir {
  readonly anchoring: Anchoring;
  readonly #fd: number;
  readonly #path: string | Buffer;
  readonly #identity: Stat;
  #closed = false;

  private constructor(fd: number, path: string | Buffer, anchoring: Anchoring) {
    this.#fd = fd;
    this.anchoring = anchoring;
    this.#path = anchoring === 'handle' ? `/proc/self/fd/${fd}` : path;
    this.#identity = toStat(fs.fstatSync(fd, { bigint: true }));
  }

  /**
   * Opens the directory that an absolute path names. Links in this path are followed: it is the user's own word.
   * @throws the system's error, ENOTDIR included
   */
  static open(path: ByteString, anchoring: Anchoring = defaultAnchoring()): Dir {
    // With `path` anchoring the path is looked at again and again without following, so the links go first.
    const raw = toPath(
      anchoring === 'handle' ? path : fromBytes(fs.realpathSync.native(toPath(path), { encoding: 'buffer' })),
    );
    return new Dir(fs.openSync(raw, O_RDONLY | O_DIRECTORY), raw, anchoring);
  }

  /** Opens a subdirectory; a link there is ELOOP or ENOTDIR. */
  openDir(name: Name): Dir {
    const path = this.at(name);
    this.verify();
    const fd = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const dir = new Dir(fd, path, this.anchoring);
    return this.#checked(dir, () => dir.close());
  }

  /**
   * Opens the directory at `path` below this one, in as few steps as the length of a path allows. Links on the way could be followed, so what
   * was opened must be the very directory that was seen before.
   * @throws FileMoved when it is another one, or the system's error
   */
  openBelow(path: RelPath, seen: Pick<Stat, 'dev' | 'ino'>): Dir {
    const names = namesOf(path);
    let dir: Dir | undefined;
    try {
      while (names.length > 0) {
        const next = (dir ?? this).#openSteps(stepsOf(names));
        dir?.close();
        dir = next;
      }
      dir ??= this.reopen();
      if (isSameInode(dir.#identity, seen)) return dir;
      throw new FileMoved();
    } catch (error) {
      dir?.close();
      throw error;
    }
  }

  #openSteps(path: Buffer): Dir {
    this.verify();
    const at = Buffer.concat([Buffer.from(this.#path), Buffer.from('/'), path]);
    const dir = new Dir(fs.openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), at, this.anchoring);
    return this.#checked(dir, () => dir.close());
  }

  /** Another handle on the same directory, to be closed on its own. */
  reopen(): Dir {
    this.verify();
    const dir = new Dir(fs.openSync(this.#path, O_RDONLY | O_DIRECTORY), this.#path, this.anchoring);
    return this.#checked(dir, () => dir.close());
  }

  /** The directory's own state, through the handle. */
  stat(): Stat {
    return toStat(fs.fstatSync(this.#fd, { bigint: true }));
  }

  /** All names, in byte order. */
  names(): Name[] {
    this.verify();
    let names: string[] = fs.readdirSync(this.#path);
    // Node decodes what is not UTF-8 to U+FFFD; only then are the bytes read again.
    if (names.some((name) => name.includes('\ufffd'))) {
      names = fs.readdirSync(this.#path, { encoding: 'buffer' }).map(fromBytes);
    }
    this.verify();
    return names.sort(compareBytes) as Name[];
  }

  lstat(name: Name): Stat {
    this.verify();
    return toStat(fs.lstatSync(this.at(name), { bigint: true }));
  }

  /** As {@link lstat}; undefined when there is no such entry. */
  tryLstat(name: Name): Stat | undefined {
    this.verify();
    const raw = fs.lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false });
    return raw === undefined ? undefined : toStat(raw);
  }

  /** Bytes of an entry by its length, and by the blocks that it takes on the disk. */
  size(name: Name): { readonly bytes: number; readonly allocated: number } {
    this.verify();
    const { size, blocks } = fs.lstatSync(this.at(name));
    return { bytes: size, allocated: blocks * BLOCK };
  }

  readlink(name: Name): ByteString {
    this.verify();
    return fromBytes(fs.readlinkSync(this.at(name), { encoding: 'buffer' }));
  }

  /** Opens a file for reading. A link is ELOOP; a FIFO does not block. The caller compares the kind. */
  openFile(name: Name): OpenFile {
    this.verify();
    const file = new OpenFile(fs.openSync(this.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    return this.#checked(file, () => file.close());
  }

  /** A handle on the entry itself, whatever its kind and even if it may not be read (Linux only); for `write.ts`. */
  openEntry(name: Name): OpenFile {
    this.verify();
    const flags = this.anchoring === 'handle' ? O_PATH | O_NOFOLLOW : O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    return new OpenFile(fs.openSync(this.at(name), flags));
  }

  /** The path that reaches `name` through this handle; only for the system calls of this module. */
  at(name: Name): string | Buffer {
    if (typeof this.#path === 'string' && !isMarked(name)) return `${this.#path}/${name}`;
    return Buffer.concat([Buffer.from(this.#path), Buffer.from('/'), toBytes(name)]);
  }

  /** Device and inode of the directory that was opened. */
  get identity(): Pick<Stat, 'dev' | 'ino'> {
    return this.#identity;
  }

  /** A path by which another thread of this process can open the directory, while this handle is open. */
  get place(): ByteString {
    return typeof this.#path === 'string' ? this.#path : fromBytes(this.#path);
  }

  /** The directory's descriptor; only for the system calls of this module. */
  get fd(): number {
    return this.#fd;
  }

  /** The handle must be open; with `path` anchoring the path must still lead to the directory that was opened. */
  verify(): void {
    // The number of a closed descriptor may be another directory's by now.
    invariant(!this.#closed, 'a directory is not used after it was closed');
    if (this.anchoring === 'handle') return;
    const now = fs.lstatSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (now !== undefined && isSameInode(now, this.#identity)) return;
    throw new AgentdiffError('ROOT_REPLACED', 'a directory was replaced while it was being used');
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    fs.closeSync(this.#fd);
  }

  #checked<T>(opened: T, undo: () => void): T {
    try {
      this.verify();
      return opened;
    } catch (error) {
      undo();
      throw error;
    }
  }
}

/** An open file. Its state and bytes come from the handle, never again from the name. */
export class OpenFile {
  readonly fd: number;
  #closed = false;

  constructor(fd: number) {
    this.fd = fd;
  }

  stat(): Stat {
    return toStat(fs.fstatSync(this.fd, { bigint: true }));
  }

  /** Reads into `buffer` from `position`; the number of bytes read, 0 at the end. */
  read(buffer: Uint8Array, position: number): number {
    return fs.readSync(this.fd, buffer, 0, buffer.length, position);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    fs.closeSync(this.fd);
  }
}

/** `handle` where `/proc/self/fd` resolves names (Linux), else `path`. */
export function defaultAnchoring(): Anchoring {
  return process.platform === 'linux' ? 'handle' : 'path';
}

/** A byte string as Node's calls take it. */
export function toPath(path: ByteString): string | Buffer {
  return isMarked(path) ? toBytes(path) : path;
}

/** Linux refuses longer paths (PATH_MAX is 4096); this leaves room for the way to the handle. */
const MAX_STEPS_BYTES = 3500;

/** Takes as many names off the front as one call can be given. */
function stepsOf(names: Name[]): Buffer {
  let path = toBytes(names.shift() ?? ('.' as Name));
  for (let next = names[0]; next !== undefined; next = names[0]) {
    const longer = Buffer.concat([path, Buffer.from('/'), toBytes(next)]);
    if (longer.length > MAX_STEPS_BYTES) break;
    path = longer;
    names.shift();
  }
  return path;
}

/**
 * What lstat says of a path, in the numbers that cost least (milliseconds as floating point); undefined for every error. For comparing a
 * large tree with what is known of it: no link is followed at the end of the path, but on the way one could be, so it tells only that an
 * entry is the very one that is known.
 */
export function quickLook(path: string | Buffer): fs.Stats | undefined {
  try {
    return fs.lstatSync(path, QUICK);
  } catch {
    return undefined;
  }
}

const QUICK = { throwIfNoEntry: false } as const;

/** Thrown by {@link readFile} when the file is not the one seen, or moved while it was read. */
export class FileMoved extends Error {}

/** Thrown by {@link readSmallFile} before anything is read. */
export class FileTooLong extends Error {}

const CHUNK = 1 << 20;

/**
 * Reads a whole regular file piece by piece: opens it without following, compares it with what lstat saw, hands every piece to `sink`,
 * and compares again, so that the bytes are those of one state.
 * @param buffer scratch space, reused between calls by callers that read many files
 * @throws FileMoved, or the system's error
 */
export function readFile(
  dir: Dir,
  name: Name,
  seen: Fingerprint,
  sink: (piece: Uint8Array) => void,
  buffer: Uint8Array = new Uint8Array(Math.min(CHUNK, Math.max(seen.size, 1))),
): void {
  const file = openSeen(dir, name, seen);
  try {
    let position = 0;
    while (position < seen.size) {
      const length = file.read(buffer.subarray(0, Math.min(buffer.length, seen.size - position)), position);
      if (length === 0) throw new FileMoved();
      sink(buffer.subarray(0, length));
      position += length;
    }
    if (!isUnmoved(file.stat(), seen)) throw new FileMoved();
  } finally {
    file.close();
  }
}

/** Opens `name` and makes sure it is the very file that `seen` describes. */
export function openSeen(dir: Dir, name: Name, seen: Fingerprint): OpenFile {
  let file: OpenFile;
  try {
    file = dir.openFile(name);
  } catch (error) {
    // Gone, or a link, a socket or a device by now.
    if (['ENOENT', 'ELOOP', 'ENXIO', 'ENODEV'].includes(errnoOf(error) ?? '')) throw new FileMoved();
    throw error;
  }
  if (isUnmoved(file.stat(), seen)) return file;
  file.close();
  throw new FileMoved();
}

/**
 * A whole small file of ours, or of a capsule.
 * @param maxBytes a longer file is refused before it is read
 * @param allocate makes the memory for that many bytes
 * @throws FileTooLong, FileMoved when it is no regular file, or the system's error
 */
export function readSmallFile(
  dir: Dir,
  name: Name,
  maxBytes: number,
  allocate: (length: number) => Buffer = (length) => Buffer.allocUnsafe(length),
): Buffer {
  const seen = dir.lstat(name);
  if (seen.kind !== 'file') throw new FileMoved();
  if (seen.size > maxBytes) throw new FileTooLong();
  const bytes = allocate(seen.size);
  readWhole(dir, name, seen, bytes);
  return bytes;
}

/**
 * As {@link readFile}, into memory of the file's size.
 * @throws FileMoved, or the system's error
 */
export function readWhole(dir: Dir, name: Name, seen: Fingerprint, bytes: Uint8Array): void {
  const file = openSeen(dir, name, seen);
  try {
    for (let filled = 0; filled < bytes.length; ) {
      const length = file.read(bytes.subarray(filled), filled);
      if (length === 0) throw new FileMoved();
      filled += length;
    }
    if (!isUnmoved(file.stat(), seen)) throw new FileMoved();
  } finally {
    file.close();
  }
}
