import { spawnSync } from 'node:child_process';
import { invariant } from '../core/index.ts';
import type { LaunchPermit } from '../policy/index.ts';
import type { LaunchOptions } from './launch.ts';

/** What a permit for {@link syncFileSystem} must be for: coreutils' `sync`, told to sync the file system of its own descriptor 3. */
export const SYNC_ARGV = ['sync', '-f', '/proc/self/fd/3'] as const;

const SYNC_TIME_MS = 600_000;

/**
 * Makes all that was written to the file system of an open directory durable in one call. Node has no syncfs, and one fsync a file makes
 * thousands of small files a hundred times slower.
 * @param fd of a directory
 * @returns false when `sync` is missing or failed: nothing may be taken as durable then
 */
export function syncFileSystem(
  permit: LaunchPermit,
  fd: number,
  options: Pick<LaunchOptions, 'isPermit' | 'env'>,
): boolean {
  invariant(options.isPermit(permit), 'a launch needs a permit of the policy');
  const { argv, cwd } = permit.launch;
  invariant(argv.join(' ') === SYNC_ARGV.join(' '), 'this permit is for a sync');
  const [file, ...rest] = argv;
  const { status } = spawnSync(file, rest, {
    cwd,
    env: options.env,
    stdio: ['ignore', 'ignore', 'ignore', fd],
    timeout: SYNC_TIME_MS,
  });
  return status === 0;
}
