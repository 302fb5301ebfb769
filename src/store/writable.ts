import type { ByteString, Name, RunId } from '../core/index.ts';
import { type Dir, freeSpace } from '../fs/index.ts';
import { ensureDir, ensurePath, syncDir, writeFileDurably } from '../fs/write.ts';
import { Batch, type ObjectBatch } from './batch.ts';
import { writing } from './failures.ts';
import { type IndexWriter, StatIndexWriter } from './index-writer.ts';
import { encodeWorkspace, FILE, FORMAT_TEXT, MODE, type Workspace } from './layout.ts';
import { type LeftoverFolders, removeLeftovers } from './leftovers.ts';
import { Objects } from './objects.ts';
import { tryOpenDir } from './place.ts';
import { beginRun, type PendingRun } from './run.ts';
import { objectBytes } from './size.ts';
import { checkBase, checkOwner, WorkspaceStore } from './store.ts';

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
  readonly #folders: LeftoverFolders;

  /** Takes over the folders, and closes them. */
  constructor(base: ByteString, id: string, folders: LeftoverFolders) {
    this.#base = base;
    this.#folders = folders;
    this.#objects = new Objects(folders.workspace);
    this.store = new WorkspaceStore(id, folders.workspace, this.#objects);
  }

  /**
   * Begins a run: its id sorts after every other one of the workspace.
   * @param now milliseconds since the epoch
   */
  newRun(now: number): PendingRun {
    const newest = [...this.store.sealed(), ...this.store.pending()].sort().at(-1);
    return writing(this.#base, () => beginRun({ base: this.#base, ...this.#folders }, now, newest));
  }

  /** Several batches of one run are fine, also at the same time. */
  objectBatch(run: RunId): ObjectBatch {
    return new Batch({ base: this.#base, objects: this.#objects, ...this.#folders }, run);
  }

  /** @param startedAtNs when the scan began, nanoseconds since the epoch by the clock that stamps the files */
  indexWriter(startedAtNs: bigint): IndexWriter {
    return new StatIndexWriter(this.#base, this.#folders.workspace, startedAtNs);
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
