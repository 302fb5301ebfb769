/** The small parts that all text renderers share. Everything that comes from a tree, a child or a capsule passes through here. */
import {
  type ByteString,
  displayArgv,
  escapeText,
  type RelPath,
  ROOT_PATH,
  showNumber,
} from '../../core/index.ts';

export { showBytes, showNumber } from '../../core/index.ts';

/** A path of the workspace on one line; a directory ends in `/`, and a blank at the end is made visible. */
export function showPath(path: RelPath, kind?: string): string {
  if (path === ROOT_PATH) return './';
  const shown = escapeText(path).replace(/ $/, '\\x20');
  return kind === 'directory' ? `${shown}/` : shown;
}

export function showPlace(path: ByteString): string {
  return escapeText(path);
}

/** A command on one line, cut to about `width` characters. */
export function showArgv(argv: readonly string[], width = 1000): string {
  return cut(displayArgv(argv), width);
}

export function cut(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/**
 * Controls are escaped, backslashes stay single: for lines of files, and for messages whose foreign parts may be escaped already.
 * What is shown cannot be told from a text that holds the escape itself; where that matters `escapeText` is used.
 */
export function escapeControls(text: string): string {
  return text
    .split('\\')
    .map((part) => escapeText(part))
    .join('\\');
}

/** `1 entry`, `40,231 entries`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${showNumber(value)} ${value === 1 ? one : many}`;
}

export function showDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = Math.floor(seconds % 60);
  return minutes < 60 ? `${minutes} min ${rest} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

interface Exit {
  readonly started: boolean;
  readonly code?: number;
  readonly signal?: string;
  readonly errno?: string;
}

export function showExit(exit: Exit): string {
  if (!exit.started)
    return exit.errno === undefined ? 'not started' : `not started (${escapeText(exit.errno)})`;
  if (exit.signal !== undefined) return `killed by ${escapeText(exit.signal)}`;
  return exit.code === undefined ? 'exit unknown' : `exit ${exit.code}`;
}

/** Rows in columns; the last column is not padded. Widths count characters, so wide scripts shift a column a little. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))));
  }
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd(),
  );
}

function widthOf(cell: string): number {
  return Array.from(cell).length;
}

/** Lines as a text that ends in a newline; no lines, no text. */
export function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('');
}

/** Characters that the examples of one line may take. */
const EXAMPLES_WIDTH = 72;

/** As many as fit, and `…` when there are more. @param total how many there are in all */
export function joinWithin(names: readonly string[], total = names.length): string {
  const shown: string[] = [];
  let width = 0;
  for (const name of names) {
    width += name.length + 2;
    if (shown.length > 0 && width > EXAMPLES_WIDTH) break;
    shown.push(name);
  }
  return shown.join(', ') + (shown.length < total ? ' …' : '');
}
