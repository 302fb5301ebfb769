import type { ChangeRecord } from '../../capsule/index.ts';
import {
  canonicalJson,
  compareBytes,
  type Digest,
  digestOf,
  isWithin,
  namesOf,
  type RelPath,
  type RunId,
  toJsonPath,
} from '../../core/index.ts';
import type { Dir, EntryKind } from '../../fs/index.ts';
import type { Lowering, State } from '../../snapshot/index.ts';
import type { ObjectReader } from '../../store/index.ts';
import { isMetadataOnly } from '../workspace/assess.ts';
import { judge } from './compare.ts';
import { refuseConflicts } from './conflicts.ts';
import type { Draft } from './draft.ts';
import type { RefusalCode } from './refusal.ts';
import type { Wanted } from './staging.ts';

export type StepAction = 'restore' | 'remove' | 'change-mode';
export type StepVerdict = 'apply' | 'already' | 'refused';

/** What a recover means to do with one path. `expected` is what the run left there, `wanted` what was there before it. */
export interface PlannedStep {
  readonly path: RelPath;
  readonly action: StepAction;
  /** Of the wanted entry, or of the one to be removed. */
  readonly kind: EntryKind;
  readonly expected?: State;
  readonly wanted?: Wanted;
  /** Names that a file had which is put back as a file of its own; absent when it had only the one. */
  readonly links?: number;
  /** What is to be taken away is a file whose content the store does not have: applying this step cannot be undone. */
  readonly unkept?: true;
  readonly verdict: StepVerdict;
  /** With verdict `refused`. */
  readonly code?: RefusalCode;
  readonly detail?: string;
}

export interface RecoverPlan {
  /** The run to be taken back, and the digest of its capsule, which was found whole. */
  readonly runId: RunId;
  readonly capsule: Digest;
  /**
   * SHA-256 over the canonical JSON of the run and of each step's states and verdict. Whether a content is kept is no part of it: the recover's own
   * snapshot may keep one between the plan that is shown and the one that is applied.
   */
  readonly digest: Digest;
  /** In the order of a walk, so a directory stands before what is in it. */
  readonly steps: readonly PlannedStep[];
  readonly counts: Readonly<Record<StepVerdict, number>>;
}

/** What a plan is made from. Nothing here is changed, and nothing outside the selected paths is looked at. */
export interface PlanInput {
  readonly runId: RunId;
  readonly capsule: Digest;
  readonly root: Dir;
  /** In the order of a walk. */
  readonly changes: Iterable<ChangeRecord>;
  /** Only these paths and what is below them; empty: all. */
  readonly paths: readonly RelPath[];
  readonly objects: ObjectReader;
  readonly mounts: ReadonlySet<string>;
  /** Where the run looked less closely, and by which rule. */
  readonly lowered: readonly Pick<Lowering, 'path' | 'level' | 'rule'>[];
}

/** Compares each selected change with what is in the workspace now. */
export function makePlan(input: PlanInput): RecoverPlan {
  const drafts = select(input);
  for (const draft of drafts.values()) judge(draft, drafts, input);
  refuseConflicts(drafts, input.root);
  const steps = [...drafts.values()].map((draft) => toStep(draft, input.objects));
  const counts = { apply: 0, already: 0, refused: 0 };
  for (const step of steps) counts[step.verdict]++;
  const { runId, capsule } = input;
  return { runId, capsule, digest: digestPlan(runId, capsule, steps), steps, counts };
}

/** The selected changes, and the directories above them that the run took away and that they need. */
function select({ changes, paths }: PlanInput): Map<RelPath, Draft> {
  const drafts = new Map<RelPath, Draft>();
  for (const record of changes) {
    const isSelected = paths.length === 0 || paths.some((path) => isWithin(record.path, path));
    const isTakenAway = record.before?.state.kind === 'directory' && record.after?.state.kind !== 'directory';
    const isNeeded = isTakenAway && paths.some((path) => isWithin(path, record.path));
    if (!isSelected && !isNeeded) continue;
    const { path, before, after } = record;
    const mtimeNs = before?.particulars?.mtimeNs;
    const wanted = before && { state: before.state, ...(mtimeNs === undefined ? {} : { mtimeNs }) };
    drafts.set(path, { record, path, expected: after?.state, wanted, verdict: 'apply' });
  }
  return drafts;
}

function toStep(draft: Draft, objects: PlanInput['objects']): PlannedStep {
  const { record, path, expected, wanted, verdict, refusal } = draft;
  const action =
    wanted === undefined ? 'remove' : isMetadataOnly(expected, wanted.state) ? 'change-mode' : 'restore';
  const links = wanted?.state.kind === 'file' ? (record.before?.particulars?.nlink ?? 1) : 1;
  return {
    path,
    action,
    kind: wanted?.state.kind ?? expected?.kind ?? 'file',
    ...(expected === undefined ? {} : { expected }),
    ...(wanted === undefined ? {} : { wanted }),
    ...(action === 'restore' && links > 1 && { links }),
    ...(verdict === 'apply' && action !== 'change-mode' && isUnkept(expected, objects) && { unkept: true }),
    verdict,
    ...(refusal === undefined ? {} : { code: refusal.code, detail: refusal.detail }),
  };
}

function isUnkept(state: State | undefined, objects: PlanInput['objects']): boolean {
  if (state?.kind !== 'file') return false;
  return state.content.is !== 'digest' || !objects.has(state.content.digest);
}

function digestPlan(runId: RunId, capsule: Digest, steps: readonly PlannedStep[]): Digest {
  const shown = steps.map(({ path, expected, wanted, verdict, code }) => ({
    ...toJsonPath(path),
    ...(expected === undefined ? {} : { expected }),
    ...(wanted === undefined ? {} : { wanted: wanted.state }),
    verdict,
    ...(code === undefined ? {} : { code }),
  }));
  return digestOf(canonicalJson({ runId, capsule, steps: shown }));
}

/** Orders steps so that what is inside a directory comes before it. */
export function deepestFirst(a: PlannedStep, b: PlannedStep): number {
  return namesOf(b.path).length - namesOf(a.path).length || compareBytes(a.path, b.path);
}
