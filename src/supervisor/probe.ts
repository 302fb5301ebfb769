import { execFile, type ExecFileOptions } from 'node:child_process';
import { constants } from 'node:os';
import { errnoOf, invariant } from '../core/index.ts';
import type { LaunchPermit } from '../policy/index.ts';
import type { LaunchOptions } from './launch.ts';

/** What became of a short command of our own. */
export interface ProbeResult {
  /** It was started and ended with 0. */
  readonly works: boolean;
  /** The first line it printed, on stdout or else on stderr; foreign text. Empty when it printed nothing. */
  readonly firstLine: string;
  /** `ENOENT` and the like when it could not be started. */
  readonly errno?: string;
}

const PROBE_TIME_MS = 5000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/** Runs a short command without input, to see whether this machine can; it is stopped after five seconds. */
export async function probe(
  permit: LaunchPermit,
  options: Pick<LaunchOptions, 'isPermit' | 'env'>,
): Promise<ProbeResult> {
  invariant(options.isPermit(permit), 'a launch needs a permit of the policy');
  const { argv, cwd } = permit.launch;
  const [file, ...rest] = argv;
  const { error, stdout, stderr } = await ended(file, rest, {
    cwd,
    env: options.env,
    timeout: PROBE_TIME_MS,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  const errno = errnoOf(error);
  return {
    works: error === undefined,
    firstLine: (stdout === '' ? stderr : stdout).split('\n')[0] ?? '',
    ...(errno !== undefined && Object.hasOwn(constants.errno, errno) && { errno }),
  };
}

interface Ended {
  /** Undefined when it ended with 0. */
  readonly error?: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** Never rejects: each way not to work is a result. */
function ended(file: string, args: readonly string[], options: ExecFileOptions): Promise<Ended> {
  return new Promise((resolve) => {
    try {
      const utf8 = { ...options, encoding: 'utf8' } as const;
      const child = execFile(file, args, utf8, (error, stdout, stderr) =>
        resolve({ ...(error !== null && { error }), stdout, stderr }),
      );
      child.stdin?.on('error', () => {}).end();
    } catch (error) {
      resolve({ error, stdout: '', stderr: '' });
    }
  });
}
