import { canonicalJson, type RelPath } from '../../core/index.ts';
import type { Change, State } from '../../snapshot/index.ts';
import type { StepResult } from './apply.ts';
import type { PlannedStep, RecoverPlan } from './plan.ts';

/**
 * Compares what was done with what the snapshot after it shows: a path that somebody changed in between is not called restored.
 * @param changes the difference of the recover's own two snapshots
 */
export function confirmResults(
  plan: RecoverPlan,
  results: readonly StepResult[],
  changes: Iterable<Change>,
): StepResult[] {
  const after = new Map<RelPath, State | undefined>();
  for (const change of changes) after.set(change.path, change.after?.state);
  const steps = new Map(plan.steps.map((step) => [step.path, step]));
  return results.map((result) => {
    const step = steps.get(result.path);
    if (step === undefined || result.result === 'refused') return result;
    // What was right already did not change while the recover was at work; what was done did, to what was wanted.
    const isUntouched = !after.has(result.path);
    if (isUntouched ? result.result === 'already-right' : isAsWanted(step, after.get(result.path)))
      return result;
    const { path, kind } = result;
    const detail = 'it was done, and somebody changed the path again before the recover ended';
    return { path, kind, result: 'refused', code: 'changed-during', detail };
  });
}

function isAsWanted({ action, wanted }: PlannedStep, now: State | undefined): boolean {
  if (wanted === undefined || now === undefined) return wanted === undefined && now === undefined;
  const { kind, mode, uid, gid, size, content } = wanted.state;
  const isSameMetadata = kind === now.kind && mode === now.mode && uid === now.uid && gid === now.gid;
  // A directory's entries are steps of their own; of a file whose mode was set the content was not touched.
  if (!isSameMetadata || kind === 'directory' || action === 'change-mode') return isSameMetadata;
  // Where the recover's own snapshot does not read files (regenerable directories), their sizes are all that can be compared.
  if (now.content.is === 'identity') return size === now.size;
  return size === now.size && canonicalJson(content) === canonicalJson(now.content);
}
