import { AgentdiffError, type ByteString, errnoOf, lossyText, type RunId } from '../core/index.ts';
import { type Dir, freeSpace, hasTerminal } from '../fs/index.ts';
import { ensurePath } from '../fs/write.ts';
import { builtInPolicy } from '../policy/index.ts';
import { Store } from '../store/index.ts';
import { type Check, failureCheck } from './doctor/check.ts';
import { keptCheck, loweredOf, type LoweredPlaces, policyCheck } from './doctor/policy.ts';
import { overlayCheck, programChecks } from './doctor/programs.ts';
import { budgetCheck, type StoreFigures, storeFigures } from './doctor/store-figures.ts';
import { runTrials, type Trials, withScratch } from './doctor/trials.ts';
import { planRecover, type RecoverPlan } from './recover.ts';
import { type CapsuleVerdict, verifyCapsule } from './verify.ts';
import type { Context, Place } from './workspace/context.ts';
import { spaceToLeave } from './workspace/budget.ts';
import { findSealedRun } from './workspace/find-run.ts';
import { pendingRuns } from './workspace/intent.ts';
import { openForReading } from './workspace/open.ts';
import { checkRoot, findRoot } from './workspace/root.ts';

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
    checks.push(unsealedCheck(context, place), keptCheck(context, place));
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

/** All that is tried by writing into the store, or the one check that nothing can be written there. */
async function scratchChecks(context: Context, place: Place, store: Dir): Promise<Check[]> {
  try {
    return await withScratch(store, async (scratch, name) => [
      ...trialChecks(runTrials(scratch)),
      await overlayCheck(context, place, scratch, name),
    ]);
  } catch (error) {
    return [failureCheck('store-writable', 'writing in the store', toStoreError(place, error))];
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

function rootCheck(context: Context, place: Place): Check {
  try {
    const root = findRoot(context, place);
    try {
      checkRoot(root, context, place);
      return {
        id: 'root',
        title: 'workspace root',
        status: 'ok',
        detail: `${lossyText(root.path)} (found by ${root.chosenBy})`,
      };
    } finally {
      root.dir.close();
    }
  } catch (error) {
    return failureCheck('root', 'workspace root', error);
  }
}

/** The store is checked as a run would check it, and made if it is not there yet. */
function openStore(place: Place): Dir {
  Store.open(place.store).close();
  try {
    return ensurePath(place.store);
  } catch (error) {
    throw toStoreError(place, error);
  }
}

/** What failed is what a run would fail with. Errors that are not the system's come through. */
function toStoreError(place: Place, cause: unknown): unknown {
  const errno = errnoOf(cause);
  if (errno === undefined) return cause;
  const code = ['ENOSPC', 'EDQUOT'].includes(errno) ? 'STORE_FULL' : 'STORE_UNWRITABLE';
  return new AgentdiffError(code, `the store cannot be written: ${lossyText(place.store)} (${errno})`, {
    hint: 'name another place with --store or AGENTDIFF_STORE',
    cause,
  });
}

function storeChecks(place: Place, store: Dir): Check[] {
  const { uid, mode } = store.stat();
  const { free, total } = freeSpace(place.store);
  // As a run asks for it that nobody told otherwise.
  const isLow = free < spaceToLeave(builtInPolicy().limits, total);
  return [
    {
      id: 'store',
      title: 'store',
      status: 'ok',
      detail: `${lossyText(place.store)}, owner ${uid}, mode ${mode.toString(8).padStart(4, '0')}`,
    },
    {
      id: 'free-space',
      title: 'free space',
      status: isLow ? 'limited' : 'ok',
      detail: `${(free / 2 ** 30).toFixed(1)} GiB of ${(total / 2 ** 30).toFixed(1)} GiB on the file system of the store`,
      ...(isLow && { advice: 'free some space, or name another place with --store or AGENTDIFF_STORE' }),
    },
  ];
}

function trialChecks(trials: Trials): Check[] {
  const { anchored, noFollow, clone, clockStepNs, byteNames, hardLinks } = trials;
  return [
    check(
      'anchored',
      'anchored access',
      anchored,
      'directories are held by handle; nobody can swap a parent',
      {
        status: 'limited',
        detail: 'directories are compared by identity before and after use, which leaves a window',
      },
    ),
    check('no-follow', 'links are not followed', noFollow, 'opening a link is refused by the system', {
      status: 'failed',
      detail: 'this file system opens a link although it was told not to',
    }),
    check(
      'clone',
      'cloning in the store',
      clone,
      'files over 1 MiB can be cloned into it where the workspace is on the same file system',
      {
        status: 'missing',
        detail: 'this file system cannot clone: contents are copied',
      },
    ),
    check('hard-links', 'hard links', hardLinks, 'the file system of the store has them', {
      status: 'limited',
      detail: 'none on the file system of the store; a recover needs them in the workspace',
    }),
    check('names', 'names that are not UTF-8', byteNames, 'kept byte for byte', {
      status: 'limited',
      detail: 'this file system takes UTF-8 names only',
    }),
    check(
      'clock',
      'clock of the file system',
      clockStepNs !== undefined,
      `steps of ${clockStepNs ?? 0n} ns were seen`,
      {
        status: 'limited',
        detail: 'no step was seen; files written just before a scan are read again',
      },
    ),
  ];
}

function check(
  id: string,
  title: string,
  works: boolean,
  found: string,
  otherwise: Pick<Check, 'status' | 'detail'>,
): Check {
  return works ? { id, title, status: 'ok', detail: found } : { id, title, ...otherwise };
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
