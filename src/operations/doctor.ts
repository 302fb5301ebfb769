import { AgentdiffError, type ByteString, lossyText, type RunId } from '../core/index.ts';
import { hasTerminal } from '../fs/index.ts';
import { type Check, check, failureCheck } from './doctor/check.ts';
import { capsulesCheck } from './doctor/capsules.ts';
import { keptCheck, loweredOf, type LoweredPlaces, policyCheck } from './doctor/policy.ts';
import { programChecks } from './doctor/programs.ts';
import { budgetCheck, type StoreFigures, storeFigures } from './doctor/store-figures.ts';
import { openStore, scratchChecks, storeChecks } from './doctor/store.ts';
import { planRecover, type RecoverPlan } from './recover.ts';
import { type CapsuleVerdict, verifyCapsule } from './verify.ts';
import type { Context, Place } from './workspace/context.ts';
import { findSealedRun } from './workspace/find-run.ts';
import { pendingRuns } from './workspace/intent.ts';
import { openForReading } from './workspace/open.ts';
import { checkRoot, findRoot, type Root } from './workspace/root.ts';

export type { Check } from './doctor/check.ts';
export type { LoweredPlaces } from './doctor/policy.ts';
export type { StoreFigures } from './doctor/store-figures.ts';

export interface DoctorReport {
  readonly store: ByteString;
  readonly checks: readonly Check[];
  /** Of this workspace; absent when its part of the store cannot be read, which a check says. */
  readonly figures?: StoreFigures;
}

/** What this machine can do, each found by trying it in the store's own directory. A part that fails keeps no other from being tried. */
export async function examineMachine(
  context: Context,
  place: Place,
  policyFile?: ByteString,
): Promise<DoctorReport> {
  const checks: Check[] = [rootCheck(context, place), await policyCheck(context, place, policyFile)];
  try {
    const store = openStore(place);
    try {
      checks.push(...storeChecks(place, store));
      checks.push(...(await scratchChecks(context, place, store)));
    } finally {
      store.close();
    }
  } catch (error) {
    checks.push(failureCheck('store', 'store', error));
  }
  checks.push(terminalCheck(), ...(await programChecks(context, place)));
  try {
    checks.push(unsealedCheck(context, place), keptCheck(context, place), capsulesCheck(context, place));
  } catch (error) {
    checks.push(failureCheck('unsealed', 'unsealed runs', error));
  }
  try {
    const figures = await storeFigures(context, place);
    return { store: place.store, checks: [...checks, budgetCheck(figures)], figures };
  } catch (error) {
    return {
      store: place.store,
      checks: [...checks, failureCheck('store-budget', 'budget of the store', error)],
    };
  }
}

/** What the capsule of one run is worth, and what could be recovered of it right now, path by path. */
export interface RunExamination {
  readonly runId: RunId;
  readonly capsule: CapsuleVerdict;
  /** Or why a recover would be refused as a whole: a damaged capsule, an active run, another root. */
  readonly plan: RecoverPlan | AgentdiffError;
  /** Where the run looked less closely than normal; absent when the capsule cannot be read. */
  readonly lowered?: LoweredPlaces;
}

/** @throws as `verifyCapsule` */
export function examineRun(context: Context, place: Place, ref: string): RunExamination {
  const { runId, lowered } = resolveRun(context, place, ref);
  const capsule = verifyCapsule(context, place, runId);
  return { runId, capsule, plan: planOrRefusal(context, place, runId), ...(lowered && { lowered }) };
}

function resolveRun(
  context: Context,
  place: Place,
  ref: string,
): { runId: RunId; lowered: LoweredPlaces | undefined } {
  const { store, close } = openForReading(context, place);
  try {
    const runId = findSealedRun(store, ref);
    return { runId, lowered: loweredOf(store, runId) };
  } finally {
    close();
  }
}

function planOrRefusal(context: Context, place: Place, runId: RunId): RecoverPlan | AgentdiffError {
  try {
    return planRecover(context, { place, ref: runId, paths: [] });
  } catch (error) {
    if (!(error instanceof AgentdiffError) || error.code === 'INTERNAL') throw error;
    return error;
  }
}

const FOUND_BY: Readonly<Record<Root['chosenBy'], string>> = {
  option: 'given by --root',
  environment: 'given by AGENTDIFF_ROOT',
  'policy-file': 'found by agentdiff.yaml',
  git: 'found by .git',
  cwd: 'the current directory',
};

function rootCheck(context: Context, place: Place): Check {
  try {
    const root = findRoot(context, place);
    try {
      checkRoot(root, context, place);
      return {
        id: 'root',
        title: 'workspace root',
        status: 'ok',
        detail: `${lossyText(root.path)} (${FOUND_BY[root.chosenBy]})`,
      };
    } finally {
      root.dir.close();
    }
  } catch (error) {
    return failureCheck('root', 'workspace root', error);
  }
}

function terminalCheck(): Check {
  return check('terminal', 'terminal', hasTerminal(), 'the child shares it, with Ctrl-C and job control', {
    status: 'limited',
    detail: 'none here: the child leads a session of its own, and recover needs --yes',
  });
}

function unsealedCheck(context: Context, place: Place): Check {
  const base = { id: 'unsealed', title: 'unsealed runs' };
  const { store, close } = openForReading(context, place);
  try {
    const interrupted = pendingRuns(store).filter((run) => !run.active);
    if (interrupted.length === 0) return { ...base, status: 'ok', detail: 'none of this workspace' };
    const begun = interrupted.filter(({ intent }) => intent !== undefined);
    const early = interrupted.filter(({ intent }) => intent === undefined);
    const idsOf = (runs: typeof begun): string => runs.map(({ runId }) => runId).join(', ');
    return {
      ...base,
      status: begun.length > 0 ? 'limited' : 'ok',
      detail: [
        ...(begun.length > 0 ? [`${begun.length} interrupted: ${idsOf(begun)}`] : []),
        ...(early.length > 0
          ? [`${early.length} interrupted before the command started, so nothing was run: ${idsOf(early)}`]
          : []),
      ].join('; '),
      ...(begun.length > 0 && {
        advice:
          'the before-snapshots of interrupted runs are kept; their commands may have run, and what they changed was not recorded',
      }),
    };
  } finally {
    close();
  }
}
