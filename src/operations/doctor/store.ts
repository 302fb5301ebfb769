import { AgentdiffError, type ByteString, errnoOf, lossyText, showBytes } from '../../core/index.ts';
import { Dir, freeSpace } from '../../fs/index.ts';
import { ensurePath } from '../../fs/write.ts';
import { builtInPolicy } from '../../policy/index.ts';
import { Store, workspaceId } from '../../store/index.ts';
import { spaceToLeave } from '../workspace/budget.ts';
import type { Context, Place } from '../workspace/context.ts';
import { findRoot } from '../workspace/root.ts';
import { type Check, failureCheck } from './check.ts';
import { overlayCheck } from './programs.ts';
import { trialChecks } from './trial-checks.ts';
import { runTrials, withScratch } from './trials.ts';

/** The store is checked as a run would check it, and made if it is not there yet. */
export function openStore(place: Place): Dir {
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

export function storeChecks(place: Place, store: Dir): Check[] {
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
      detail: `${showBytes(free)} of ${showBytes(total)} on the file system of the store`,
      ...(isLow && { advice: 'free some space, or name another place with --store or AGENTDIFF_STORE' }),
    },
  ];
}

/** All that is tried by writing into the store, or the one check that nothing can be written there. */
export async function scratchChecks(context: Context, place: Place, store: Dir): Promise<Check[]> {
  try {
    return await tryIn(context, place, store, place.store);
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    const own = ['EACCES', 'EPERM', 'EROFS'].includes(errno)
      ? await tryInWorkspace(context, place)
      : undefined;
    if (own !== undefined) return own;
    return [failureCheck('store-writable', 'writing in the store', toStoreError(place, error))];
  }
}

/** @param path of `dir`, absolute */
async function tryIn(context: Context, place: Place, dir: Dir, path: ByteString): Promise<Check[]> {
  return await withScratch(dir, async (scratch, name) => [
    ...trialChecks(runTrials(scratch)),
    await overlayCheck(context, place, scratch, `${path}/${name}`),
  ]);
}

/** A run writes into its own workspace's part only, once that is there. @returns undefined when that cannot be written either */
async function tryInWorkspace(context: Context, place: Place): Promise<Check[] | undefined> {
  let dir: Dir | undefined;
  try {
    const root = findRoot(context, place);
    root.dir.close();
    const path = `${place.store}/workspaces/${workspaceId(root.path)}`;
    dir = Dir.open(path);
    return await tryIn(context, place, dir, path);
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof AgentdiffError)) throw error;
    return undefined;
  } finally {
    dir?.close();
  }
}
