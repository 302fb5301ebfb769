import { AgentdiffError, escapeText, type RunId } from '../../core/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import { pendingRuns, wordPending } from './intent.ts';

/** A run of this workspace and whether its capsule is sealed. */
export interface FoundRun {
  readonly runId: RunId;
  readonly sealed: boolean;
}

/**
 * Resolves what a user types for a run: a run id, a unique prefix of one, or `last` (the newest sealed capsule of any kind).
 * @throws RUN_UNKNOWN, RUN_AMBIGUOUS
 */
export function findRun(store: WorkspaceStore, ref: string): FoundRun {
  const sealed = store.sealed();
  if (ref === 'last') {
    const newest = sealed.at(-1);
    if (newest === undefined)
      throw new AgentdiffError('RUN_UNKNOWN', 'this workspace has no sealed run yet', { hint: LIST_HINT });
    return { runId: newest, sealed: true };
  }
  const pending = store.pending();
  const matches = [...sealed, ...pending].filter((id) => ref !== '' && id.startsWith(ref));
  const [match] = matches;
  if (match === undefined) {
    throw new AgentdiffError('RUN_UNKNOWN', `no run of this workspace is called ${escapeText(ref) || '""'}`, {
      hint: LIST_HINT,
      data: { ref },
    });
  }
  if (matches.length > 1) {
    throw new AgentdiffError(
      'RUN_AMBIGUOUS',
      `${escapeText(ref)} is the beginning of ${matches.length} run ids`,
      {
        hint: `give more of the id: ${matches.slice(-3).join(', ')}`,
        data: { ref, matches },
      },
    );
  }
  return { runId: match, sealed: sealed.includes(match) };
}

/** As {@link findRun}, for what needs a whole capsule. @throws RUN_UNSEALED also */
export function findSealedRun(store: WorkspaceStore, ref: string): RunId {
  const { runId, sealed } = findRun(store, ref);
  if (sealed) return runId;
  const run = pendingRuns(store).find((pending) => pending.runId === runId);
  const state = run === undefined ? 'never-started' : wordPending(run);
  const [why, hint] = UNSEALED[state];
  throw new AgentdiffError('RUN_UNSEALED', `run ${runId} has no sealed capsule: ${why}`, {
    hint: `${hint}; \`agentdiff list\` shows the state of each run`,
    data: { runId, state },
  });
}

const UNSEALED = {
  active: ['it is still active', 'wait until it has ended'],
  unsealed: [
    'it was interrupted',
    'its before-snapshot is in the store; its command may have run, and what it changed was not recorded',
  ],
  'never-started': [
    'it was interrupted before the command started',
    'nothing was run, so there is nothing to take back',
  ],
} as const;

const LIST_HINT = '`agentdiff list` shows the runs of this workspace; --root and --store choose another one';
