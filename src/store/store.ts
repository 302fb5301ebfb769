import { type ByteString, type RunId } from '../core/index.ts';
import type { Dir, ProcessIdentity, Stat } from '../fs/index.ts';
import type { ObjectReader } from './objects.ts';
import type { StatIndex } from './stat-index.ts';

/** The directory tree that is observed. */
export interface Workspace {
  readonly id: string;
  /** Real path of its root. */
  readonly root: ByteString;
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Names a workspace by what it is: the real path of its root and the inode there. */
export declare function workspaceId(root: ByteString, stat: Pick<Stat, 'dev' | 'ino'>): string;

export declare class Store {
  readonly base: ByteString;
  static open(base: ByteString): Store;
  workspaces(): string[];
  workspace(id: string): WorkspaceStore;
  close(): void;
}

export declare class WorkspaceStore {
  readonly objects: ObjectReader;
  identity(): { root: ByteString; dev: bigint; ino: bigint } | undefined;
  sealed(): RunId[];
  pending(): RunId[];
  /** Who began a pending run, when that is known. */
  owner(id: RunId): ProcessIdentity | undefined;
  openCapsule(id: RunId): Dir | undefined;
  openPending(id: RunId): Dir | undefined;
  statIndex(): StatIndex;
  close(): void;
}
