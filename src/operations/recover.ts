import { CapsuleReader, pathOfDocument } from '../capsule/index.ts';
import {
  AgentdiffError,
  type Digest,
  EXIT,
  lossyText,
  type RelPath,
  type RunId,
  toJsonPath,
} from '../core/index.ts';
import { freeSpace, mountPoints } from '../fs/index.ts';
import { builtInPolicy, decideLaunch, isLaunchPermit, type Policy } from '../policy/index.ts';
import { parsePolicy } from '../policy/parse.ts';
import { workspaceId, type WorkspaceStore } from '../store/index.ts';
import { holdSignals, SYNC_ARGV, syncFileSystem } from '../supervisor/index.ts';
import { refuseUnseen } from './diff.ts';
import { applyPlan, plannedResult, type StepResult } from './recover/apply.ts';
import { confirmResults } from './recover/confirm.ts';
import { withGitRecords } from './recover/git-record.ts';
import { makePlan, type RecoverPlan } from './recover/plan.ts';
import {
  newestCommandRun,
  pathsWithoutChange,
  refuseActiveRun,
  refuseDamaged,
  refuseOtherRoot,
  withOwnRoot,
} from './recover/preconditions.ts';
import { refuseLackOfSpace } from './recover/space.ts';
import { Staging } from './recover/staging.ts';
import type { Context, Place } from './workspace/context.ts';
import { findSealedRun } from './workspace/find-run.ts';
import { openForReading } from './workspace/open.ts';
import { checkRoot, mountsBelow, type Root } from './workspace/root.ts';
import { toSealError } from './workspace/seal-error.ts';
import { type Sealed, Session } from './workspace/session.ts';
import { TOOL_DIRECTORY, toolEnvironment } from './workspace/tools.ts';

export type { StepResult } from './recover/apply.ts';
export type { PlannedStep, RecoverPlan, StepVerdict } from './recover/plan.ts';
export type { RefusalCode } from './recover/refusal.ts';

/** What is to be taken back. */
export interface RecoverRequest {
  readonly place: Place;
  /** A run id, a unique prefix, or `last`; undefined: the newest run of a command, so that a second recover finds the same run again. */
  readonly ref: string | undefined;
  /** Only these paths and what is below them; empty: all that the run changed. */
  readonly paths: readonly RelPath[];
}

export interface RecoverReport {
  /** Of the recover itself: it has a capsule of its own. Absent when there was nothing to do. */
  readonly runId?: RunId;
  readonly recovers: RunId;
  readonly results: readonly StepResult[];
  readonly counts: Readonly<Record<StepResult['result'], number>>;
  /** Absent when the recover could not be sealed; what it did to the workspace is in `results` all the same. */
  readonly sealed?: Sealed;
  readonly sealError?: AgentdiffError;
  readonly exitStatus: number;
}

/**
 * Says what a recover would do. Changes nothing, in the workspace or in the store.
 * @throws RUN_…, CAPSULE_DAMAGED, CAPSULE_INVALID, CAPSULE_VERSION, ROOT_REPLACED, RUN_ACTIVE, PATH_NOT_IN_RUN
 */
export function planRecover(context: Context, request: RecoverRequest): RecoverPlan {
  const { root, store, close } = openForReading(context, request.place);
  try {
    const runId = request.ref === undefined ? newestCommandRun(store) : findSealedRun(store, request.ref);
    refuseActiveRun(store);
    const plan = planFor(root, store, runId, request.paths);
    refuseLackOfSpace(plan.steps, freeSpace(root.path));
    return plan;
  } finally {
    close();
  }
}

/** How a person, or a script on a person's behalf, agreed to the plan. A label of how it was obtained, not an identity. */
export type Consent = 'terminal' | 'yes';

/**
 * Carries out a plan that was shown. It is made again first, and must be the same: a workspace that moved meanwhile gets another plan, and
 * nothing is touched.
 * @throws as {@link planRecover}, NOT_APPROVED when the plan is another one now, and what opening the store throws; nothing was touched then
 */
export function applyRecover(
  context: Context,
  request: RecoverRequest,
  shown: RecoverPlan,
  consent: Consent,
): RecoverReport {
  const { place, paths } = request;
  if (shown.counts.apply === 0) return nothingToDo(shown);
  const opened = openForReading(context, place);
  const { root, store } = opened;
  try {
    // The run that is taken back was made in this very root; it was allowed then.
    const position = checkRoot(root, context, { ...place, allowAnyRoot: true });
    refuseActiveRun(store);
    const argv = ['agentdiff', 'recover', shown.runId, ...paths.map(lossyText)];
    const session = Session.open(context, place, root, position, {
      kind: 'recover',
      argv,
      policy: policyOf(store, shown.runId),
      // What a command did to fill the disk must not stand in the way of taking it back.
      whenFull: 'lower',
      recovers: shown.runId,
    });
    // From the intent on a Ctrl-C waits until each name is old or new and the capsule says so.
    let release = (): void => {};
    try {
      session.snapshotBefore(() => {
        release = holdSignals();
      });
      const plan = planAgain(session, shown, () => {
        refuseActiveRun(store, session.runId);
        return planFor(root, store, shown.runId, paths, shown.capsule);
      });
      return perform(context, root, session, plan, consent);
    } finally {
      session.close();
      release();
    }
  } finally {
    opened.close();
  }
}

function perform(
  context: Context,
  root: Root,
  session: Session,
  plan: RecoverPlan,
  consent: Consent,
): RecoverReport {
  session.event({ type: 'plan-made', digest: plan.digest, transitions: plan.steps.length });
  session.event({ type: 'consent-given', by: consent });
  const staging = new Staging(root.dir, session.workspace.store.objects, () => syncAll(context, root));
  const applied = applyPlan(root.dir, plan, staging);
  const wanted = new Map(plan.steps.map((step) => [step.path, step.wanted?.state]));
  let results = withGitRecords(applied.results, wanted, session.workspace.store.objects, root.path);
  try {
    applied.makeDurable();
    session.snapshotAfter();
    results = confirmResults(plan, results, session.differences());
    return sealed(context, session, plan, results, consent);
  } catch (error) {
    return { ...reportOf(session, plan, results), sealError: toSealError(error), exitStatus: EXIT.partly };
  }
}

function sealed(
  context: Context,
  session: Session,
  plan: RecoverPlan,
  results: readonly StepResult[],
  consent: Consent,
): RecoverReport {
  for (const result of results) {
    context.log.debug(result, 'recover step');
    session.event(toStepEvent(result));
  }
  const report = reportOf(session, plan, results);
  const { refused } = report.counts;
  const ending = {
    exit: { started: false },
    launch: { decision: 'allow', rule: `consent: ${consent}` },
    child: {},
    // What was done was done; what was refused is for a person to look at.
    outcome: () => (refused > 0 ? 'review' : 'passed'),
  } as const;
  const seal = session.seal(ending, () => {});
  // What was put back is not where it is looked for when the root is not at its path any more.
  const isWhole = refused === 0 && seal.capsule.coverage.root === undefined;
  return { ...report, sealed: seal, exitStatus: isWhole ? EXIT.done : EXIT.partly };
}

function reportOf(
  { runId }: Session,
  plan: RecoverPlan,
  results: readonly StepResult[],
): Pick<RecoverReport, 'recovers' | 'results' | 'counts'> & { runId: RunId } {
  return { runId, recovers: plan.runId, results, counts: countResults(results) };
}

/** @param known the digest of a capsule that was found whole already: only its files are compared again then */
function planFor(
  root: Root,
  store: WorkspaceStore,
  runId: RunId,
  paths: readonly RelPath[],
  known?: Digest,
): RecoverPlan {
  const dir = store.openCapsule(runId);
  if (dir === undefined)
    throw new AgentdiffError('CAPSULE_NOT_FOUND', `the capsule of run ${runId} cannot be opened`);
  try {
    const reader = CapsuleReader.open(dir);
    refuseDamaged(reader, store, runId, known);
    const document = reader.document();
    const changes = withOwnRoot([...reader.changes()], document, root);
    refuseOtherRoot(document, changes, root);
    refuseUnseen(pathsWithoutChange(paths, changes));
    return makePlan({
      runId,
      capsule: reader.digest(),
      root: root.dir,
      changes,
      paths,
      objects: store.objects,
      mounts: mountsBelow(root, mountPoints()),
      lowered: document.coverage.lowered.map((place) => ({ ...place, path: pathOfDocument(place) })),
    });
  } finally {
    dir.close();
  }
}

/**
 * A recover looks at the workspace as the run did, whatever the policy file says by now: the run may have changed that too.
 * @throws CAPSULE_NOT_FOUND, CAPSULE_DAMAGED, POLICY_UNSUPPORTED
 */
function policyOf(store: WorkspaceStore, runId: RunId): Policy {
  const dir = store.openCapsule(runId);
  if (dir === undefined)
    throw new AgentdiffError('CAPSULE_NOT_FOUND', `the capsule of run ${runId} cannot be opened`);
  try {
    return parsePolicy(CapsuleReader.open(dir).policy());
  } finally {
    dir.close();
  }
}

function syncAll(context: Context, root: Root): boolean {
  const { permit } = decideLaunch(builtInPolicy(), {
    argv: SYNC_ARGV,
    cwd: TOOL_DIRECTORY,
    workspaceId: workspaceId(root.path),
  });
  if (permit === undefined) return false;
  const env = toolEnvironment(context, root.path);
  return syncFileSystem(permit, root.dir.fd, { isPermit: isLaunchPermit, env });
}

function toStepEvent({ path, result, code }: StepResult): Parameters<Session['event']>[0] {
  return { type: 'recover-step', ...toJsonPath(path), result, ...(code && { reason: code }) };
}

function nothingToDo({ runId, steps }: RecoverPlan): RecoverReport {
  const results = steps.map(plannedResult);
  const counts = countResults(results);
  return { recovers: runId, results, counts, exitStatus: counts.refused > 0 ? EXIT.partly : EXIT.done };
}

function countResults(results: readonly StepResult[]): RecoverReport['counts'] {
  const counts = { restored: 0, removed: 0, 'already-right': 0, refused: 0 };
  for (const { result } of results) counts[result]++;
  return counts;
}

/** When this fails nothing was touched yet, so the session never was. @throws NOT_APPROVED */
function planAgain(session: Session, shown: RecoverPlan, make: () => RecoverPlan): RecoverPlan {
  try {
    const plan = make();
    if (plan.digest === shown.digest) return plan;
  } catch (error) {
    session.abandon();
    throw error;
  }
  session.abandon();
  throw new AgentdiffError(
    'NOT_APPROVED',
    'the workspace changed after the plan was shown; nothing was touched',
    {
      hint: 'run recover again to see the plan as it is now',
    },
  );
}
