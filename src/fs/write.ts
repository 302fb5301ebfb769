/**
 * Changing the file system: always one name inside an open {@link Dir}, never a path. `verify` must not be able to reach this file.
 * All calls throw the system's error.
 */
import * as fs from 'node:fs';
import { posix } from 'node:path';
import { type ByteString, errnoOf, fromBytes, isMarked, isName, type Name, toBytes } from '../core/index.ts';
import { Dir, FileMoved, OpenFile, toPath } from './dir.ts';
import { isSameInode, type Stat } from './stat.ts';
import { temporaryName } from './temporary.ts';

export { temporaryName } from './temporary.ts';

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
const SLASH = 0x2f;

/** A file being written. */
export class NewFile extends OpenFile {
  /** Appends all of `bytes`. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.fd, bytes, done);
  }

  /** Has the system begin to write out what is there, while we go on: {@link sync} waits less then. Promises nothing. */
  beginSync(): void {
    fs.fdatasync(this.fd, () => undefined);
  }

  chmod(mode: number): void {
    fs.fchmodSync(this.fd, mode);
  }

  chown(uid: number, gid: number): void {
    fs.fchownSync(this.fd, uid, gid);
  }

  /** Sets modification time (and access time, to the same). Node passes seconds as a double: microseconds at best. */
  setModified(mtimeNs: bigint): void {
    const seconds = secondsOf(mtimeNs);
    fs.futimesSync(this.fd, seconds, seconds);
  }

  /** Content and metadata are on the disk when this returns. */
  sync(): void {
    fs.fsyncSync(this.fd);
  }
}

/** Creates a file that must not exist. */
export function createFile(dir: Dir, name: Name, mode: number): NewFile {
  dir.verify();
  return new NewFile(fs.openSync(dir.at(name), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
}

/**
 * Puts a whole file under `name`, replacing what is there, so that after a crash it is the old or the new one, and on the disk when this returns.
 */
export function writeFileDurably(dir: Dir, name: Name, bytes: Uint8Array | string, mode = 0o600): void {
  const temporary = temporaryName();
  const file = createFile(dir, temporary, mode);
  try {
    try {
      file.write(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
      file.sync();
    } finally {
      file.close();
    }
    rename(dir, temporary, dir, name);
  } catch (error) {
    removeQuietly(dir, temporary);
    throw error;
  }
  syncDir(dir);
}

/** A file's content and metadata are on the disk when this returns. */
export function syncFile(dir: Dir, name: Name): void {
  const file = dir.openFile(name);
  try {
    fs.fsyncSync(file.fd);
  } finally {
    file.close();
  }
}

/** The entries of a directory (its names) are on the disk when this returns. */
export function syncDir(dir: Dir): void {
  try {
    fs.fsyncSync(dir.fd);
  } catch (error) {
    // Some file systems cannot sync a directory and say so; every other failure counts.
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(errnoOf(error) ?? '')) throw error;
  }
}

export function makeDir(dir: Dir, name: Name, mode: number): void {
  dir.verify();
  fs.mkdirSync(dir.at(name), mode);
}

/** The subdirectory, made if need be. */
export function ensureDir(dir: Dir, name: Name, mode = 0o700): Dir {
  try {
    makeDir(dir, name, mode);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
  return dir.openDir(name);
}

/**
 * Makes an absolute path of directories, for the store's own place only, and opens it. What was made is on the disk when this returns.
 * One name after the other, because Node's recursive mkdir never ends where a file system says ENOENT to a new name (`/proc`).
 */
export function ensurePath(path: ByteString, mode = 0o700): Dir {
  const { existing, missing } = splitExisting(toBytes(isMarked(path) ? path : posix.normalize(path)));
  let dir = existing;
  for (const name of missing) {
    const parent = dir;
    try {
      dir = ensureDir(parent, name, mode);
      syncDir(parent);
    } finally {
      parent.close();
    }
  }
  return dir;
}

/** The deepest directory of an absolute path that is there, open, and the names below it that are not. */
function splitExisting(path: Buffer): { existing: Dir; missing: Name[] } {
  const missing: Name[] = [];
  for (let bytes = path; ; ) {
    try {
      return { existing: Dir.open(fromBytes(bytes)), missing };
    } catch (error) {
      const slash = bytes.lastIndexOf(SLASH);
      const name = fromBytes(bytes.subarray(slash + 1));
      if (errnoOf(error) !== 'ENOENT' || slash < 0) throw error;
      // Behind a trailing slash there is no name; `..` behind a missing one leads nowhere.
      if (isName(name)) missing.unshift(name);
      else if (name !== '') throw error;
      bytes = bytes.subarray(0, Math.max(slash, bytes.length > 1 ? 1 : 0));
    }
  }
}

/** Replaces `newName` if it exists; see {@link link} for the form that does not. */
export function rename(oldDir: Dir, oldName: Name, newDir: Dir, newName: Name): void {
  oldDir.verify();
  newDir.verify();
  fs.renameSync(oldDir.at(oldName), newDir.at(newName));
}

/** Gives a file or a symlink a second name; EEXIST when somebody has that name. */
export function link(oldDir: Dir, oldName: Name, newDir: Dir, newName: Name): void {
  oldDir.verify();
  newDir.verify();
  fs.linkSync(oldDir.at(oldName), newDir.at(newName));
}

/** EEXIST when somebody has that name. */
export function makeSymlink(target: ByteString, dir: Dir, name: Name): void {
  dir.verify();
  fs.symlinkSync(toPath(target), dir.at(name));
}

/** Removes one name that is not a directory. */
export function removeFile(dir: Dir, name: Name): void {
  dir.verify();
  fs.unlinkSync(dir.at(name));
}

/** As {@link removeFile}, for what is ours and left over: a failure that led here counts more than one of this. */
export function removeQuietly(dir: Dir, name: Name): void {
  try {
    removeFile(dir, name);
  } catch {
    // It keeps its temporary name, which says whose it is.
  }
}

/** Removes an empty directory; ENOTEMPTY when it is not. */
export function removeDir(dir: Dir, name: Name): void {
  dir.verify();
  fs.rmdirSync(dir.at(name));
}

/** Removes a whole tree below `name` without following a link; for the store's own leftovers, never for a workspace. */
export function removeTree(dir: Dir, name: Name): void {
  const seen = dir.tryLstat(name);
  if (seen === undefined) return;
  if (seen.kind !== 'directory') return removeFile(dir, name);
  const child = dir.openDir(name);
  try {
    for (const inner of child.names()) removeTree(child, inner);
  } finally {
    child.close();
  }
  removeDir(dir, name);
}

/**
 * Sets owner and permission bits of the very entry that `seen` describes, never of a link's target: the entry is opened as itself and compared
 * first. A symlink has an owner only.
 * @throws FileMoved when another entry has the name by now, or the file got a further name
 */
export function changeOwnerAndMode(
  dir: Dir,
  name: Name,
  seen: Stat,
  wanted: { readonly mode: number; readonly uid: number; readonly gid: number },
): void {
  const entry = dir.openEntry(name);
  try {
    const now = entry.stat();
    if (!isSameInode(now, seen) || (seen.kind === 'file' && now.nlink !== seen.nlink)) throw new FileMoved();
    const isOwned = seen.uid === wanted.uid && seen.gid === wanted.gid;
    if (seen.kind === 'symlink') {
      if (!isOwned) changeLinkOwner(dir, name, wanted.uid, wanted.gid);
      return;
    }
    // A handle opened with O_PATH takes no fchmod; its /proc name leads to the very inode.
    const path = dir.anchoring === 'handle' ? `/proc/self/fd/${entry.fd}` : undefined;
    if (!isOwned) {
      if (path === undefined) fs.fchownSync(entry.fd, wanted.uid, wanted.gid);
      else fs.chownSync(path, wanted.uid, wanted.gid);
    }
    // After chown, which clears setuid and setgid.
    if (path === undefined) fs.fchmodSync(entry.fd, wanted.mode);
    else fs.chmodSync(path, wanted.mode);
  } finally {
    entry.close();
  }
}

/** Sets the owner of a symlink itself. */
export function changeLinkOwner(dir: Dir, name: Name, uid: number, gid: number): void {
  dir.verify();
  fs.lchownSync(dir.at(name), uid, gid);
}

/** Sets owner and permission bits of the directory itself. */
export function changeDirMetadata(
  dir: Dir,
  wanted: { readonly mode: number; readonly uid: number; readonly gid: number },
): void {
  const now = dir.stat();
  if (now.uid !== wanted.uid || now.gid !== wanted.gid) fs.fchownSync(dir.fd, wanted.uid, wanted.gid);
  fs.fchmodSync(dir.fd, wanted.mode);
}

/** Sets the modification time of an entry, a link's own included. Microseconds at best. */
export function setModified(dir: Dir, name: Name, mtimeNs: bigint): void {
  dir.verify();
  const seconds = secondsOf(mtimeNs);
  fs.lutimesSync(dir.at(name), seconds, seconds);
}

/** As text, because Node takes a negative number (a time before 1970) for "now". */
function secondsOf(timeNs: bigint): string {
  return String(Number(timeNs) / 1e9);
}

/**
 * Clones a file's content into a new file of the given mode where the file system can (no bytes are copied), else fails. Linux only.
 * @throws ENOTSUP, EXDEV and the like where it cannot
 */
export function cloneFile(source: OpenFile, dir: Dir, name: Name, mode: number): void {
  dir.verify();
  fs.copyFileSync(
    `/proc/self/fd/${source.fd}`,
    dir.at(name),
    fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE_FORCE,
  );
  // It has got the source's mode, which may not let us read it.
  fs.chmodSync(dir.at(name), mode);
}
