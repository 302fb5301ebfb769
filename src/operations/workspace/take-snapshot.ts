import { canonicalJson, digestOf, type RunId } from '../../core/index.ts';
import { hasDirectoryTimes, hasWriteTimes, mountPoints, type Stat } from '../../fs/index.ts';
import { captureLevels, type Policy } from '../../policy/index.ts';
import { type ScanOptions, type ScanThreads, scanWorkspace, type Snapshot } from '../../snapshot/index.ts';
import type { StatIndex } from '../../store/index.ts';
import type { WritableWorkspace } from '../../store/write.ts';
import { newContentBudget, refuseLack } from './budget.ts';
import type { Context } from './context.ts';
import { mountsBelow, type Root } from './root.ts';

export interface SnapshotRequest {
  readonly context: Context;
  readonly workspace: WritableWorkspace;
  readonly runId: RunId;
  readonly root: Root;
  readonly policy: Policy;
  /** The store, where it lies in the workspace. */
  readonly exclude: readonly Pick<Stat, 'dev' | 'ino'>[];
  /** What the scan before knew. */
  readonly index: StatIndex;
  /** New content that the run has kept already. */
  readonly keptBytes: number;
  /** Content that the store has no room for: is it an error, or merely not kept? */
  readonly whenFull: 'stop' | 'lower';
  /** Reads every file, whatever its times say. */
  readonly readsAll: boolean;
  /** Nanoseconds since the epoch. */
  readonly startedAtNs: bigint;
  /** When the scan before the command began, for the one after it. */
  readonly sinceNs: bigint | undefined;
  /** The snapshot that `index` stands for, where this run took it. */
  readonly indexSnapshot: Snapshot | undefined;
  readonly threads: ScanThreads | undefined;
  readonly onProgress?: ScanOptions['onProgress'];
}

export interface TakenSnapshot {
  readonly snapshot: Snapshot;
  readonly index: StatIndex;
  readonly newBytes: number;
}

/**
 * Scans the workspace into the store. What the snapshot needs is durable when this returns; on a failure nothing of it is left.
 * @throws what the scan and the store throw; STORE_FULL when content finds no room and that is an error
 */
export function takeSnapshot(request: SnapshotRequest): TakenSnapshot {
  const { workspace, root, policy, exclude, index, keptBytes } = request;
  const batch = workspace.objectBatch(request.runId);
  try {
    const scanned = scanWorkspace(root.dir, {
      levels: captureLevels(policy),
      levelsId: digestOf(canonicalJson(policy.capture)),
      exclude,
      mounts: mountsBelow(root, mountPoints()),
      rootPath: root.path,
      hasDirectoryTimes: !request.readsAll && hasDirectoryTimes(root.path),
      hasWriteTimes: !request.readsAll && hasWriteTimes(root.path),
      startedAtNs: request.startedAtNs,
      sinceNs: request.sinceNs,
      index,
      objects: batch,
      indexSnapshot: request.indexSnapshot,
      threads: request.threads,
      limits: { ...policy.limits, ...newContentBudget(policy, keptBytes, workspace) },
      onProgress: request.onProgress,
    });
    if (request.whenFull === 'stop') refuseLack(scanned.snapshot);
    batch.commit();
    if (scanned.index !== index) writeIndex(request, scanned.index);
    return { ...scanned, newBytes: batch.newBytes };
  } catch (error) {
    batch.abort();
    throw error;
  }
}

/** It is a cache: a run goes on without it. */
function writeIndex({ workspace, context }: SnapshotRequest, index: StatIndex): void {
  try {
    workspace.writeStatIndex(index);
  } catch (err) {
    context.log.warn({ err }, 'the stat index could not be written');
  }
}
