import { AgentdiffError, errnoOf } from '../core/index.ts';
import { FileMoved } from '../fs/index.ts';
import { reasonOf } from './stat-state.ts';

/** What was being looked at is not any more what was seen before. */
export function isMoved(error: unknown): boolean {
  if (error instanceof FileMoved) return true;
  // Without anchored handles this is how a directory that was swapped shows.
  return error instanceof AgentdiffError && error.code === 'ROOT_REPLACED';
}

/** Why the root could not be observed, as an error of ours. */
export function rootFailure(cause: unknown): AgentdiffError {
  if (cause instanceof AgentdiffError) return cause;
  const errno = errnoOf(cause);
  const code = reasonOf(errno) === 'unreadable' ? 'ROOT_UNREADABLE' : 'SNAPSHOT_FAILED';
  return new AgentdiffError(code, `the workspace root cannot be observed (${errno ?? 'unknown'})`, { cause });
}
