/**
 * Changing the file system: always one name inside an open {@link Dir}, never a path. `verify` must not be able to reach this file.
 * All calls throw the system's error.
 */
import * as fs from 'node:fs';
import { type ByteString, errnoOf, type Name, randomHex } from '../core/index.ts';
import { Dir, FileMoved, OpenFile, toPath } from './dir.ts';
import { isSameInode, type Stat } from './stat.ts';

const { O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_APPEND } = fs.constants;

/** A file being written. */
export class NewFile extends OpenFile {
  /** Appends all of `bytes`. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.fd, bytes, done);
  }

  chmod(mode: number): void {
    fs.fchmodSync(this.fd, mode);
  }

  chown(uid: number, gid: number): void {
    fs.fchownSync(this.fd, uid, gid);
  }

  /** Sets modification time (and access time, to the same). Node passes seconds as a double: microseconds at best. */
  setModified(mtimeNs: bigint): void {
    const seconds = Number(mtimeNs) / 1e9;
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

/** Opens a file for appending, created if need be. */
export function appendFile(dir: Dir, name: Name, mode: number): NewFile {
  dir.verify();
  return new NewFile(fs.openSync(dir.at(name), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode));
}

const TEMPORARY_PREFIX = '.agentdiff-tmp-';

/** A name for something of ours beside an entry; short, because the entry's own name may already be 255 bytes long. */
export function temporaryName(): Name {
  return `${TEMPORARY_PREFIX}${randomHex(8)}` as Name;
}

/**
 * Puts a whole file under `name`, replacing what is there, so that after a crash it is the old or the new one, and on the disk when this returns.
 */
export function writeFileDurably(dir: Dir, name: Name, bytes: Uint8Array | string, mode = 0o600): void {
  const temporary = temporaryName();
  const file = createFile(dir, temporary, mode);
  try {
    file.write(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
    file.sync();
  } catch (error) {
    file.close();
    removeFile(dir, temporary);
    throw error;
  }
  file.close();
  rename(dir, temporary, dir, name);
  syncDir(dir);
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

/** Makes an absolute path of directories, for the store's own place only, and opens it. */
export function ensurePath(path: ByteString, mode = 0o700): Dir {
  fs.mkdirSync(toPath(path), { recursive: true, mode });
  return Dir.open(path);
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
 * Sets permission bits of the very entry that `seen` describes, never of a link's target: the entry is opened as itself and compared first.
 * @throws FileMoved when another entry has the name by now
 */
export function changeMode(dir: Dir, name: Name, seen: Stat, mode: number): void {
  const entry = dir.openEntry(name);
  try {
    if (!isSameInode(entry.stat(), seen)) throw new FileMoved();
    if (dir.anchoring === 'handle') fs.chmodSync(`/proc/self/fd/${entry.fd}`, mode);
    else fs.fchmodSync(entry.fd, mode);
  } finally {
    entry.close();
  }
}

/** Sets permission bits of the directory itself. */
export function changeDirMode(dir: Dir, mode: number): void {
  fs.fchmodSync(dir.fd, mode);
}

/** Sets the modification time of an entry, a link's own included. Microseconds at best. */
export function setModified(dir: Dir, name: Name, mtimeNs: bigint): void {
  dir.verify();
  const seconds = Number(mtimeNs) / 1e9;
  fs.lutimesSync(dir.at(name), seconds, seconds);
}

/**
 * Clones a file's content into a new file where the file system can (no bytes are copied), else fails.
 * @throws ENOTSUP, EXDEV and the like where it cannot
 */
export function cloneFile(source: OpenFile, dir: Dir, name: Name): void {
  dir.verify();
  fs.copyFileSync(`/proc/self/fd/${source.fd}`, dir.at(name), fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE_FORCE);
}
