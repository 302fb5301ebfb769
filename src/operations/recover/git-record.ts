import { escapeText, namesOf, type RelPath } from '../../core/index.ts';
import { leadsOut, type State } from '../../snapshot/index.ts';
import type { ObjectReader } from '../../store/index.ts';
import type { StepResult } from './apply.ts';

/** A `.git` file holds one path; longer ones are something else. */
const MAX_BYTES = 8192;

/**
 * Notes at each `.git` file that was put back where it leads: the `.git` of a linked worktree, or of a submodule, is a file that names git's own
 * record, and a record outside the workspace was never observed and does not come back with it.
 * @param root path of the workspace without links
 */
export function withGitRecords(
  results: readonly StepResult[],
  wanted: ReadonlyMap<RelPath, State | undefined>,
  objects: ObjectReader,
  root: string,
): StepResult[] {
  return results.map((result) => {
    const record =
      result.result === 'restored' && recordOutside(result.path, wanted.get(result.path), objects, root);
    if (!record) return result;
    const note = `git's own record of it, ${escapeText(record)}, lies outside the workspace and is not put back`;
    return { ...result, note: result.note === undefined ? note : `${result.note}; ${note}` };
  });
}

function recordOutside(
  path: RelPath,
  state: State | undefined,
  objects: ObjectReader,
  root: string,
): string | undefined {
  if (namesOf(path).at(-1) !== '.git' || state?.kind !== 'file' || state.content.is !== 'digest')
    return undefined;
  if (state.size > MAX_BYTES) return undefined;
  const target = /^gitdir: ([^\0\n]+)\n?$/.exec(
    objects.get(state.content.digest, MAX_BYTES).toString('utf8'),
  )?.[1];
  return target !== undefined && leadsOut(path, target, root) ? target : undefined;
}
