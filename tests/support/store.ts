import * as path from 'node:path';
import { onTestFinished } from 'vitest';
import type { ByteString, Name } from '../../src/core/index.ts';
import type { Dir } from '../../src/fs/index.ts';
import { createFile } from '../../src/fs/write.ts';
import { Store, type Workspace, workspaceId, type WorkspaceStore } from '../../src/store/index.ts';
import { openWorkspaceForWriting, type PendingRun, type WritableWorkspace } from '../../src/store/write.ts';
import { temporaryDir } from './temporary.ts';

export const NOW = Date.UTC(2026, 10, 30, 18, 0, 0);

/** A workspace that exists in name only: the store never looks at it. */
export const WORKSPACE: Workspace = {
  id: workspaceId('/home/u/project'),
  root: '/home/u/project',
};

/** The path of a store that does not exist yet. */
export function freshBase(): ByteString {
  return path.join(temporaryDir(), 'store');
}

export function openForWriting(base: ByteString, now = NOW): WritableWorkspace {
  const writable = openWorkspaceForWriting(base, WORKSPACE, { now });
  onTestFinished(() => writable.close());
  return writable;
}

export function openForReading(base: ByteString): WorkspaceStore {
  const store = Store.open(base);
  const reader = store.workspace(WORKSPACE.id);
  onTestFinished(() => {
    reader.close();
    store.close();
  });
  return reader;
}

/** A new store with one run begun. */
export function begun(base = freshBase()): {
  base: ByteString;
  writable: WritableWorkspace;
  run: PendingRun;
} {
  const writable = openForWriting(base);
  return { base, writable, run: writable.newRun(NOW) };
}

/** The absolute path of something in the workspace's part of the store. */
export function inStore(base: ByteString, ...names: string[]): string {
  return path.join(base, 'workspaces', WORKSPACE.id, ...names);
}

export function writeInto(dir: Dir, name: string, content: string): void {
  const file = createFile(dir, name as Name, 0o600);
  file.write(Buffer.from(content));
  file.close();
}
