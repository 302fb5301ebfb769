import { errnoOf, escapeText, type Name } from '../../core/index.ts';
import type { Dir, Stat } from '../../fs/index.ts';
import {
  changeOwnerAndMode,
  link,
  makeDir,
  removeDir,
  removeFile,
  removeQuietly,
  rename,
  setModified,
  temporaryName,
} from '../../fs/write.ts';
import { isInState, type State } from '../../snapshot/index.ts';
import { Refusal } from './refusal.ts';
import type { Staging, Wanted } from './staging.ts';

const CHANGED = 'it was changed between the plan and its turn, and is as it was found';

/** How one entry goes from one state to another. At most one of the two is a directory. */
export interface Swap {
  /** Absent: the name must not exist. */
  readonly expected: State | undefined;
  /** Absent: the name goes. */
  readonly wanted: Wanted | undefined;
  /** `renamed`: the ctime of the entry is known to the caller as its own doing, and not compared. */
  readonly known: 'in-place' | 'renamed';
}

/**
 * Compare-and-swap of one name inside an anchored directory (docs/recovery.md): the current entry is moved aside, what was moved is
 * compared with the expected state, the wanted entry is put in place by a call that fails if the name exists, and only then is the old one
 * dropped. On any mismatch the old one is put back. So what is destroyed was proven to be the expected state, in a race too.
 */
export function swap(dir: Dir, name: Name, { expected, wanted, known }: Swap, staging: Staging): void {
  if (wanted === undefined) {
    if (expected?.kind === 'directory') removeDir(dir, checkedDirectory(dir, name, expected));
    else if (expected !== undefined) removeFile(dir, moveAside(dir, name, expected, known));
    return;
  }
  if (wanted.state.kind === 'directory') return swapForDirectory(dir, name, expected, wanted.state, known);
  const staged = staging.take(dir, wanted);
  try {
    if (expected === undefined) return link(dir, staged, dir, name);
    staging.ensureLinks(dir, staged);
    if (expected.kind === 'directory') replaceDirectory(dir, name, expected, staged);
    else replaceEntry(dir, name, expected, known, { staged, isKept: staging.isKept(expected) });
  } finally {
    removeQuietly(dir, staged);
  }
}

/** @param next what is staged; `isKept`: the store has the content of what it replaces */
function replaceEntry(
  dir: Dir,
  name: Name,
  expected: State,
  known: Swap['known'],
  next: { readonly staged: Name; readonly isKept: boolean },
): void {
  const aside = moveAside(dir, name, expected, known);
  try {
    link(dir, next.staged, dir, name);
  } catch (error) {
    // EEXIST: somebody made the name again, and theirs stays. What the run left there is dropped only where the store has it.
    if (errnoOf(error) === 'EEXIST' && next.isKept) removeQuietly(dir, aside);
    else putBack(dir, aside, name);
    throw error;
  }
  removeQuietly(dir, aside);
}

/** A directory cannot be moved aside, so it is made again when what should replace it cannot be put in its place. */
function replaceDirectory(dir: Dir, name: Name, expected: State, staged: Name): void {
  removeDir(dir, checkedDirectory(dir, name, expected));
  try {
    link(dir, staged, dir, name);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') makeDirectory(dir, name, expected);
    throw error;
  }
}

/**
 * The new directory gets its owner and mode at once where that lets us work in it, so that one that a killed recover made is right already
 * for the next; otherwise {@link finishDirectory} gives them, when its content is back.
 */
function swapForDirectory(
  dir: Dir,
  name: Name,
  expected: State | undefined,
  wanted: State,
  known: 'in-place' | 'renamed',
): void {
  const aside = expected === undefined ? undefined : moveAside(dir, name, expected, known);
  try {
    makeDirectory(dir, name, wanted);
  } catch (error) {
    if (aside !== undefined) putBack(dir, aside, name);
    throw error;
  }
  if (aside !== undefined) removeFile(dir, aside);
}

function makeDirectory(dir: Dir, name: Name, wanted: State): void {
  makeDir(dir, name, 0o700);
  if ((wanted.mode & 0o700) !== 0o700) return;
  try {
    changeOwnerAndMode(dir, name, madeDirectory(dir, name, wanted), wanted);
  } catch (error) {
    removeDir(dir, name);
    throw error;
  }
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

/**
 * Gives an entry that was moved aside its name back by a call that fails if the name exists. When that cannot be done the entry stays aside, and
 * the refusal says where: nothing is ever put over a name that somebody else could have taken.
 */
function putBack(dir: Dir, aside: Name, name: Name): void {
  try {
    if (dir.lstat(aside).kind === 'directory') {
      // mkdir fails if the name exists; renaming onto our own empty directory then replaces exactly that.
      makeDir(dir, name, 0o700);
      rename(dir, aside, dir, name);
    } else {
      link(dir, aside, dir, name);
      removeFile(dir, aside);
    }
  } catch (error) {
    const why =
      errnoOf(error) === 'EEXIST'
        ? 'somebody made the name again'
        : `the system refused (${errnoOf(error) ?? 'unknown'})`;
    throw new Refusal(
      'changed-during',
      `the old entry was moved aside and could not get its name back: ${why}; it is kept beside it as ${escapeText(aside)}`,
    );
  }
}

/** Directories are never moved, not even for a moment: rmdir itself fails on one that is not empty. */
function checkedDirectory(dir: Dir, name: Name, expected: State): Name {
  if (isInState(dir, name, expected) !== 'yes')
    throw new Refusal('changed-during', 'its mode or owner was changed meanwhile');
  return name;
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
  changeOwnerAndMode(dir, name, madeDirectory(dir, name, wanted.state), wanted.state);
  if (wanted.mtimeNs !== undefined) setModified(dir, name, wanted.mtimeNs);
}

/** The directory as it was made, or with the mode that it was given; any other one is somebody else's. */
function madeDirectory(dir: Dir, name: Name, wanted: State): Stat {
  const seen = dir.lstat(name);
  const isOurs = (seen.mode & 0o777) === 0o700 || seen.mode === wanted.mode;
  if (seen.kind === 'directory' && isOurs) return seen;
  throw new Refusal('changed-during', 'it is not the directory that was made any more');
}
