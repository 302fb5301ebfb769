import {
  AgentdiffError,
  type ByteString,
  errnoOf,
  escapeText,
  fromBytes,
  lossyText,
  type Name,
  toBytes,
} from '../../core/index.ts';
import { Dir, isSameInode, pathBelow, realPath, type Stat, statPath } from '../../fs/index.ts';
import type { Context, Place } from './context.ts';

/** Which rule found the root; recorded and shown. */
export type RootRule = 'option' | 'environment' | 'policy-file' | 'git' | 'cwd';

/** The workspace root, open. All access goes through `dir`, so it stays the same directory whatever happens to its path. */
export interface Root {
  readonly dir: Dir;
  /** Without links. */
  readonly path: ByteString;
  /** How the user named it, when that is not `path`. */
  readonly spelling?: ByteString;
  readonly stat: Stat;
  readonly chosenBy: RootRule;
}

/** A file of this name at the root marks a workspace and holds its policy. */
export const POLICY_FILE = 'agentdiff.yaml' as Name;

/**
 * Finds the workspace root once, as README.md says (Commands): `--root`, `AGENTDIFF_ROOT`, the nearest ancestor with a policy file, the
 * nearest with a `.git`, else the current directory.
 * @throws ROOT_UNREADABLE
 */
export function findRoot(context: Context, place: Place): Root {
  const { path, chosenBy } = chooseRoot(context, place);
  const real = realPath(path);
  if (real === undefined) throw unreadable(path, chosenBy, 'it does not exist, or may not be entered');
  const spelling = path === real ? shellSpelling(context, real) : path;
  try {
    const dir = Dir.open(real);
    return { dir, path: real, ...(spelling !== undefined && { spelling }), stat: dir.stat(), chosenBy };
  } catch (cause) {
    throw unreadable(path, chosenBy, errnoOf(cause) ?? 'unknown', cause);
  }
}

/** How the user's shell came to the root, by what PWD says of the way to the current directory: the same place, through links. */
function shellSpelling({ environment, cwd }: Context, root: ByteString): ByteString | undefined {
  const told = environment['PWD'];
  const here = realPath(cwd);
  if (!told?.startsWith('/') || here === undefined) return undefined;
  const below = pathBelow(here, root);
  if (below !== undefined && !told.endsWith(`/${below}`)) return undefined;
  const spelling = below === undefined ? told : told.slice(0, -below.length - 1);
  return spelling !== root && realPath(spelling) === root ? spelling : undefined;
}

function unreadable(path: ByteString, chosenBy: RootRule, why: string, cause?: unknown): AgentdiffError {
  return new AgentdiffError(
    'ROOT_UNREADABLE',
    `the workspace root cannot be opened: ${lossyText(path)} (${why})`,
    {
      hint: 'name a directory that you can read with --root',
      data: { path: lossyText(path), chosenBy },
      cause,
    },
  );
}

function chooseRoot(context: Context, place: Place): { path: ByteString; chosenBy: RootRule } {
  if (place.root !== undefined) return { path: place.root, chosenBy: 'option' };
  const fromEnvironment = context.environment['AGENTDIFF_ROOT'];
  if (fromEnvironment) return { path: absolute(fromEnvironment, context.cwd), chosenBy: 'environment' };
  const here = realPath(context.cwd) ?? context.cwd;
  const withPolicy = nearestWith(here, POLICY_FILE);
  if (withPolicy !== undefined) return { path: withPolicy, chosenBy: 'policy-file' };
  const withGit = nearestWith(here, '.git' as Name);
  if (withGit !== undefined) return { path: withGit, chosenBy: 'git' };
  return { path: here, chosenBy: 'cwd' };
}

/** `path` itself when it is absolute, else below `cwd`. */
export function absolute(path: ByteString, cwd: ByteString): ByteString {
  const bytes = toBytes(path);
  return bytes[0] === 0x2f ? path : fromBytes(Buffer.concat([toBytes(cwd), Buffer.from('/'), bytes]));
}

/**
 * Where a path leads now, links and `..` resolved as far as it exists: a path through the working directory would not lead there any more once that is
 * gone.
 */
export function settled(path: ByteString): ByteString {
  const existing = ancestors(path).find((directory) => realPath(directory) !== undefined);
  const real = existing === undefined ? undefined : realPath(existing);
  if (existing === undefined || real === undefined || existing === path) return real ?? path;
  const rest = pathBelow(path, existing);
  return rest === undefined ? path : absolute(rest, real);
}

function nearestWith(start: ByteString, name: Name): ByteString | undefined {
  return ancestors(start).find((directory) => statPath(child(directory, name)) !== undefined);
}

function child(directory: ByteString, name: Name): ByteString {
  return fromBytes(Buffer.concat([toBytes(directory), Buffer.from('/'), toBytes(name)]));
}

/** The path itself and every directory above it, nearest first. */
function ancestors(path: ByteString): ByteString[] {
  const found = [path];
  let bytes = toBytes(path);
  while (bytes.length > 1) {
    bytes = bytes.subarray(0, Math.max(bytes.lastIndexOf(0x2f), 1));
    found.push(fromBytes(bytes));
  }
  return found;
}

/** How the store lies to the workspace. */
export type StorePosition = 'outside' | 'inside';

/**
 * Refuses roots whose observation is almost surely a mistake, before anything in them is read: `/`, the home directory, a parent of the
 * default store. A store that the user put inside the workspace is allowed and disclosed.
 * @throws ROOT_REFUSED
 */
export function checkRoot(root: Root, context: Context, place: Place): StorePosition {
  const position = isStoreInside(root, place.store) ? 'inside' : 'outside';
  if (place.allowAnyRoot) return position;
  const home = context.home === undefined ? undefined : statPath(context.home);
  const reason =
    root.path === '/'
      ? 'it is the root of the file system'
      : home !== undefined && isSameInode(home, root.stat)
        ? 'it is the home directory'
        : position === 'inside' && !place.storeChosen
          ? 'it holds the store'
          : undefined;
  if (reason === undefined) return position;
  throw new AgentdiffError('ROOT_REFUSED', `refusing to observe ${escapeText(root.path)}: ${reason}`, {
    hint: 'change to a project directory, name one with --root, or say --allow-root if this is what you want',
    data: { root: escapeText(root.path), reason },
  });
}

/** Compares device and inode of each directory above the store, so that links and bind mounts do not hide it. */
function isStoreInside(root: Root, store: ByteString): boolean {
  return ancestors(nearestExisting(store)).some((directory) => {
    const stat = statPath(directory);
    return stat !== undefined && isSameInode(stat, root.stat);
  });
}

function nearestExisting(path: ByteString): ByteString {
  for (const directory of ancestors(path)) {
    const real = realPath(directory);
    if (real !== undefined) return real;
  }
  return '/';
}

/** Mount points below the root, as paths relative to it. */
export function mountsBelow(root: Root, mountPoints: readonly ByteString[]): ReadonlySet<ByteString> {
  return new Set(mountPoints.flatMap((mount) => pathBelow(mount, root.path) ?? []));
}
