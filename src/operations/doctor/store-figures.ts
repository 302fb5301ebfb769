import { AgentdiffError, type RunId } from '../../core/index.ts';
import type { RunCost, Size } from '../../store/index.ts';
import { budgetOf } from '../gc/rules.ts';
import type { Context, Place } from '../workspace/context.ts';
import { openForReading } from '../workspace/open.ts';
import type { Root } from '../workspace/root.ts';
import type { Check } from './check.ts';

/** What the workspace's part of the store takes, and what each run added to it. */
export interface StoreFigures {
  readonly total: Size;
  /** Absent when the policy sets none; `unknown` when the policy file cannot be read. */
  readonly budgetBytes?: number | 'unknown';
  readonly capsules: number;
  readonly pending: number;
  readonly pins: number;
  readonly packs: number;
  readonly largeObjects: number;
  /** Objects of runs that are gone, or that were written into new packs since. */
  readonly shared: Size;
  readonly leftovers: { readonly count: number; readonly size: Size };
  /** Newest first, all of them. */
  readonly runs: readonly (RunCost & { readonly runId: RunId; readonly pinned: boolean })[];
}

/** @throws what opening the store for reading throws */
export async function storeFigures(context: Context, place: Place): Promise<StoreFigures> {
  const { root, store, close } = openForReading(context, place);
  try {
    const budgetBytes = await budgetOrUnknown(root);
    const { total, packs, largeObjects, shared, leftovers, runs } = store.usage();
    const pins = new Set(store.pins());
    const lines = [...runs].map(([runId, cost]) => ({ runId, ...cost, pinned: pins.has(runId) }));
    return {
      total,
      ...(budgetBytes !== undefined && { budgetBytes }),
      capsules: store.sealed().length,
      pending: store.pending().length,
      pins: pins.size,
      packs,
      largeObjects,
      shared,
      leftovers,
      runs: lines.sort((a, b) => (a.runId < b.runId ? 1 : -1)),
    };
  } finally {
    close();
  }
}

async function budgetOrUnknown(root: Root): Promise<number | 'unknown' | undefined> {
  try {
    return await budgetOf(root);
  } catch (error) {
    const isPolicy = error instanceof AgentdiffError && /^POLICY_(INVALID|UNSUPPORTED)$/.test(error.code);
    // The check of the policy says what is wrong with it; the figures do not depend on it.
    if (isPolicy) return 'unknown';
    throw error;
  }
}

/** Whether the workspace's part of the store is within its budget. */
export function budgetCheck({ total, budgetBytes }: StoreFigures): Check {
  const base = { id: 'store-budget', title: 'budget of the store' };
  if (budgetBytes === undefined) return { ...base, status: 'ok', detail: 'the policy sets none' };
  if (budgetBytes === 'unknown')
    return { ...base, status: 'limited', detail: 'not known while the policy cannot be read' };
  return total.allocated <= budgetBytes
    ? { ...base, status: 'ok', detail: 'this workspace is within it' }
    : {
        ...base,
        status: 'limited',
        detail: 'this workspace is over it, and what is left may not go by itself',
        advice: 'see what agentdiff gc says; unpin what is not needed',
      };
}
