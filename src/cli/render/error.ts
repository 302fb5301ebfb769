import { inspect } from 'node:util';
import { AgentdiffError } from '../../core/index.ts';
import { jsonLine } from './json.ts';
import type { Style } from './style.ts';
import { escapeControls, lines } from './words.ts';

/** Whatever was thrown, as an error with a code: all that is not one of ours is a bug of ours. */
export function asAgentdiffError(error: unknown): AgentdiffError {
  if (error instanceof AgentdiffError && error.code !== 'INTERNAL') return error;
  const what = error instanceof Error ? error.message : String(error);
  const message = error instanceof AgentdiffError ? what : `internal error: ${what}`;
  return new AgentdiffError('INTERNAL', message, {
    hint: 'this is a bug of agentdiff: please report it, with the command and what --debug adds',
    cause: error,
  });
}

/** Message with code, and the hint; with `debug` the stack and its causes. */
export function renderError(error: AgentdiffError, style: Style, debug: boolean): string {
  const first = `${style.bad('agentdiff:')} ${escapeControls(error.message)} [${error.code}]`;
  const hint = error.hint === undefined ? [] : [`  ${escapeControls(error.hint)}`];
  const stack = debug ? inspect(error).split('\n').map(escapeControls) : [];
  return lines([first, ...hint, ...stack]);
}

/** The machine form: one object on one line. */
export function errorDocument(error: AgentdiffError, debug = false): object {
  const { code, message, hint, data } = error;
  return {
    error: {
      code,
      message,
      ...(hint === undefined ? {} : { hint }),
      data,
      ...(debug ? { stack: inspect(error) } : {}),
    },
  };
}

export function renderErrorJson(error: AgentdiffError, debug: boolean): string {
  return jsonLine(errorDocument(error, debug));
}
