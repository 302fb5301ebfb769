import { type RunId, timeOfRun } from '../../core/index.ts';
import { loadPolicy } from '../workspace/policy-file.ts';
import type { Root } from '../workspace/root.ts';

/** What stays. A capsule that one of the keep-rules covers never goes; without any, all but the newest may. */
export interface RetentionRules {
  /** The newest so many capsules. */
  readonly keepLast?: number;
  /** Those whose run began within this time, milliseconds. */
  readonly keepWithinMs?: number;
  /** Removing, oldest first, ends when the workspace's part of the store takes no more, bytes. */
  readonly maxBytes?: number;
  /** An interrupted run that a person judged and named: it goes too. Without any other rule nothing else but contents does. */
  readonly interrupted?: RunId;
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

/**
 * The budget that the workspace's policy file gives, or the built-in one, bytes; undefined when the policy says that there is none.
 * @throws POLICY_INVALID, POLICY_UNSUPPORTED
 */
export async function budgetOf(root: Root): Promise<number | undefined> {
  const { limits } = await loadPolicy(root, { flags: { capture: [], limits: {} } });
  return limits.storeBytes;
}
