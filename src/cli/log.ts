import { pino } from 'pino';
import { AgentdiffError, errnoOf } from '../core/index.ts';
import type { Logger } from '../operations/index.ts';
import { asciiJson } from './render/json.ts';

/**
 * A log of JSON lines, written synchronously so that the last line before a crash is there.
 * @param file appended to; undefined writes to stderr
 * @throws OUTPUT_UNWRITABLE
 */
export function openLog(file: string | undefined): Logger {
  try {
    const destination = pino.destination({ dest: file ?? 2, sync: true, append: true, mode: 0o600 });
    const options = { level: 'debug', base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime };
    return pino(options, { write: (line: string) => destination.write(asciiJson(line)) });
  } catch (cause) {
    throw new AgentdiffError(
      'OUTPUT_UNWRITABLE',
      `the log file cannot be opened: ${file ?? 'stderr'} (${errnoOf(cause) ?? 'unknown'})`,
      {
        hint: 'name a file in a directory that you can write with --log-file',
        data: { path: file ?? 'stderr' },
        cause,
      },
    );
  }
}
