import type { Digest, RelPath } from '../core/index.ts';
import type { EntryKind } from '../fs/index.ts';

/**
 * How closely an entry is looked at, from the closest to the least. At `structure` names that come, go or are renamed are seen, and an edit in
 * place of a file that was there is not. `none` is never chosen by a default and always disclosed.
 */
export type CaptureLevel = 'content' | 'digest' | 'stat' | 'structure' | 'none';

/** Why something in the workspace could not be observed, or not be read. */
export type UnobservedReason =
  /** The system refused (EACCES, EPERM). */
  | 'unreadable'
  /** It moved while it was read, twice. */
  | 'unstable'
  /** Another file system is mounted there. */
  | 'mount'
  /** It is the store itself. */
  | 'store'
  /** Nested deeper than the scan goes. */
  | 'too-deep'
  /** Capture level `none`. */
  | 'excluded'
  /** The system failed in another way (EIO and the like). */
  | 'failed';

/**
 * Device, inode, size, mtime and ctime of an entry in one text: `dev:ino:size:mtimeNs:ctimeNs`. Equal identities mean, as far as the
 * kernel tells, that nothing was written in between.
 */
export type StatIdentity = string & { readonly __statIdentity: unique symbol };

/** What is known of an entry's content. */
export type Content =
  /** file: SHA-256 of its bytes; symlink: of its target's bytes; directory: of its tree object */
  | { readonly is: 'digest'; readonly digest: Digest }
  /** a file that was not read (levels `stat`, or over a limit): compared by its stat identity */
  | { readonly is: 'identity'; readonly identity: StatIdentity }
  /** a file or directory that could not be observed; `identity` is absent where only the name may be known (mount, store, excluded) */
  | { readonly is: 'unknown'; readonly reason: UnobservedReason; readonly identity?: StatIdentity }
  /** a device node's number, `major:minor` */
  | { readonly is: 'device'; readonly number: string }
  /** fifo, socket */
  | { readonly is: 'nothing' };

/** What is compared of one entry. Times are never part of it. */
export interface State {
  readonly kind: EntryKind;
  /** Permission bits, `0..0o7777`. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** file: bytes; symlink: bytes of the target; everything else: 0 */
  readonly size: number;
  readonly content: Content;
}

/** What is told about an entry beside its state: for information, and to put modification times back. */
export interface Particulars {
  readonly mtimeNs: bigint;
  readonly nlink: number;
  /** `dev:ino`: entries with the same one are names of one file. */
  readonly inode: string;
}

/** One side of a change. */
export interface Observed {
  readonly state: State;
  readonly particulars?: Particulars;
}

/** Before-state and after-state of one path that differ; a side is absent when there was no such entry. Never both absent. */
export interface Change {
  readonly path: RelPath;
  readonly before?: Observed;
  readonly after?: Observed;
}

/** A place where less than the rule's normal level was kept, by rule or by limit. */
export interface Lowering {
  readonly path: RelPath;
  readonly level: CaptureLevel;
  /** The rule or limit that did it, e.g. `regenerable: node_modules`, `limit: file over 64 MiB`. */
  readonly rule: string;
  /** Files and bytes concerned (a directory counts all below it). */
  readonly files: number;
  readonly bytes: number;
}

export interface Unobserved {
  readonly path: RelPath;
  readonly reason: UnobservedReason;
}

/** A workspace at one moment: the digest of its root tree object, the root's own metadata, and what could not be observed. */
export interface Snapshot {
  readonly tree: Digest;
  /** The root directory itself; its content is `tree`. */
  readonly root: Observed;
  readonly entries: number;
  readonly files: number;
  /** Sum of the sizes of all files seen. */
  readonly bytes: number;
  readonly unobserved: readonly Unobserved[];
  readonly lowered: readonly Lowering[];
  /** Symlinks whose target, as it is written, lies outside the root. What is behind a link is never observed. */
  readonly outward: readonly RelPath[];
}
