import { type Name, errnoOf, escapeText, fromBytes } from '../../core/index.ts';
import type { Dir, Stat } from '../../fs/index.ts';
import {
  changeLinkOwner,
  changeOwnerAndMode,
  createFile,
  link,
  makeDir,
  makeSymlink,
  removeDir,
  removeFile,
  rename,
  setModified,
  temporaryName,
} from '../../fs/write.ts';
import { isInState, type State } from '../../snapshot/index.ts';
import type { ObjectReader } from '../../store/index.ts';
import { Refusal } from './refusal.ts';

/**
 * Compare-and-swap of one name inside an anchored directory (design, section 10): the current entry is moved aside, what was moved is
 * compared with the expected state, the wanted entry is put in place by a call that fails if the name exists, and only then is the old one
 * dropped. On any mismatch the old one is put back. So what is destroyed was proven to be the expected state, in a race too.
 */
export interface Wanted {
  readonly state: State;
  /** Modification time to put back; microseconds at best. */
  readonly mtimeNs?: bigint;
}

const CHANGED = 'it was changed between the plan and its turn, and is as it was found';

/**
 * At most one of the two states is a directory.
 * @param expected absent: the name must not exist
 * @param wanted absent: the name goes
 * @param known `renamed`: the ctime of the entry is known to the caller as its own doing, and not compared
 */
export function swap(
  dir: Dir,
  name: Name,
  expected: State | undefined,
  wanted: Wanted | undefined,
  objects: ObjectReader,
  known: 'in-place' | 'renamed' = 'in-place',
): void {
  if (wanted === undefined) {
    if (expected?.kind === 'directory') removeDir(dir, checkedDirectory(dir, name, expected));
    else if (expected !== undefined) dropAside(dir, moveAside(dir, name, expected, known));
    return;
  }
  if (wanted.state.kind === 'directory') return swapForDirectory(dir, name, expected, known);
  const staged = stage(dir, wanted, objects);
  try {
    if (expected?.kind === 'directory') removeDir(dir, checkedDirectory(dir, name, expected));
    const aside =
      expected === undefined || expected.kind === 'directory'
        ? undefined
        : moveAside(dir, name, expected, known);
    place(dir, staged, name, aside);
    if (aside !== undefined) dropAside(dir, aside);
  } finally {
    removeFile(dir, staged);
  }
}

/** The new directory is open to us alone until its content is back; {@link finishDirectory} gives it its own mode. */
function swapForDirectory(
  dir: Dir,
  name: Name,
  expected: State | undefined,
  known: 'in-place' | 'renamed',
): void {
  const aside = expected === undefined ? undefined : moveAside(dir, name, expected, known);
  try {
    makeDir(dir, name, 0o700);
  } catch (error) {
    if (aside !== undefined) putBack(dir, aside, name);
    throw error;
  }
  if (aside !== undefined) dropAside(dir, aside);
}

/** Moves `name` to a temporary name and proves that what was moved is in the expected state; otherwise puts it back. */
function moveAside(dir: Dir, name: Name, expected: State, known: 'in-place' | 'renamed'): Name {
  // A rename moves the ctime, so a state that is known by its stat identity can be compared in full only before it.
  if (expected.content.is !== 'digest' && isInState(dir, name, expected, known) !== 'yes')
    throw new Refusal('changed-during', CHANGED);
  const aside = temporaryName();
  rename(dir, name, dir, aside);
  let state: ReturnType<typeof isInState>;
  try {
    state = isInState(dir, aside, expected, 'renamed');
  } catch (error) {
    putBack(dir, aside, name);
    throw error;
  }
  if (state === 'yes') return aside;
  putBack(dir, aside, name);
  throw new Refusal('changed-during', CHANGED);
}

/** Puts the staged entry under `name`, which must be free. */
function place(dir: Dir, staged: Name, name: Name, aside: Name | undefined): void {
  try {
    link(dir, staged, dir, name);
  } catch (error) {
    // EEXIST: somebody made the name again. Theirs stays; what was moved aside is the proven after-state, whose content this recover's own before-snapshot holds.
    if (aside !== undefined && errnoOf(error) === 'EEXIST') dropAside(dir, aside);
    else if (aside !== undefined) putBack(dir, aside, name);
    throw error;
  }
}

/** Gives an entry that was moved aside its name back, unless somebody has taken the name: then both stay, and the refusal says where. */
function putBack(dir: Dir, aside: Name, name: Name): void {
  try {
    if (dir.lstat(aside).kind === 'directory') {
      // mkdir fails if the name exists; renaming onto our own empty directory then replaces exactly that.
      makeDir(dir, name, 0o700);
      rename(dir, aside, dir, name);
    } else {
      putBackFile(dir, aside, name);
    }
  } catch (error) {
    throw new Refusal(
      'changed-during',
      `somebody made the name again while the old entry was moved aside; the old entry is kept beside it as ${escapeText(aside)} (${errnoOf(error) ?? 'unknown'})`,
    );
  }
}

function putBackFile(dir: Dir, aside: Name, name: Name): void {
  try {
    link(dir, aside, dir, name);
    removeFile(dir, aside);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw error;
    // No hard links on this file system, or not for a file of somebody else's: a file of our own takes the name, if it is free, and makes way.
    createFile(dir, name, 0o600).close();
    rename(dir, aside, dir, name);
  }
}

function dropAside(dir: Dir, aside: Name): void {
  removeFile(dir, aside);
}

/** Directories are never moved, not even for a moment: rmdir itself fails on one that is not empty. */
function checkedDirectory(dir: Dir, name: Name, expected: State): Name {
  if (isInState(dir, name, expected) !== 'yes')
    throw new Refusal('changed-during', 'its mode or owner was changed meanwhile');
  return name;
}

/** Writes the wanted file or symlink, complete and on the disk, under a temporary name beside its place. */
function stage(dir: Dir, wanted: Wanted, objects: ObjectReader): Name {
  const { state } = wanted;
  if (state.content.is !== 'digest') throw new Refusal('content-not-kept', 'its content was not kept');
  const staged = temporaryName();
  if (state.kind === 'symlink') stageSymlink(dir, staged, wanted, objects.get(state.content.digest));
  else if (state.kind === 'file') stageFile(dir, staged, wanted, objects);
  else throw new Refusal('unsupported-kind', `a ${state.kind} cannot be made again`);
  return staged;
}

function stageSymlink(dir: Dir, staged: Name, { state, mtimeNs }: Wanted, target: Buffer): void {
  makeSymlink(fromBytes(target), dir, staged);
  try {
    const made = dir.lstat(staged);
    if (made.uid !== state.uid || made.gid !== state.gid) changeLinkOwner(dir, staged, state.uid, state.gid);
    if (mtimeNs !== undefined) setModified(dir, staged, mtimeNs);
  } catch (error) {
    removeFile(dir, staged);
    throw error;
  }
}

function stageFile(dir: Dir, staged: Name, { state, mtimeNs }: Wanted, objects: ObjectReader): void {
  if (state.content.is !== 'digest') return;
  const file = createFile(dir, staged, 0o600);
  try {
    objects.stream(state.content.digest, (piece) => file.write(piece));
    const made = file.stat();
    if (made.uid !== state.uid || made.gid !== state.gid) file.chown(state.uid, state.gid);
    // After chown, which clears setuid and setgid.
    file.chmod(state.mode);
    if (mtimeNs !== undefined) file.setModified(mtimeNs);
    file.sync();
  } catch (error) {
    removeFile(dir, staged);
    throw error;
  } finally {
    file.close();
  }
}

/** Sets owner and permission bits of an entry whose content is right already. */
export function changeMetadata(dir: Dir, name: Name, expected: State, wanted: State): void {
  const seen: Stat = dir.lstat(name);
  if (isInState(dir, name, expected) !== 'yes') {
    // Another name of the same file may have had its turn.
    if (isInState(dir, name, wanted) === 'yes') return;
    throw new Refusal('changed-during', CHANGED);
  }
  changeOwnerAndMode(dir, name, seen, wanted);
}

/** Gives a directory that was made again its owner, mode and modification time, once everything in it is back. */
export function finishDirectory(dir: Dir, name: Name, wanted: Wanted): void {
  const seen = dir.lstat(name);
  if (seen.kind !== 'directory' || (seen.mode & 0o777) !== 0o700)
    throw new Refusal('changed-during', 'it is not the directory that was made any more');
  changeOwnerAndMode(dir, name, seen, wanted.state);
  if (wanted.mtimeNs !== undefined) setModified(dir, name, wanted.mtimeNs);
}
