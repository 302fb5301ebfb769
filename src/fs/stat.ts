import type { BigIntStats } from 'node:fs';
import { constants } from 'node:fs';
import { invariant } from '../core/index.ts';

export type EntryKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'fifo'
  | 'socket'
  | 'character-device'
  | 'block-device';

/** What lstat says of one entry. Times are nanoseconds since the epoch. */
export interface Stat {
  readonly kind: EntryKind;
  /** Permission bits with setuid, setgid and sticky: `mode & 07777`. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Bytes. */
  readonly size: number;
  readonly nlink: number;
  readonly dev: bigint;
  readonly ino: bigint;
  /** Device number of a device node; 0n for every other kind. */
  readonly rdev: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  /** When the inode was made, which tells it from a later one with its number; absent where the file system does not know. */
  readonly bornNs?: bigint;
}

const KINDS: ReadonlyMap<number, EntryKind> = new Map<number, EntryKind>([
  [constants.S_IFREG, 'file'],
  [constants.S_IFDIR, 'directory'],
  [constants.S_IFLNK, 'symlink'],
  [constants.S_IFIFO, 'fifo'],
  [constants.S_IFSOCK, 'socket'],
  [constants.S_IFCHR, 'character-device'],
  [constants.S_IFBLK, 'block-device'],
]);

/** The kind that `st_mode` tells. */
export function kindOfMode(mode: number): EntryKind {
  const type = mode & constants.S_IFMT;
  // Asked for every entry, and nearly always one of these.
  if (type === constants.S_IFREG) return 'file';
  if (type === constants.S_IFDIR) return 'directory';
  const kind = KINDS.get(type);
  invariant(kind !== undefined, `unknown file type ${mode.toString(8)}`);
  return kind;
}

const TYPES: ReadonlyMap<EntryKind, number> = new Map([...KINDS].map(([type, kind]) => [kind, type]));

/** `st_mode` again: permission bits with the kind. */
export function modeWithKind({ kind, mode }: Pick<Stat, 'kind' | 'mode'>): number {
  return (TYPES.get(kind) ?? 0) | mode;
}

export function toStat(raw: BigIntStats): Stat {
  const mode = Number(raw.mode);
  const kind = kindOfMode(mode);
  const isDevice = kind === 'character-device' || kind === 'block-device';
  return {
    kind,
    mode: mode & 0o7777,
    uid: Number(raw.uid),
    gid: Number(raw.gid),
    size: Number(raw.size),
    nlink: Number(raw.nlink),
    dev: raw.dev,
    ino: raw.ino,
    rdev: isDevice ? raw.rdev : 0n,
    mtimeNs: raw.mtimeNs,
    ctimeNs: raw.ctimeNs,
    // Where the system does not tell, 0 or the ctime stands in its place.
    ...(raw.birthtimeNs > 0n && raw.birthtimeNs < raw.ctimeNs && { bornNs: raw.birthtimeNs }),
  };
}

/** Same inode of the same device: the same object, whatever its name. */
export function isSameInode(a: Pick<Stat, 'dev' | 'ino'>, b: Pick<Stat, 'dev' | 'ino'>): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** What tells one state of an object from the next. */
export type Fingerprint = Pick<Stat, 'dev' | 'ino' | 'kind' | 'size' | 'mode' | 'mtimeNs' | 'ctimeNs'>;

/** Nothing about the object moved between the two looks, as far as the kernel records it. */
export function isUnmoved(a: Fingerprint, b: Fingerprint): boolean {
  return (
    isSameInode(a, b) &&
    a.kind === b.kind &&
    a.size === b.size &&
    a.mode === b.mode &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs
  );
}
