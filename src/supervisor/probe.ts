import { execa } from 'execa';
import { invariant } from '../core/index.ts';
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
  const result = await execa(file, rest, {
    cwd,
    env: options.env,
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: PROBE_TIME_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  const text = result.stdout !== '' ? result.stdout : result.stderr;
  const errno = result.code;
  return {
    works: !result.failed,
    firstLine: text.split('\n')[0] ?? '',
    ...(errno !== undefined && { errno }),
  };
}
