import { errnoOf, isRunId, type Name, type RunId } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { isTemporaryName, removeTree } from '../fs/write.ts';
import { FILE, packIndexName, runOf } from './layout.ts';
import { tryOpenDir } from './place.ts';
import { type OwnerState, ownerState } from './owner.ts';
import { removeRun } from './run.ts';

/** The folders that can hold leftovers. */
export interface LeftoverFolders {
  readonly workspace: Dir;
  readonly packs: Dir;
  readonly large: Dir;
  readonly pending: Dir;
  readonly capsules: Dir;
}

/**
 * Where it cannot be told whether a process lives (another pid namespace, boot or machine), only what was untouched for a day goes: a scan
 * writes more often than that.
 */
const STALE_MS = 24 * 60 * 60 * 1000;

/**
 * Removes what ended processes left half-done: packs without an index, temporary files, runs that never wrote an intent or are published
 * already. A run with an intent stays: its before-snapshot is evidence. What cannot be removed stays for the next time.
 * @param now milliseconds since the epoch
 */
export function removeLeftovers(folders: LeftoverFolders, now: number): void {
  const states = new Map<RunId, OwnerState>();
  const mayGo = (run: RunId | undefined, dir: Dir, name: Name): boolean => {
    const state = run === undefined ? 'unknown' : (states.get(run) ?? stateOf(folders.pending, run));
    if (run !== undefined) states.set(run, state);
    return state === 'dead' || (state === 'unknown' && isStale(dir, name, now));
  };
  for (const [dir, name] of [...unfinishedObjects(folders), ...temporaries(folders)]) {
    if (mayGo(runOf(name), dir, name)) quietly(() => removeTree(dir, name));
  }
  for (const run of deadEnds(folders)) {
    const name = run as string as Name;
    if (mayGo(run, folders.pending, name)) quietly(() => removeRun(folders.pending, name));
  }
}

function* unfinishedObjects({ packs, large }: LeftoverFolders): Generator<[Dir, Name]> {
  const names = new Set(packs.names());
  for (const name of names) {
    const isUnfinishedPack = name.endsWith('.pack') && !names.has(packIndexName(name));
    if (runOf(name) !== undefined && (isUnfinishedPack || name.endsWith('.tmp'))) yield [packs, name];
  }
  for (const name of large.names())
    if (runOf(name) !== undefined && name.endsWith('.tmp')) yield [large, name];
}

function* temporaries({ workspace, pending }: LeftoverFolders): Generator<[Dir, Name]> {
  for (const dir of [workspace, pending]) {
    for (const name of dir.names()) if (isTemporaryName(name)) yield [dir, name];
  }
}

/** Pending runs that lead nowhere: without an intent, or sealed. */
function* deadEnds({ pending, capsules }: LeftoverFolders): Generator<RunId> {
  for (const name of pending.names()) {
    if (!isRunId(name)) continue;
    const isSealed = capsules.tryLstat(name) !== undefined;
    if (isSealed || within(pending, name, (run) => run.tryLstat(FILE.intent) === undefined) === true)
      yield name;
  }
}

function stateOf(pending: Dir, run: RunId): OwnerState {
  return within(pending, run as string as Name, ownerState) ?? 'unknown';
}

function isStale(dir: Dir, name: Name, now: number): boolean {
  const seen = dir.tryLstat(name);
  return seen !== undefined && Number(seen.mtimeNs / 1_000_000n) < now - STALE_MS;
}

function within<T>(dir: Dir, name: Name, use: (child: Dir) => T): T | undefined {
  const child = tryOpenDir(dir, name);
  try {
    return child && use(child);
  } finally {
    child?.close();
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
