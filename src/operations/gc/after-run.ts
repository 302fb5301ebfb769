import { AgentdiffError, type RunId } from '../../core/index.ts';
import { MANY_PACKS } from '../../store/index.ts';
import type { WritableWorkspace } from '../../store/write.ts';
import { collect, holdAlone } from '../gc.ts';
import { NEAR_SHARE, TARGET_SHARE } from './rules.ts';

/** What became of the store's size after a run. */
export type RetentionNote =
  | {
      readonly kind: 'collected';
      readonly removed: readonly RunId[];
      readonly freedBytes: number;
      /** What is left on the disk, bytes. */
      readonly sizeBytes: number;
      readonly budgetBytes: number;
    }
  /** Nothing depends on it: the run is sealed, and the next one tries again. */
  | { readonly kind: 'failed'; readonly error: AgentdiffError };

/**
 * Keeps the store within its budget after a run was sealed. Costs next to nothing while it is: the size is that of the last measuring and what
 * each run added. Others that are at work in the workspace go first: a later run will do it.
 * @param added what the run added to the store, and whether it had to do without a content for lack of room: then the next would be refused
 * @param now milliseconds since the epoch
 * @param budgetBytes undefined: there is none
 * @returns undefined when nothing had to be done
 */
export function keepBudget(
  workspace: WritableWorkspace,
  added: { readonly run: RunId; readonly bytes: number; readonly lackedRoom?: boolean },
  now: number,
  budgetBytes: number | undefined,
): RetentionNote | undefined {
  try {
    const nearShare = added.lackedRoom === true ? TARGET_SHARE : NEAR_SHARE;
    const near = budgetBytes === undefined ? Infinity : budgetBytes * nearShare;
    if (budgetBytes !== undefined && workspace.size(added) > near) {
      const before = workspace.size();
      return before > near ? shrink(workspace, before, now, budgetBytes) : undefined;
    }
    if (workspace.store.packCount() > MANY_PACKS) merge(workspace, now);
    return undefined;
  } catch (error) {
    return toNote(error);
  } finally {
    workspace.unlock();
  }
}

function shrink(
  workspace: WritableWorkspace,
  before: number,
  now: number,
  budgetBytes: number,
): RetentionNote {
  holdAlone(workspace, now);
  const { done } = collect(workspace, { maxBytes: Math.floor(budgetBytes * TARGET_SHARE) }, now);
  const { removed, sizeBytes } = done;
  return { kind: 'collected', removed, freedBytes: Math.max(0, before - sizeBytes), sizeBytes, budgetBytes };
}

/** Nothing is removed, so nothing has to be known of what is needed. */
function merge(workspace: WritableWorkspace, now: number): void {
  holdAlone(workspace, now);
  workspace.retention(now).sweep(workspace.store.planSweep(undefined), undefined);
}

function toNote(error: unknown): RetentionNote | undefined {
  if (error instanceof AgentdiffError)
    return error.code === 'STORE_BUSY' ? undefined : { kind: 'failed', error };
  const message = `the store could not be kept within its budget: ${error instanceof Error ? error.message : String(error)}`;
  return { kind: 'failed', error: new AgentdiffError('INTERNAL', message, { cause: error }) };
}
