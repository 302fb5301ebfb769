import type { ChangeRecord } from '../../capsule/index.ts';
import { lossyText, type RelPath } from '../../core/index.ts';
import type { Stat } from '../../fs/index.ts';
import type { State } from '../../snapshot/index.ts';
import type { StepVerdict } from './plan.ts';
import type { Refusal } from './refusal.ts';
import type { Wanted } from './staging.ts';

/** A step of a plan while the plan is made. */
export interface Draft {
  readonly record: ChangeRecord;
  readonly path: RelPath;
  readonly expected: State | undefined;
  readonly wanted: Wanted | undefined;
  verdict: StepVerdict;
  refusal?: Refusal;
  /** Of the entry that is there now, where it has to be compared with other steps'. */
  seen?: Stat;
}

/** All steps of a plan by their paths, in the order of a walk. */
export type Drafts = ReadonlyMap<RelPath, Draft>;

export function refuse(draft: Draft, refusal: Refusal): void {
  draft.verdict = 'refused';
  draft.refusal = refusal;
}

/** A path in a text for people; foreign, and escaped when it is printed. */
export function quoted(path: RelPath): string {
  return `"${lossyText(path)}"`;
}
