import { type ByteString, errnoOf, invariant, type Name, type RunId } from '../core/index.ts';
import { type Dir, freeSpace } from '../fs/index.ts';
import { ensureDir, ensurePath, removeFile, syncDir, writeFileDurably } from '../fs/write.ts';
import { Batch, type ObjectBatch } from './batch.ts';
import { writing } from './failures.ts';
import { encodeWorkspace, FILE, FORMAT_TEXT, MODE, type Workspace } from './layout.ts';
import { awaitNoHolder, type Exclusive, Lock } from './lock.ts';
import { removeLeftovers } from './leftovers.ts';
import { Objects } from './objects.ts';
import { tryOpenDir } from './place.ts';
import { Retention } from './retention/retention.ts';
import { addToTotal, renewTotal } from './retention/running-total.ts';
import { treeSize } from './retention/usage.ts';
import { beginRun, type PendingRun } from './run.ts';
import { objectBytes } from './size.ts';
import { writeIndex } from './stat-index/file.ts';
import type { StatIndex } from './stat-index/stat-index.ts';
import { checkBase, checkOwner, WorkspaceStore } from './store.ts';
import type { StoreFolders } from './unfinished.ts';

export interface WriteOptions {
  /** Milliseconds since the epoch; tells the age of leftovers. */
  readonly now: number;
}

/** The store of one workspace, open for writing. */
export class WritableWorkspace {
  /** Reads what is there; sees what this workspace's batches commit. */
  readonly store: WorkspaceStore;
  readonly #base: ByteString;
  readonly #objects: Objects;
  readonly #folders: StoreFolders;
  #lock: Lock | undefined;

  /** Takes over the folders, and closes them. */
  constructor(base: ByteString, id: string, folders: StoreFolders) {
    this.#base = base;
    this.#folders = folders;
    this.#objects = new Objects(folders.workspace);
    this.store = new WorkspaceStore(id, folders.workspace, this.#objects);
  }

  /**
   * Begins a run: its id sorts after every other one of the workspace. It is there for all to see before it looks for somebody who works on the
   * workspace alone, and waits a few seconds for that one.
   * @param now milliseconds since the epoch
   * @throws STORE_BUSY; no run is left then
   */
  newRun(now: number): PendingRun {
    const newest = [...this.store.sealed(), ...this.store.pending()].sort().at(-1);
    const run = writing(this.#base, () => beginRun({ base: this.#base, ...this.#folders }, now, newest));
    try {
      awaitNoHolder(this.#base, this.#folders.workspace, now, this.#lock?.name);
      return run;
    } catch (error) {
      run.abandon();
      throw error;
    }
  }

  /**
   * Works on the workspace alone until it is closed: no other process does so meanwhile, and no run begins. Runs that began before are the
   * caller's to look for, afterwards.
   * @param now milliseconds since the epoch
   * @throws STORE_BUSY
   */
  lock(operation: Exclusive, now: number): void {
    this.#lock ??= Lock.take(this.#base, this.#folders.workspace, operation, now);
  }

  /** Gives up what {@link lock} took. */
  unlock(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** Whoever has the lock `gc` removes by this. @param now milliseconds since the epoch */
  retention(now: number): Retention {
    invariant(this.#lock !== undefined, 'who removes works on the workspace alone');
    return new Retention(this.#base, this.#folders, this.#lock, now);
  }

  /** Retention never removes the run until it is unpinned. For one that has the lock, so that it does not come too late. */
  pin(run: RunId): void {
    writing(this.#base, () => {
      const pins = subdirectory(this.#folders.workspace, FILE.pins);
      try {
        writeFileDurably(pins, run as string as Name, '', MODE.file);
      } finally {
        pins.close();
      }
    });
  }

  /** Does nothing when it is not pinned. */
  unpin(run: RunId): void {
    writing(this.#base, () => {
      const pins = tryOpenDir(this.#folders.workspace, FILE.pins);
      try {
        if (pins !== undefined) removeFile(pins, run as string as Name);
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error;
      } finally {
        pins?.close();
      }
    });
  }

  /**
   * About how many bytes this workspace's part of the store takes; cheap.
   * @param added a run that was sealed just now, and the bytes of its objects; without it everything is measured
   */
  size(added?: { readonly run: RunId; readonly bytes: number }): number {
    const { workspace, capsules } = this.#folders;
    if (added === undefined) return renewTotal(workspace);
    return addToTotal(workspace, added.bytes + treeSize(capsules, added.run as string as Name).allocated);
  }

  /** Several batches of one run are fine, also at the same time. */
  objectBatch(run: RunId): ObjectBatch {
    return new Batch({ base: this.#base, objects: this.#objects, ...this.#folders }, run);
  }

  /**
   * Replaces the stat index; what it says is kept must have been committed.
   * @throws failures of the store: the index is a cache, so a caller may go on
   */
  writeStatIndex(index: StatIndex): void {
    writeIndex(this.#base, this.#folders.workspace, index.encode(this.store.packFiles()));
  }

  /** Bytes that the objects of this workspace take. @throws STORE_DAMAGED */
  storeBytes(): number {
    return objectBytes(this.#folders.packs, this.#folders.large);
  }

  /** Bytes of the store's file system that may still be written, and its size. */
  space(): { readonly free: number; readonly total: number } {
    return writing(this.#base, () => freeSpace(this.#base));
  }

  close(): void {
    this.unlock();
    this.store.close();
    for (const dir of Object.values(this.#folders)) dir.close();
  }
}

/**
 * Opens the store of one workspace for writing; makes what is missing and removes what ended processes left.
 * @throws STORE_UNWRITABLE, STORE_NOT_OWNED, STORE_VERSION, STORE_FULL, STORE_DAMAGED
 */
export function openWorkspaceForWriting(
  base: ByteString,
  workspace: Workspace,
  options: WriteOptions,
): WritableWorkspace {
  return writing(base, () => {
    const dir = openWorkspaceDir(base, workspace.id);
    const opened = [dir];
    const open = (name: Name): Dir => {
      const child = subdirectory(dir, name);
      opened.push(child);
      return child;
    };
    try {
      const folders = {
        workspace: dir,
        packs: open(FILE.packs),
        large: open(FILE.large),
        pending: open(FILE.pending),
        capsules: open(FILE.capsules),
      };
      const writable = new WritableWorkspace(base, workspace.id, folders);
      if (writable.store.identity() === undefined)
        writeFileDurably(dir, FILE.workspace, encodeWorkspace(workspace.root), MODE.file);
      removeLeftovers(folders, options.now);
      return writable;
    } catch (error) {
      for (const each of opened) each.close();
      throw error;
    }
  });
}

function openWorkspaceDir(base: ByteString, id: string): Dir {
  const dir = ensurePath(base, MODE.dir);
  try {
    checkBase(dir, base);
    // Before anything else is made: without it the rest is not recognised as a store.
    if (dir.tryLstat(FILE.format) === undefined) writeFileDurably(dir, FILE.format, FORMAT_TEXT, MODE.file);
    const workspaces = subdirectory(dir, FILE.workspaces);
    try {
      const workspace = subdirectory(workspaces, id as Name);
      checkOwner(workspace, base);
      return workspace;
    } finally {
      workspaces.close();
    }
  } finally {
    dir.close();
  }
}

/** The subdirectory; when it had to be made, it is on the disk when this returns. */
function subdirectory(dir: Dir, name: Name): Dir {
  const existing = tryOpenDir(dir, name);
  if (existing !== undefined) return existing;
  const made = ensureDir(dir, name, MODE.dir);
  syncDir(dir);
  return made;
}
