import { isRunId, type Name, type RunId } from '../core/index.ts';
import { type Dir, isTemporaryName } from '../fs/index.ts';
import { FILE, isLockName, isRemovedCapsuleName, packIndexName, runOf } from './layout.ts';
import { type OwnerState, ownerState, readOwner, runOwnerState } from './owner.ts';
import { tryOpenDir } from './place.ts';

/** The folders that can hold what is unfinished. */
export interface StoreFolders {
  readonly workspace: Dir;
  readonly packs: Dir;
  readonly large: Dir;
  readonly pending: Dir;
  readonly capsules: Dir;
}

/** Something that no reader takes for content. */
export interface Unfinished {
  readonly dir: Dir;
  readonly name: Name;
  readonly kind: 'object' | 'temporary' | 'lock' | 'run' | 'removed-capsule';
  /** Of the process that made it. */
  readonly owner: () => OwnerState;
}

/**
 * Where it cannot be told whether a process lives (another pid namespace, boot or machine), only what was untouched for a day goes: a scan
 * writes more often than that.
 */
const STALE_MS = 24 * 60 * 60 * 1000;

/** Not written for a day. @param now milliseconds since the epoch */
export function isStale(dir: Dir, name: Name, now: number): boolean {
  const seen = dir.tryLstat(name);
  return seen !== undefined && Number(seen.mtimeNs / 1_000_000n) < now - STALE_MS;
}

/**
 * All that is half-done in a workspace's part of the store: being worked on, or left by a process that ended.
 * @param alone nobody else writes here: an object of a run that is not pending is nobody's then
 */
export function* unfinished(folders: StoreFolders, alone = false): Generator<Unfinished> {
  const states = new Map<RunId, OwnerState>();
  const ofRun = (run: RunId): OwnerState => {
    const state = states.get(run) ?? stateOf(folders.pending, run) ?? (alone ? 'dead' : 'unknown');
    states.set(run, state);
    return state;
  };
  for (const [dir, name, run] of unfinishedObjects(folders))
    yield { dir, name, kind: 'object', owner: () => ofRun(run) };
  const { workspace, pending, capsules } = folders;
  for (const dir of [workspace, pending]) {
    for (const name of dir.names())
      if (isTemporaryName(name)) yield { dir, name, kind: 'temporary', owner: () => 'unknown' };
  }
  for (const name of workspace.names().filter(isLockName))
    yield { dir: workspace, name, kind: 'lock', owner: () => ownerState(readOwner(workspace, name)) };
  for (const name of capsules.names().filter(isRemovedCapsuleName))
    yield { dir: capsules, name, kind: 'removed-capsule', owner: () => 'dead' };
  for (const run of deadEnds(folders))
    yield { dir: pending, name: run as string as Name, kind: 'run', owner: () => ofRun(run) };
}

function* unfinishedObjects({ packs, large }: StoreFolders): Generator<[Dir, Name, RunId]> {
  const names = new Set(packs.names());
  for (const name of names) {
    const isUnfinishedPack = name.endsWith('.pack') && !names.has(packIndexName(name));
    const run = runOf(name);
    if (run !== undefined && (isUnfinishedPack || name.endsWith('.tmp'))) yield [packs, name, run];
  }
  for (const name of large.names()) {
    const run = runOf(name);
    if (run !== undefined && name.endsWith('.tmp')) yield [large, name, run];
  }
}

/** Pending runs that lead nowhere: without an intent, or sealed. */
function* deadEnds({ pending, capsules }: StoreFolders): Generator<RunId> {
  for (const name of pending.names()) {
    if (!isRunId(name)) continue;
    const isSealed = capsules.tryLstat(name) !== undefined;
    if (isSealed || within(pending, name, (run) => run.tryLstat(FILE.intent) === undefined) === true)
      yield name;
  }
}

function stateOf(pending: Dir, run: RunId): OwnerState | undefined {
  return within(pending, run as string as Name, runOwnerState);
}

function within<T>(dir: Dir, name: Name, use: (child: Dir) => T): T | undefined {
  const child = tryOpenDir(dir, name);
  try {
    return child && use(child);
  } finally {
    child?.close();
  }
}
