import { type RunId, timeOfRun } from '../../core/index.ts';

/** What a workspace's part of the store may take, bytes (10 GiB), as long as no policy says otherwise. */
export const STORE_BYTES = 10 * 2 ** 30;

/** When a run has passed the budget, retention goes on below it: else the next run would pass it again. */
export const TARGET_SHARE = 0.9;

/** What stays. A capsule that one of the keep-rules covers never goes; without any, all but the newest may. */
export interface RetentionRules {
  /** The newest so many capsules. */
  readonly keepLast?: number;
  /** Those whose run began within this time, milliseconds. */
  readonly keepWithinMs?: number;
  /** Removing, oldest first, ends when the workspace's part of the store takes no more, bytes. */
  readonly maxBytes?: number;
}

/** Why a capsule stays. */
export type KeptWhy = 'newest' | 'pinned' | 'keep-last' | 'keep-within' | 'fits' | 'unreadable';

/**
 * The rule that keeps each capsule, whatever the size. Age is counted back from the newest run, or from now where that is earlier: so neither a
 * capsule whose clock was ahead nor those before it seem old because of the clock.
 * @param sealed oldest first
 * @param now milliseconds since the epoch
 */
export function keptByRule(
  sealed: readonly RunId[],
  pins: readonly RunId[],
  rules: RetentionRules,
  now: number,
): Map<RunId, KeptWhy> {
  const newest = sealed.at(-1);
  const kept = new Map<RunId, KeptWhy>();
  if (newest === undefined) return kept;
  const reference = Math.min(now, timeOfRun(newest));
  const pinned = new Set(pins);
  for (const [index, runId] of sealed.entries()) {
    const age = reference - timeOfRun(runId);
    if (runId === newest) kept.set(runId, 'newest');
    else if (pinned.has(runId)) kept.set(runId, 'pinned');
    else if (sealed.length - index <= (rules.keepLast ?? 0)) kept.set(runId, 'keep-last');
    else if (rules.keepWithinMs !== undefined && age <= rules.keepWithinMs) kept.set(runId, 'keep-within');
  }
  return kept;
}
