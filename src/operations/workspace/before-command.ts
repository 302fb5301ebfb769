import { type RelPath, splitPath } from '../../core/index.ts';
import type { Change } from '../../snapshot/index.ts';
import type { StatIndex } from '../../store/index.ts';

/** The kernel stamps times with a clock that lags behind the one a process reads, by one tick: 10 ms at most. */
const TICK_NS = 10_000_000n;

/** The clock that a process reads is cut to milliseconds. */
const MS_NS = 1_000_000n;

/** Wall clock, nanoseconds since the epoch. */
export interface CommandWindow {
  readonly firstScanNs: bigint;
  /** Read right before the launch; undefined when no command was started, and so made nothing. */
  readonly launchNs: bigint | undefined;
}

/**
 * Whether what the second scan saw of a change came about between the beginning of the first scan and the launch. The kernel sets the change
 * time at each write, chmod and rename, and no call sets it to another. An entry stamped within a tick of either end counts as the command's.
 * So does one that is older than the first scan: that scan would have seen it, so it was moved here in a directory, or a clock is not ours
 * (a file system that a server stamps, a clock that was set).
 */
export function isBeforeCommand(
  change: Change,
  { firstScanNs, launchNs }: CommandWindow,
  indexes: { readonly before: Pick<StatIndex, 'lookup'>; readonly after: Pick<StatIndex, 'lookup'> },
): boolean {
  if (change.after === undefined) return false;
  const ctimeNs = indexes.after.lookup(change.path)?.ctimeNs;
  if (ctimeNs === undefined || ctimeNs < firstScanNs + MS_NS) return false;
  if (launchNs === undefined) return true;
  return ctimeNs < launchNs - TICK_NS && !wasMovedIn(change.path, launchNs - TICK_NS, indexes);
}

/**
 * Did a directory above come to its place at or after `sinceNs`? What is in it keeps its times when it is renamed, and only its own change time tells.
 */
function wasMovedIn(
  path: RelPath,
  sinceNs: bigint,
  {
    before,
    after,
  }: { readonly before: Pick<StatIndex, 'lookup'>; readonly after: Pick<StatIndex, 'lookup'> },
): boolean {
  for (let at = splitPath(path)?.parent; at !== undefined; at = splitPath(at)?.parent) {
    const now = after.lookup(at);
    if (now !== undefined && now.inode !== before.lookup(at)?.inode && now.ctimeNs >= sinceNs) return true;
  }
  return false;
}
