import { AgentdiffError, type RunId } from '../../core/index.ts';
import { MANY_PACKS } from '../../store/index.ts';
import type { WritableWorkspace } from '../../store/write.ts';

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
 * Retention by itself begins when the store has come so near to its budget, because a run that finds no room for new content is refused; and it
 * goes on down to the second share, because else the next run would have it begin again.
 */
const NEAR_SHARE = 0.9;
const TARGET_SHARE = 0.75;

/**
 * Keeps the store within its budget after a run was sealed. Costs next to nothing while it is: the size is that of the last measuring and what
 * each run added. Others that are at work in the workspace go first: a later run will do it.
 * @param added what the run added to the store, and whether it had to do without a content for lack of room: then the next would be refused
 * @param now milliseconds since the epoch
 * @param budgetBytes undefined: there is none
 * @returns undefined when nothing had to be done
 */
export async function keepBudget(
  workspace: WritableWorkspace,
  added: { readonly run: RunId; readonly bytes: number; readonly lackedRoom?: boolean },
  now: number,
  budgetBytes: number | undefined,
): Promise<RetentionNote | undefined> {
  try {
    const nearShare = added.lackedRoom === true ? TARGET_SHARE : NEAR_SHARE;
    const near = budgetBytes === undefined ? Infinity : budgetBytes * nearShare;
    if (budgetBytes !== undefined && workspace.size(added) > near) {
      const before = workspace.size();
      if (before <= near) return undefined;
      const { shrink } = await import('./shrink.ts');
      return shrink(workspace, before, now, Math.floor(budgetBytes * TARGET_SHARE), budgetBytes);
    }
    if (workspace.store.packCount() > MANY_PACKS) (await import('./shrink.ts')).merge(workspace, now);
    return undefined;
  } catch (error) {
    return toNote(error);
  } finally {
    workspace.unlock();
  }
}

function toNote(error: unknown): RetentionNote | undefined {
  if (error instanceof AgentdiffError)
    return error.code === 'STORE_BUSY' ? undefined : { kind: 'failed', error };
  const message = `the store could not be kept within its budget: ${error instanceof Error ? error.message : String(error)}`;
  return { kind: 'failed', error: new AgentdiffError('INTERNAL', message, { cause: error }) };
}
