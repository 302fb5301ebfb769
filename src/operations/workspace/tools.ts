import type { ByteString } from '../../core/index.ts';
import { pathBelow, realPath } from '../../fs/index.ts';
import type { Context } from './context.ts';

/** Where a program of our own is started: not in the workspace. */
export const TOOL_DIRECTORY = '/';

/**
 * The environment for the programs that this tool starts for itself (`sync`, the trials of doctor): of PATH only absolute directories outside the
 * workspace are left, so that nothing that lies in a workspace is taken for one of them.
 * @param root real path of the workspace
 */
export function toolEnvironment(context: Context, root: ByteString | undefined): Context['environment'] {
  const directories = (context.environment['PATH'] ?? '/usr/bin:/bin').split(':').filter((directory) => {
    const real = directory.startsWith('/') ? realPath(directory) : undefined;
    return real !== undefined && real !== root && (root === undefined || pathBelow(real, root) === undefined);
  });
  return { ...context.environment, PATH: directories.join(':') || '/usr/bin:/bin' };
}
