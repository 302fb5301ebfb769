import { AgentdiffError } from '../../core/index.ts';

/** Why a session could not be sealed, whatever failed: what was done is reported all the same. */
export function toSealError(error: unknown): AgentdiffError {
  if (error instanceof AgentdiffError) return error;
  return new AgentdiffError(
    'SEAL_FAILED',
    `the run could not be sealed: ${error instanceof Error ? error.message : String(error)}`,
    {
      hint: 'its before-snapshot is in the store; `agentdiff list` shows it as unsealed',
      cause: error,
    },
  );
}
