import type { RunId } from '../../core/index.ts';
import { mountPoints, type Stat } from '../../fs/index.ts';
import { captureLevels, type Policy } from '../../policy/index.ts';
import { scanWorkspace, type ScanOptions, type Snapshot } from '../../snapshot/index.ts';
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
  readonly onProgress?: NonNullable<ScanOptions['onProgress']> | undefined;
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
  const { context, workspace, root, policy, exclude, index, keptBytes, onProgress } = request;
  const batch = workspace.objectBatch(request.runId);
  const indexOut = workspace.indexWriter(BigInt(context.now()) * 1_000_000n);
  try {
    const snapshot = scanWorkspace(root.dir, {
      levels: captureLevels(policy),
      exclude,
      mounts: mountsBelow(root, mountPoints()),
      rootPath: root.path,
      index,
      objects: batch,
      indexOut,
      limits: { ...policy.limits, ...newContentBudget(policy, keptBytes, workspace) },
      ...(onProgress && { onProgress }),
    });
    if (request.whenFull === 'stop') refuseLack(snapshot);
    batch.commit();
    const written = indexOut.commit((err) =>
      context.log.warn({ err }, 'the stat index could not be written'),
    );
    return { snapshot, index: written, newBytes: batch.newBytes };
  } catch (error) {
    indexOut.abort();
    batch.abort();
    throw error;
  }
}
