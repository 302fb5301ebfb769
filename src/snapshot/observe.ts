import {
  type Digest,
  digestOf,
  errnoOf,
  Hasher,
  invariant,
  joinPath,
  type Name,
  namesOf,
  type RelPath,
  ROOT_PATH,
  toBytes,
} from '../core/index.ts';
import { type Dir, FileMoved, readFile, type Stat } from '../fs/index.ts';
import { deviceNumber, hasSameMetadata, identityOf } from './stat-state.ts';
import type { State, StatIdentity } from './state.ts';

/** What stands at a path. `parent` is a handle of its own, to be closed by the caller. */
export type Place =
  | { readonly found: 'entry'; readonly parent: Dir; readonly name: Name; readonly stat: Stat }
  | { readonly found: 'absent'; readonly parent: Dir; readonly name: Name }
  /** The way to the path ends at `at`, which is above it, or the path itself when its parent may not be searched. */
  | {
      readonly found: 'blocked';
      readonly at: RelPath;
      readonly why: 'link' | 'not-directory' | 'unreadable' | 'missing';
    };

/**
 * Walks from the root to one path, name by name, following no link.
 * @param path not the root itself
 * @throws the system's error when it is none of those that {@link Place} has a word for
 */
export function observe(root: Dir, path: RelPath): Place {
  const names = namesOf(path);
  const name = names.pop();
  invariant(name !== undefined, 'the root is not observed by its path');
  let parent = root.reopen();
  try {
    let at = ROOT_PATH;
    for (const step of names) {
      at = joinPath(at, step);
      const next = openStep(parent, step);
      if (typeof next === 'string') {
        parent.close();
        return { found: 'blocked', at, why: next };
      }
      parent.close();
      parent = next;
    }
    const stat = parent.tryLstat(name);
    return stat === undefined ? { found: 'absent', parent, name } : { found: 'entry', parent, name, stat };
  } catch (error) {
    parent.close();
    if (isRefused(error)) return { found: 'blocked', at: path, why: 'unreadable' };
    throw error;
  }
}

type Obstacle = 'link' | 'not-directory' | 'unreadable' | 'missing';

function openStep(parent: Dir, name: Name): Dir | Obstacle {
  try {
    return parent.openDir(name);
  } catch (error) {
    if (isRefused(error)) return 'unreadable';
    const errno = errnoOf(error);
    if (errno === 'ENOENT') return 'missing';
    if (errno !== 'ENOTDIR' && errno !== 'ELOOP') throw error;
    return parent.tryLstat(name)?.kind === 'symlink' ? 'link' : 'not-directory';
  }
}

/**
 * Whether an entry is in a state: `yes` only when everything that the state says was compared and is so.
 * `unreadable`: its content may not be read. `unknown`: the state itself does not say what the content was.
 */
export type InState = 'yes' | 'no' | 'absent' | 'unreadable' | 'unknown';

/**
 * Compares one entry with a state: kind, permission bits, owners, size, and content (a file is read and hashed, a link's target is read).
 * Of a directory that was listed only its own metadata is compared: its entries have states of their own.
 * @param renamed the entry has been renamed since its state was recorded, by the caller, who compared it before; a rename moves the ctime,
 * so stat identities are compared without it
 */
export function isInState(
  dir: Dir,
  name: Name,
  expected: State,
  renamed: 'in-place' | 'renamed' = 'in-place',
): InState {
  try {
    const stat = dir.tryLstat(name);
    if (stat === undefined) return 'absent';
    if (!hasSameMetadata(stat, expected)) return 'no';
    return compareContent(dir, name, stat, expected, renamed === 'renamed');
  } catch (error) {
    if (isRefused(error)) return 'unreadable';
    // Replaced or removed while it was compared.
    if (error instanceof FileMoved || ['ENOENT', 'EINVAL'].includes(errnoOf(error) ?? '')) return 'no';
    throw error;
  }
}

/** As {@link isInState}, for the root: its own metadata. */
export function isRootInState(root: Dir, expected: State): boolean {
  return hasSameMetadata(root.stat(), expected);
}

function compareContent(dir: Dir, name: Name, stat: Stat, expected: State, isRenamed: boolean): InState {
  const { content } = expected;
  switch (content.is) {
    case 'unknown':
      if (content.identity === undefined) return 'unknown';
      return yesOrNo(isSameIdentity(identityOf(stat), content.identity, isRenamed));
    case 'identity':
      return yesOrNo(isSameIdentity(identityOf(stat), content.identity, isRenamed));
    case 'device':
      return yesOrNo(deviceNumber(stat.rdev) === content.number);
    case 'nothing':
      return 'yes';
    case 'digest':
      return yesOrNo(hasDigest(dir, name, stat, expected, content.digest));
  }
}

function hasDigest(dir: Dir, name: Name, stat: Stat, expected: State, digest: Digest): boolean {
  if (stat.kind === 'directory') return true;
  if (stat.kind === 'symlink') return digestOf(toBytes(dir.readlink(name))) === digest;
  if (stat.size !== expected.size) return false;
  const hasher = new Hasher();
  readFile(dir, name, stat, (piece) => hasher.update(piece));
  return hasher.digest() === digest;
}

function isSameIdentity(a: StatIdentity, b: StatIdentity, isRenamed: boolean): boolean {
  return isRenamed ? withoutCtime(a) === withoutCtime(b) : a === b;
}

function withoutCtime(identity: StatIdentity): string {
  return identity.slice(0, identity.lastIndexOf(':'));
}

function yesOrNo(is: boolean): InState {
  return is ? 'yes' : 'no';
}

function isRefused(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(errnoOf(error) ?? '');
}
