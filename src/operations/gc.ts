import { AgentdiffError, type ByteString, EXIT, type Name, type RunId } from '../core/index.ts';
import { workspaceId, type WorkspaceStore } from '../store/index.ts';
import { openWorkspaceForWriting, type WritableWorkspace } from '../store/write.ts';
import { findInterrupted } from './gc/interrupted.ts';
import { type GcPlan, makeGcPlan } from './gc/plan.ts';
import { budgetOf, type RetentionRules } from './gc/rules.ts';
import type { Context, Place } from './workspace/context.ts';
import { openForReading } from './workspace/open.ts';
import type { Root } from './workspace/root.ts';

export { type CapsuleFate, doesNothing, type GcPlan, type PendingFate } from './gc/plan.ts';
export type { RetentionRules } from './gc/rules.ts';

export interface GcReport {
  readonly root: ByteString;
  /** By which it was decided. */
  readonly rules: RetentionRules;
  readonly plan: GcPlan;
  /** Absent when nothing was done: the plan was only shown, or there was nothing to do. */
  readonly done?: GcResult;
  readonly exitStatus: number;
}

export interface GcResult {
  readonly removed: readonly RunId[];
  /** The interrupted run that was named. */
  readonly interrupted: readonly RunId[];
  /** Packs that hold something which is not what was stored: they stay as they are. */
  readonly damagedPacks: readonly Name[];
  /** On the disk afterwards, measured, bytes. */
  readonly sizeBytes: number;
}

/**
 * Says what a gc would do. Changes nothing and takes no lock.
 * @param given without any rule it is the budget of the workspace's policy that decides
 * @param interrupted names a run that was interrupted, as a user types it: it goes too, and is rule enough
 * @throws what opening the store for reading throws, POLICY_INVALID, POLICY_UNSUPPORTED; for `interrupted` also RUN_UNKNOWN, RUN_AMBIGUOUS,
 *   RUN_ACTIVE, USAGE when it is sealed or pinned
 */
export async function planGc(
  context: Context,
  place: Place,
  given: RetentionRules,
  interrupted?: string,
): Promise<GcReport> {
  const { root, store, close } = openForReading(context, place);
  try {
    const rules =
      interrupted === undefined
        ? await withBudget(given, root)
        : { ...given, interrupted: findInterrupted(store, interrupted, context.now()) };
    const { plan } = makeGcPlan(store, rules, context.now());
    return { root: root.path, rules, plan, exitStatus: EXIT.done };
  } finally {
    close();
  }
}

/**
 * Removes what the plan that was shown names. It is made again, with the workspace held alone, and must name the same capsules.
 * @throws STORE_BUSY, NOT_APPROVED when others would go by now; nothing was removed then. What opening the store for writing throws
 */
export function applyGc(context: Context, place: Place, report: GcReport): GcReport {
  const { plan: shown, root, rules } = report;
  // With nothing to remove there may be leftovers; with nothing stored there is no place to work in.
  if (shown.sizeBytes === 0) return report;
  const workspace = openWorkspaceForWriting(
    place.store,
    { id: workspaceId(root), root },
    { now: context.now() },
  );
  try {
    holdAlone(workspace, context.now());
    const { plan, done } = collect(workspace, rules, context.now(), (made) => {
      if (allGoing(made) !== allGoing(shown)) throw changedPlan();
    });
    return {
      root,
      rules,
      plan,
      done,
      exitStatus: done.damagedPacks.length > 0 ? EXIT.partly : statusOf(plan),
    };
  } finally {
    workspace.close();
  }
}

async function withBudget(rules: RetentionRules, root: Root): Promise<RetentionRules> {
  const { keepLast, keepWithinMs, maxBytes } = rules;
  if (keepLast !== undefined || keepWithinMs !== undefined || maxBytes !== undefined) return rules;
  const budget = await budgetOf(root);
  return budget === undefined ? {} : { maxBytes: budget };
}

/**
 * Holds the workspace alone, and then makes sure that no run is active in it.
 * @throws STORE_BUSY
 */
export function holdAlone(workspace: WritableWorkspace, now: number): void {
  workspace.lock('gc', now);
  const active = activeRun(workspace.store, now);
  if (active === undefined) return;
  const isSure = workspace.store.ownerState(active) === 'alive';
  workspace.unlock();
  throw busyWith(active, isSure);
}

function busyWith(active: RunId, isSure: boolean): AgentdiffError {
  return new AgentdiffError(
    'STORE_BUSY',
    `run ${active} of this workspace ${isSure ? 'is' : 'may be'} active`,
    {
      hint: isSure
        ? 'wait until it has ended'
        : 'its process cannot be looked for (another boot, machine or pid namespace), so it counts as active for a day after it began',
      data: { runId: active },
    },
  );
}

function activeRun(store: WorkspaceStore, now: number): RunId | undefined {
  return store.pending().find((runId) => store.mayBeActive(runId, now));
}

/**
 * Carries a plan out: leftovers, then capsules, oldest first, then objects. What is killed on the way has removed less.
 * @param check throws when the plan is not the one that was agreed to
 */
export function collect(
  workspace: WritableWorkspace,
  rules: RetentionRules,
  now: number,
  check: (plan: GcPlan) => void = () => {},
): { plan: GcPlan; done: GcResult } {
  const { plan, needed } = makeGcPlan(workspace.store, rules, now);
  check(plan);
  const retention = workspace.retention(now);
  retention.removeLeftovers();
  const removed = goingOf(plan);
  const interrupted = plan.pending.filter(({ goes }) => goes).map(({ runId }) => runId);
  for (const runId of interrupted) retention.removeInterrupted(runId);
  for (const runId of removed) retention.removeCapsule(runId);
  const damagedPacks = retention.sweep(plan.sweep, needed.digests);
  return { plan, done: { removed, interrupted, damagedPacks, sizeBytes: workspace.size() } };
}

function allGoing({ capsules, pending }: GcPlan): string {
  return [...capsules, ...pending].flatMap(({ runId, goes }) => (goes ? [runId] : [])).join();
}

function goingOf({ capsules }: GcPlan): RunId[] {
  return capsules.filter(({ goes }) => goes).map(({ runId }) => runId);
}

function statusOf({ unknown, sweep }: GcPlan): number {
  return unknown === undefined && sweep.unreadable.length === 0 ? EXIT.done : EXIT.partly;
}

function changedPlan(): AgentdiffError {
  return new AgentdiffError(
    'NOT_APPROVED',
    'other capsules would go than the plan said; nothing was removed',
    {
      hint: 'run gc again to see the plan as it is now',
    },
  );
}
