import { pino } from 'pino';
import { AgentdiffError, errnoOf } from '../core/index.ts';
import type { Logger } from '../operations/index.ts';
import { asciiJson } from './render/json.ts';

/**
 * A log of JSON lines, written synchronously so that the last line before a crash is there. Its calls never throw: a run is worth more than
 * the log of it. After the first line that cannot be written the log is over.
 * @param file appended to; undefined writes to stderr
 * @param onFailure called once, with OUTPUT_UNWRITABLE, when a line cannot be written
 * @throws OUTPUT_UNWRITABLE when the file cannot be opened
 */
export function openLog(file: string | undefined, onFailure: (error: AgentdiffError) => void): Logger {
  const name = file ?? 'stderr';
  let failed = false;
  const fail = (cause: unknown): void => {
    if (failed) return;
    failed = true;
    const message = `the log cannot be written, and ends here: ${name} (${errnoOf(cause) ?? 'unknown'})`;
    onFailure(new AgentdiffError('OUTPUT_UNWRITABLE', message, { data: { path: name }, cause }));
  };
  try {
    const destination = pino.destination({ dest: file ?? 2, sync: true, append: true, mode: 0o600 });
    // Without a listener a failed write would throw out of the call that logs.
    destination.on('error', fail);
    const options = { level: 'debug', base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime };
    const write = (line: string): void => {
      if (!failed) destination.write(asciiJson(line));
    };
    return pino(options, { write });
  } catch (cause) {
    throw new AgentdiffError(
      'OUTPUT_UNWRITABLE',
      `the log file cannot be opened: ${name} (${errnoOf(cause) ?? 'unknown'})`,
      {
        hint: 'name a file in a directory that you can write with --log-file',
        data: { path: name },
        cause,
      },
    );
  }
}
