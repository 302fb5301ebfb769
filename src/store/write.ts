/** Writing the store. Reading it is in `index.ts`, which cannot reach this file. */
import type { ByteString, Digest, RelPath, RunId } from '../core/index.ts';
import { AgentdiffError } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import type { IndexRecord, Workspace, WorkspaceStore } from './index.ts';

/** Objects that become durable and visible together. After a failure of the store itself the batch is aborted already. */
export interface ObjectBatch {
  /** Bytes newly written by this batch; objects that were there already do not count. */
  readonly newBytes: number;
  /** True when the object is in the store or in this batch. False also when a damaged pack index leaves it open: it is written again then. */
  has(digest: Digest): boolean;
  put(bytes: Uint8Array): Digest;
  /**
   * Puts `size` bytes that `produce` hands to `sink` piece by piece; the pieces are not kept after `sink` returned.
   * What `produce` throws comes through unchanged and nothing of the object is left.
   */
  putStream(size: number, produce: (sink: (piece: Uint8Array) => void) => void): Digest;
  /** Everything is on the disk, and found by every reader, when this returns. */
  commit(): void;
  /** Leaves nothing behind; does nothing after a commit. */
  abort(): void;
}

/** Collects a new stat index and replaces the old one at {@link commit}. */
export interface IndexWriter {
  add(path: RelPath, record: IndexRecord): void;
  commit(): void;
  abort(): void;
}

/** A run that is not sealed yet: `pending/<id>/`. */
export interface PendingRun {
  readonly id: RunId;
  readonly dir: Dir;
  /** Durable when it returns. From here on the run counts as begun: it stays, unsealed, whatever happens to this process. */
  writeIntent(bytes: Uint8Array | string): void;
  /** `pending/<id>/capsule`, made on the first call. */
  capsuleDir(): Dir;
  /** Makes the capsule's files durable and publishes them by one rename to `capsules/<id>`; nothing is pending afterwards. */
  publish(): void;
  /** Removes `pending/<id>`. */
  abandon(): void;
}

export interface WritableWorkspace {
  readonly store: WorkspaceStore;
  /** @param now milliseconds since the epoch */
  newRun(now: number): PendingRun;
  objectBatch(run: RunId): ObjectBatch;
  /** @param startedAtNs when the scan began, nanoseconds since the epoch by the clock that stamps the files */
  indexWriter(startedAtNs: bigint): IndexWriter;
  close(): void;
}

export interface WriteOptions {
  /** Milliseconds since the epoch; tells the age of what dead processes left. */
  readonly now: number;
}

/**
 * Opens the store of one workspace for writing; makes what is missing and removes what dead processes left.
 * @throws STORE_UNWRITABLE, STORE_NOT_OWNED, STORE_VERSION, STORE_FULL, STORE_DAMAGED
 */
export function openWorkspaceForWriting(_base: ByteString, _workspace: Workspace, _options: WriteOptions): WritableWorkspace {
  throw new AgentdiffError('INTERNAL', 'not built yet');
}
