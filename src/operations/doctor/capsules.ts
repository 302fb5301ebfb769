import { capsuleProblem } from '../gc/needed.ts';
import type { Context, Place } from '../workspace/context.ts';
import { openForReading } from '../workspace/open.ts';
import type { Check } from './check.ts';

/** Ids that are named one by one. */
const MAX_NAMED = 5;

/** Whether each capsule of the workspace is as it was sealed: while one is not, gc may remove no content. Reads all their files. */
export function capsulesCheck(context: Context, place: Place): Check {
  const base = { id: 'capsules', title: 'capsules' };
  const { store, close } = openForReading(context, place);
  try {
    const sealed = store.sealed();
    const problems = sealed.flatMap((runId) => {
      const error = capsuleProblem(store, runId);
      return error === undefined ? [] : [`${runId} [${error.code}]`];
    });
    if (problems.length === 0) return { ...base, status: 'ok', detail: detailOf(sealed.length) };
    const more = problems.length - MAX_NAMED;
    const named = problems.slice(0, MAX_NAMED).join(', ') + (more > 0 ? `, and ${more} more` : '');
    return {
      ...base,
      status: 'limited',
      detail: `${problems.length} of ${sealed.length} cannot be read, or changed since the seal: ${named}`,
      advice: 'see `agentdiff verify`; gc keeps these, and all contents, because what they need is not known',
    };
  } finally {
    close();
  }
}

function detailOf(sealed: number): string {
  return sealed === 0
    ? 'none of this workspace yet'
    : `${sealed} of this workspace, files as they were sealed`;
}
