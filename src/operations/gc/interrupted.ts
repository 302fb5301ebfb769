import { AgentdiffError, type RunId } from '../../core/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import { findRun } from '../workspace/find-run.ts';

/**
 * The interrupted run that a user names to have it removed. Nobody may be at work on it, and nobody may have said that it stays.
 * @param now milliseconds since the epoch
 * @throws RUN_UNKNOWN, RUN_AMBIGUOUS; RUN_ACTIVE while its process lives, or may live; USAGE when it is sealed or pinned
 */
export function findInterrupted(store: WorkspaceStore, ref: string, now: number): RunId {
  const { runId, sealed } = findRun(store, ref);
  if (sealed) {
    throw new AgentdiffError('USAGE', `run ${runId} was not interrupted: it has a sealed capsule`, {
      hint: 'the rules of gc say which capsules go; `agentdiff list` shows which runs are unsealed',
      data: { runId },
    });
  }
  if (store.mayBeActive(runId, now)) {
    throw new AgentdiffError('RUN_ACTIVE', `run ${runId} is, or may be, active`, {
      hint: 'wait until it has ended; one whose process cannot be looked for counts as active for a day',
      data: { runId },
    });
  }
  if (store.pins().includes(runId)) {
    throw new AgentdiffError('USAGE', `run ${runId} is pinned`, {
      hint: 'take the pin away with `agentdiff unpin` first',
      data: { runId },
    });
  }
  return runId;
}
