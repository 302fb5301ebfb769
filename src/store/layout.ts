/** Names inside a store; `docs/store-format.md` describes them. */
import {
  AgentdiffError,
  type ByteString,
  canonicalJson,
  type Digest,
  digestOf,
  fromBytes,
  isRunId,
  type Name,
  parseJson,
  type RunId,
  toJsonBytes,
} from '../core/index.ts';

export const FORMAT = 1;
export const FORMAT_TEXT = `agentdiff-store ${FORMAT}\n`;

export const FILE = {
  format: 'format' as Name,
  workspaces: 'workspaces' as Name,
  workspace: 'workspace.json' as Name,
  packs: 'packs' as Name,
  large: 'large' as Name,
  index: 'index' as Name,
  pending: 'pending' as Name,
  capsules: 'capsules' as Name,
  pins: 'pins' as Name,
  size: 'size.json' as Name,
  capsule: 'capsule' as Name,
  intent: 'intent.json' as Name,
  owner: 'owner.json' as Name,
} as const;

/** Everything of ours is for the owner alone; a finished large object is never written again. */
export const MODE = { dir: 0o700, file: 0o600, large: 0o400 } as const;

/** Objects over this size (1 MiB) are files of their own; smaller ones share a pack, because a file each is several times slower. */
export const LARGE_BYTES = 1 << 20;

/** A workspace as the store knows it. Which directory stood at the path when, each capsule says by device and inode. */
export interface Workspace {
  readonly id: string;
  /** Real path of its root. */
  readonly root: ByteString;
}

const WORKSPACE_ID_LENGTH = 32;

export function isWorkspaceId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/**
 * Names a workspace by the real path of its root alone: device numbers of some file systems change with every mount, and the runs of a root that
 * was replaced must still be found, to be refused for that reason.
 */
export function workspaceId(root: ByteString): string {
  return digestOf(canonicalJson(toJsonBytes(root))).slice(0, WORKSPACE_ID_LENGTH);
}

export function encodeWorkspace(root: ByteString): string {
  return `${canonicalJson({ format: FORMAT, root: toJsonBytes(root) })}\n`;
}

/** @throws STORE_DAMAGED unless `text` is what {@link encodeWorkspace} writes for the workspace `id` */
export function decodeWorkspace(text: string, id: string): Workspace {
  const root = tryReadRoot(text);
  if (root === undefined || encodeWorkspace(root) !== text || workspaceId(root) !== id) {
    throw new AgentdiffError('STORE_DAMAGED', `workspace.json of ${id} is not what was written`, {
      data: { workspace: id },
    });
  }
  return { id, root };
}

function tryReadRoot(text: string): ByteString | undefined {
  try {
    const value = parseJson(text, FILE.workspace);
    return typeof value === 'object' && value !== null && 'root' in value ? readRoot(value.root) : undefined;
  } catch {
    return undefined;
  }
}

function readRoot(value: unknown): ByteString | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('pathBytes' in value && typeof value.pathBytes === 'string')
    return fromBytes(Buffer.from(value.pathBytes, 'base64'));
  return 'path' in value && typeof value.path === 'string' ? value.path : undefined;
}

export function packName(run: RunId, number: number): Name {
  return `${run}-${number}.pack` as Name;
}

export function packIndexName(pack: Name): Name {
  return pack.replace(/\.pack$/, '.idx') as Name;
}

export function packOfIndex(index: Name): Name {
  return index.replace(/\.idx$/, '.pack') as Name;
}

/** A pack index that is still being written, or was when its process ended. */
export function indexTemporaryName(pack: Name): Name {
  return `${packIndexName(pack)}.tmp` as Name;
}

export function isPackIndexName(name: Name): boolean {
  return name.endsWith('.idx') && runOf(name) !== undefined;
}

/** A large object that is still being written, or was when its process ended. */
export function largeTemporaryName(run: RunId, unique: string): Name {
  return `${run}-${unique}.tmp` as Name;
}

const RUN_ID_LENGTH = '20261130T184726Z-4f9c2a1b'.length;

/** The run that a file name of ours carries. */
export function runOf(name: Name): RunId | undefined {
  const id = name.slice(0, RUN_ID_LENGTH);
  return isRunId(id) && name[RUN_ID_LENGTH] === '-' ? id : undefined;
}

const LOCK_PREFIX = 'lock-';

/** One process's claim to work on the workspace alone; each has a name of its own. */
export function lockName(unique: string): Name {
  return `${LOCK_PREFIX}${unique}` as Name;
}

export function isLockName(name: Name): boolean {
  return /^lock-[0-9a-f]{16}$/.test(name);
}

const REMOVED = '-removed';

/** In `capsules/`, a capsule that is being removed, or was when its process ended: no reader takes it for a run. */
export function removedCapsuleName(run: RunId): Name {
  return `${run}${REMOVED}` as Name;
}

export function isRemovedCapsuleName(name: Name): boolean {
  return runOf(name) !== undefined && name.slice(RUN_ID_LENGTH) === REMOVED;
}

/** `large/<aa>/<digest>` */
export function largePlace(digest: Digest): { folder: Name; name: Name } {
  return { folder: digest.slice(0, 2) as Name, name: digest as string as Name };
}
