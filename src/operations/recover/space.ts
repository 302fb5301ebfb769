import { AgentdiffError, showBytes } from '../../core/index.ts';
import type { PlannedStep } from './plan.ts';

/** Files that are prepared beside those that they replace, together at most; see Staging. */
const PREPARED_BYTES = 256 * 2 ** 20;

/**
 * What the steps take of the file system until the last one is done: what they add beyond what they free, and what lies beside its place for a
 * while. Removals come first, so what they free is there for the rest. Holes are filled when a file is written, so each counts with its whole size.
 */
export function neededBytes(steps: readonly PlannedStep[]): number {
  let [removed, added, replaced, largest] = [0, 0, 0, 0];
  for (const { verdict, action, wanted, expected } of steps) {
    if (verdict !== 'apply' || action === 'change-mode') continue;
    const size = wanted?.state.kind === 'file' ? wanted.state.size : 0;
    const now = expected?.kind === 'file' ? expected.size : 0;
    if (wanted === undefined) removed += now;
    else replaced += now;
    added += size;
    largest = Math.max(largest, size);
  }
  const beside = Math.min(replaced, added, Math.max(largest, PREPARED_BYTES));
  return Math.max(0, Math.max(0, added - replaced) + beside - removed);
}

/**
 * @param space of the workspace's file system, bytes; one that does not tell its size is not asked for room
 * @throws SPACE_SHORT
 */
export function refuseLackOfSpace(
  steps: readonly PlannedStep[],
  { free, total }: { readonly free: number; readonly total: number },
): void {
  const needed = neededBytes(steps);
  if (total === 0 || needed <= free) return;
  throw new AgentdiffError(
    'SPACE_SHORT',
    `taking this back needs up to ${showBytes(needed)} on the workspace's file system, and ${showBytes(free)} are free`,
    {
      hint: 'nothing was touched; make space, or recover fewer paths',
      data: { neededBytes: needed, freeBytes: free },
    },
  );
}
