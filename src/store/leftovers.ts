import { errnoOf } from '../core/index.ts';
import { removeTree } from '../fs/write.ts';
import { removeRun } from './run.ts';
import { isStale, type StoreFolders, unfinished } from './unfinished.ts';

/**
 * Removes what ended processes left half-done: packs without an index, temporary files, locks, capsules that were being removed, runs that never
 * wrote an intent or are published already. A run with an intent stays: its before-snapshot is evidence. What cannot be removed stays for the next time.
 * @param now milliseconds since the epoch
 * @param alone the caller has the workspace for itself, and no run is active
 */
export function removeLeftovers(folders: StoreFolders, now: number, alone = false): void {
  for (const { dir, name, kind, owner } of unfinished(folders, alone)) {
    const state = owner();
    if (state === 'alive' || (state === 'unknown' && !isStale(dir, name, now))) continue;
    quietly(() => (kind === 'run' ? removeRun(dir, name) : removeTree(dir, name)));
  }
}

function quietly(remove: () => void): void {
  try {
    remove();
  } catch (error) {
    // Another process may have been faster, or the entry cannot be removed: neither keeps a run from starting.
    if (errnoOf(error) === undefined) throw error;
  }
}
