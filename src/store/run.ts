import { type ByteString, canonicalJson, errnoOf, type Name, newRunId, type RunId } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import {
  createFile,
  ensureDir,
  makeDir,
  removeTree,
  rename,
  syncDir,
  syncFile,
  temporaryName,
  writeFileDurably,
} from '../fs/write.ts';
import { writing } from './failures.ts';
import { FILE, MODE } from './layout.ts';
import { ownIdentity } from './owner.ts';

/** A run that is not sealed yet: `pending/<id>/`. */
export interface PendingRun {
  readonly id: RunId;
  /** Closed by {@link publish} and {@link abandon}. */
  readonly dir: Dir;
  /** Durable when it returns. From here on the run counts as begun and stays, whatever happens to this process. May be called again. */
  writeIntent(bytes: Uint8Array | string): void;
  /** `pending/<id>/capsule`, made on the first call; closed with the run. */
  capsuleDir(): Dir;
  /** Makes the capsule's files durable and publishes them by one rename to `capsules/<id>`; nothing is pending afterwards. */
  publish(): void;
  /** Removes `pending/<id>`. */
  abandon(): void;
}

/** Where runs live. */
export interface RunFolders {
  readonly base: ByteString;
  readonly pending: Dir;
  readonly capsules: Dir;
}

/**
 * Makes `pending/<id>` for a fresh id that sorts after `newest`. It appears with the note of whose process is at it, so that nobody takes it
 * for a leftover.
 */
export function beginRun(folders: RunFolders, now: number, newest: RunId | undefined): PendingRun {
  const { pending } = folders;
  const temporary = temporaryName();
  makeDir(pending, temporary, MODE.dir);
  try {
    const made = pending.openDir(temporary);
    try {
      writeOwner(made);
    } finally {
      made.close();
    }
    const id = takeId(pending, temporary, now, newest);
    return new Run(folders, id, pending.openDir(id as string as Name));
  } catch (error) {
    removeTree(pending, temporary);
    throw error;
  }
}

function takeId(pending: Dir, temporary: Name, now: number, newest: RunId | undefined): RunId {
  for (;;) {
    const id = newRunId(now, newest);
    try {
      rename(pending, temporary, pending, id as string as Name);
      return id;
    } catch (error) {
      // Another process drew the same id; its directory is never empty, so it cannot be replaced.
      if (!['EEXIST', 'ENOTEMPTY'].includes(errnoOf(error) ?? '')) throw error;
    }
  }
}

class Run implements PendingRun {
  readonly id: RunId;
  readonly dir: Dir;
  readonly #folders: RunFolders;
  #capsule: Dir | undefined;

  constructor(folders: RunFolders, id: RunId, dir: Dir) {
    this.#folders = folders;
    this.id = id;
    this.dir = dir;
  }

  writeIntent(bytes: Uint8Array | string): void {
    writing(this.#folders.base, () => {
      writeFileDurably(this.dir, FILE.intent, bytes, MODE.file);
      syncDir(this.#folders.pending);
    });
  }

  capsuleDir(): Dir {
    this.#capsule ??= writing(this.#folders.base, () => ensureDir(this.dir, FILE.capsule, MODE.dir));
    return this.#capsule;
  }

  publish(): void {
    const { base, pending, capsules } = this.#folders;
    const capsule = this.capsuleDir();
    writing(base, () => {
      syncTree(capsule);
      rename(this.dir, FILE.capsule, capsules, this.#name());
      // One rename is in both directories or in neither; should the old name come back all the same, the run counts as sealed.
      syncDir(capsules);
    });
    this.#close();
    try {
      removeRun(pending, this.#name());
    } catch {
      // The capsule is published; the rest is a leftover that the next opening for writing removes.
    }
  }

  abandon(): void {
    const { base, pending } = this.#folders;
    this.#close();
    writing(base, () => {
      removeRun(pending, this.#name());
      // A run that never was must not come back as one that was interrupted.
      syncDir(pending);
    });
  }

  #name(): Name {
    return this.id as string as Name;
  }

  #close(): void {
    this.#capsule?.close();
    this.dir.close();
  }
}

/**
 * Takes `pending/<id>` out of sight in one step, so that a kill leaves no run that is half there, and removes it. Not made durable here: what comes
 * back after a loss of power is a leftover as before.
 */
export function removeRun(pending: Dir, name: Name): void {
  const temporary = temporaryName();
  rename(pending, name, pending, temporary);
  removeTree(pending, temporary);
}

/** Everything below `dir`, then `dir` itself. */
function syncTree(dir: Dir): void {
  for (const name of dir.names()) {
    if (dir.lstat(name).kind !== 'directory') {
      syncFile(dir, name);
      continue;
    }
    const child = dir.openDir(name);
    try {
      syncTree(child);
    } finally {
      child.close();
    }
  }
  syncDir(dir);
}

function writeOwner(dir: Dir): void {
  const file = createFile(dir, FILE.owner, MODE.file);
  try {
    file.write(Buffer.from(`${canonicalJson(ownIdentity())}\n`));
  } finally {
    file.close();
  }
}
