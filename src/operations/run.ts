import type { CapsuleDocument, ChangeTotals, ExitDocument } from '../capsule/index.ts';
import { toTimeDocument } from '../capsule/write.ts';
import {
  AgentdiffError,
  type ByteString,
  escapeText,
  exitStatusOf,
  RUN_EXIT,
  type RunId,
} from '../core/index.ts';
import { hasTerminal } from '../fs/index.ts';
import {
  decideLaunch,
  type Decision,
  type Ending,
  isLaunchPermit,
  type LaunchDecision,
  type LaunchPermit,
  outcomeOf,
  type Policy,
  type PolicyFlags,
  worstOf,
} from '../policy/index.ts';
import { workspaceId } from '../store/index.ts';
import { type ChildResult, launch, type Supervision } from '../supervisor/index.ts';
import { keepBudget, type RetentionNote } from './gc/after-run.ts';
import type { Context, Place } from './workspace/context.ts';
import { noticesOf, type RunNotice } from './workspace/notices.ts';
import { loadPolicy } from './workspace/policy-file.ts';
import { launchProblem } from './workspace/program.ts';
import { checkRoot, findRoot, type Root, type StorePosition } from './workspace/root.ts';
import { toSealError } from './workspace/seal-error.ts';
import { RUN_ID_VARIABLE, type Sealed, Session } from './workspace/session.ts';
import { type ChangeSummary, Summarizer } from './workspace/summary.ts';

export interface RunRequest {
  readonly argv: readonly [command: string, ...rest: string[]];
  readonly place: Place;
  /** `--policy`: this policy file instead of the one at the root; absolute. */
  readonly policyFile?: ByteString;
  readonly policyFlags: PolicyFlags;
  /** Start the command even when the store has no room for the content that is to be kept. */
  readonly bestEffort: boolean;
  /** Read every file, whatever its times say. */
  readonly fullScan: boolean;
  readonly task?: string;
  /** From which decision about a change on a successful child still gives status 3. */
  readonly failOn: 'never' | 'review' | 'deny';
  /** Asked once, after the first scan: throws when the caller wants no command started any more. The run never was then. */
  readonly refuseInterrupted?: () => Promise<void>;
}

export type { RunNotice } from './workspace/notices.ts';

export interface RunReport {
  readonly runId: RunId;
  readonly root: ByteString;
  /** Absent when the run could not be sealed; `sealError` says why. */
  readonly sealed?: Sealed;
  readonly sealError?: AgentdiffError;
  readonly exit: ExitDocument;
  readonly summary: ChangeSummary;
  /** What retention did, or could not do, after the seal. */
  readonly retention?: RetentionNote;
  /** Why the child was not started: COMMAND_NOT_FOUND, COMMAND_NOT_EXECUTABLE, COMMAND_BLOCKED, LAUNCH_FAILED. */
  readonly launchProblem?: AgentdiffError;
  /** The status that `run` ends with. */
  readonly exitStatus: number;
}

/**
 * Observes the workspace, launches the command under the policy, observes again, and seals what happened.
 * @throws what goes wrong before the child starts; afterwards failures are in the report, beside the child's own status
 */
export async function run(
  context: Context,
  request: RunRequest,
  onNotice: (notice: RunNotice) => void,
): Promise<RunReport> {
  const root = findRoot(context, request.place);
  try {
    const position = checkRoot(root, context, request.place);
    const file = request.policyFile;
    const policy = await loadPolicy(root, {
      flags: request.policyFlags,
      ...(file !== undefined && { file }),
    });
    return await observeRun(context, request, root, position, policy, onNotice);
  } finally {
    root.dir.close();
  }
}

async function observeRun(
  context: Context,
  request: RunRequest,
  root: Root,
  position: StorePosition,
  policy: Policy,
  onNotice: (notice: RunNotice) => void,
): Promise<RunReport> {
  const { place, argv, task } = request;
  const session = Session.open(context, place, root, position, {
    kind: 'run',
    argv,
    policy,
    whenFull: request.bestEffort ? 'lower' : 'stop',
    readsAll: request.fullScan,
    ...(task && { task }),
  });
  try {
    const before = session.snapshotBefore();
    await request.refuseInterrupted?.();
    if (position === 'inside') onNotice({ kind: 'store-inside', store: place.store });
    for (const notice of noticesOf(before, policy)) onNotice(notice);
    return await observeChild(context, request, root, policy, session);
  } catch (error) {
    // Whatever is thrown is thrown before a child was started; afterwards everything is in the report.
    session.abandon();
    throw error;
  } finally {
    session.close();
  }
}

async function observeChild(
  context: Context,
  request: RunRequest,
  root: Root,
  policy: Policy,
  session: Session,
): Promise<RunReport> {
  const decision = decideLaunch(policy, {
    argv: request.argv,
    cwd: context.cwd,
    workspaceId: workspaceId(root.path),
  });
  session.event({ type: 'launch-decided', decision: decision.decision, rule: decision.rule });
  const supervision = decision.permit && superviseChild(context, session, decision.permit);
  try {
    const child = await supervision?.ended;
    return await finish(context, request, root, session, decision, child);
  } finally {
    supervision?.release();
  }
}

function superviseChild(context: Context, session: Session, permit: LaunchPermit): Supervision {
  return launch(permit, {
    isPermit: isLaunchPermit,
    env: { ...context.environment, [RUN_ID_VARIABLE]: session.runId },
    terminal: hasTerminal(),
    now: context.monotonic,
    onEvent: (event) => {
      // Nested: the event's `pid` is the child's, a line's own is ours.
      context.log.debug({ event }, 'supervisor');
      session.event(event);
    },
  });
}

/** From here on the child's own status counts most, whatever becomes of the capsule. */
async function finish(
  context: Context,
  request: RunRequest,
  root: Root,
  session: Session,
  decision: LaunchDecision,
  child: ChildResult | undefined,
): Promise<RunReport> {
  const exit = toExitDocument(child);
  const problem = problemOf(context, request, decision, child);
  const summarizer = new Summarizer();
  const report = { runId: session.runId, root: root.path, exit, ...(problem && { launchProblem: problem }) };
  try {
    session.snapshotAfter();
    const sealed = session.seal(
      {
        exit,
        launch: { decision: decision.decision, rule: decision.rule },
        child: childTimes(context, child),
        outcome: (totals) => outcomeOf(worstDecision(totals), toEnding(child), receivedNumbers(child)),
      },
      (change) => summarizer.add(change),
    );
    const exitStatus = exitStatusOfRun(exit, problem, sealed.capsule, request.failOn);
    const added = { run: session.runId, bytes: session.newBytes, lackedRoom: session.lackedRoom };
    const retention = await keepBudget(session.workspace, added, context.now(), session.storeBudget);
    return {
      ...report,
      sealed,
      summary: summarizer.summary(),
      ...(retention && { retention }),
      exitStatus,
    };
  } catch (error) {
    const sealError = toSealError(error);
    context.log.warn({ err: error }, 'the run could not be sealed');
    return {
      ...report,
      sealError,
      summary: summarizer.summary(),
      exitStatus: statusOfChild(exit, problem) || RUN_EXIT.failed,
    };
  }
}

function problemOf(
  context: Context,
  { argv }: RunRequest,
  decision: LaunchDecision,
  child: ChildResult | undefined,
): AgentdiffError | undefined {
  const [program] = argv;
  if (child === undefined) {
    return new AgentdiffError(
      'COMMAND_BLOCKED',
      `${escapeText(program)}: not started, denied by rule ${decision.rule}`,
    );
  }
  if (child.end.kind !== 'not-started') return undefined;
  return launchProblem(program, child.end.errno, context.environment['PATH'], context.cwd);
}

function toExitDocument(child: ChildResult | undefined): ExitDocument {
  if (child === undefined) return { started: false };
  const { end } = child;
  if (end.kind === 'not-started') return { started: false, errno: end.errno };
  if (end.kind === 'exited') return { started: true, code: end.code };
  return { started: true, signal: end.signal, signalNumber: end.number };
}

function toEnding(child: ChildResult | undefined): Ending {
  return child?.end ?? { kind: 'blocked' };
}

function receivedNumbers(child: ChildResult | undefined): number[] {
  return child?.received.map(({ number }) => number) ?? [];
}

function worstDecision({ decisions }: ChangeTotals): Decision {
  return worstOf((['allow', 'review', 'deny'] as const).filter((decision) => decisions[decision] > 0));
}

function childTimes(
  context: Context,
  child: ChildResult | undefined,
): Pick<CapsuleDocument['times'], 'childStartedAt' | 'childEndedAt' | 'childDurationMs'> {
  if (child === undefined || child.end.kind === 'not-started') return {};
  // The monotonic readings placed on the wall clock of this moment: they keep their true distance if the clock was set meanwhile.
  const wall = (ns: bigint): string =>
    toTimeDocument(context.now() - Number((context.monotonic() - ns) / 1_000_000n));
  return {
    childStartedAt: wall(child.startedAtNs),
    childEndedAt: wall(child.endedAtNs),
    childDurationMs: Number((child.endedAtNs - child.startedAtNs) / 1_000_000n),
  };
}

function statusOfChild(exit: ExitDocument, problem: AgentdiffError | undefined): number {
  if (problem !== undefined) return exitStatusOf(problem.code, 'run');
  return exit.signalNumber === undefined ? (exit.code ?? 0) : 128 + exit.signalNumber;
}

function exitStatusOfRun(
  exit: ExitDocument,
  problem: AgentdiffError | undefined,
  { outcome }: CapsuleDocument,
  failOn: RunRequest['failOn'],
): number {
  const status = statusOfChild(exit, problem);
  if (status !== 0) return status;
  const fails = (failOn !== 'never' && outcome === 'denied') || (failOn === 'review' && outcome === 'review');
  return fails ? RUN_EXIT.outcome : 0;
}
