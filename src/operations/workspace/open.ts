import { AgentdiffError, type RunId } from '../../core/index.ts';
import type { Dir } from '../../fs/index.ts';
import { Store, workspaceId, type WorkspaceStore } from '../../store/index.ts';
import type { Context, Place } from './context.ts';
import { findSealedRun } from './find-run.ts';
import { findRoot, type Root } from './root.ts';

/** The workspace at hand and what the store holds of it, for reading. */
export interface Opened {
  readonly root: Root;
  readonly store: WorkspaceStore;
  readonly close: () => void;
}

/** @throws ROOT_UNREADABLE, STORE_NOT_OWNED, STORE_VERSION */
export function openForReading(context: Context, place: Place): Opened {
  const root = findRoot(context, place);
  let whole: Store | undefined;
  try {
    whole = Store.open(place.store);
    const store = whole.workspace(workspaceId(root.path));
    const close = (): void => {
      store.close();
      whole?.close();
      root.dir.close();
    };
    return { root, store, close };
  } catch (error) {
    whole?.close();
    root.dir.close();
    throw error;
  }
}

/**
 * Runs `use` with the directory of a sealed capsule.
 * @param ref a run id, a unique prefix of one, or `last`
 * @throws RUN_UNKNOWN, RUN_AMBIGUOUS, RUN_UNSEALED, CAPSULE_NOT_FOUND
 */
export function withCapsule<T>(store: WorkspaceStore, ref: string, use: (dir: Dir, runId: RunId) => T): T {
  const runId = findSealedRun(store, ref);
  const dir = store.openCapsule(runId);
  if (dir === undefined)
    throw new AgentdiffError('CAPSULE_NOT_FOUND', `the capsule of run ${runId} cannot be opened`);
  try {
    return use(dir, runId);
  } finally {
    dir.close();
  }
}
