import type { RunId } from '../core/index.ts';
import { workspaceId } from '../store/index.ts';
import { openWorkspaceForWriting } from '../store/write.ts';
import type { Context, Place } from './workspace/context.ts';
import { findRun } from './workspace/find-run.ts';
import { openForReading } from './workspace/open.ts';

export interface PinResult {
  readonly runId: RunId;
  /** False when it was so before. */
  readonly changed: boolean;
}

/**
 * Pins a run, so that retention never removes its capsule, or takes the pin away. The capsule itself is not touched.
 * @throws RUN_UNKNOWN, RUN_AMBIGUOUS, STORE_BUSY, and what opening the store for writing throws
 */
export function setPin(context: Context, place: Place, ref: string, pinned: boolean): PinResult {
  const opened = openForReading(context, place);
  try {
    findRun(opened.store, ref);
    const { path } = opened.root;
    const now = context.now();
    const workspace = openWorkspaceForWriting(place.store, { id: workspaceId(path), root: path }, { now });
    try {
      workspace.lock('pin', now);
      // Once more: only now can no gc remove it any more.
      const { runId } = findRun(workspace.store, ref);
      const changed = workspace.store.pins().includes(runId) !== pinned;
      if (changed && pinned) workspace.pin(runId);
      if (changed && !pinned) workspace.unpin(runId);
      return { runId, changed };
    } finally {
      workspace.close();
    }
  } finally {
    opened.close();
  }
}
