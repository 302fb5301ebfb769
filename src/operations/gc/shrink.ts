/** What retention does by itself after a run. Loaded only then: it reads capsules, which a run does not. */
import type { WritableWorkspace } from '../../store/write.ts';
import { collect, holdAlone } from '../gc.ts';
import type { RetentionNote } from './after-run.ts';

/**
 * Removes capsules and objects, oldest first.
 * @param before what the store takes, bytes
 * @param maxBytes what it may take afterwards
 */
export function shrink(
  workspace: WritableWorkspace,
  before: number,
  now: number,
  maxBytes: number,
  budgetBytes: number,
): RetentionNote {
  holdAlone(workspace, now);
  const { done } = collect(workspace, { maxBytes }, now);
  const { removed, sizeBytes } = done;
  return { kind: 'collected', removed, freedBytes: Math.max(0, before - sizeBytes), sizeBytes, budgetBytes };
}

/** Makes few packs of many. Nothing is removed, so nothing has to be known of what is needed. */
export function merge(workspace: WritableWorkspace, now: number): void {
  holdAlone(workspace, now);
  workspace.retention(now).sweep(workspace.store.planSweep(undefined), undefined);
}
