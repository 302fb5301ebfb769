import { structuredPatch } from 'diff';

const CONTEXT_LINES = 3;
const NO_NEWLINE = '\\ No newline at end of file';

/**
 * The hunks of a unified difference, as GNU diff writes them.
 * @param timeMs after this the comparison is given up, and all lines are shown as replaced
 */
export function unifiedHunks(before: string, after: string, timeMs: number): string {
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT_LINES, timeout: timeMs });
  if (patch === undefined) return replacement(before, after);
  return patch.hunks
    .map(({ oldStart, oldLines, newStart, newLines, lines }) =>
      [`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`, ...lines, ''].join('\n'),
    )
    .join('');
}

function range(start: number, lines: number): string {
  // As GNU diff writes it: an empty range stands behind the line before it.
  return lines === 0 ? `${start - 1},0` : `${start},${lines}`;
}

/** What stands behind the second `@@` is free text to those who apply patches. */
function replacement(before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  return [
    `@@ -${range(1, old.length)} +${range(1, now.length)} @@ too different to compare line by line`,
    ...signed('-', old, before),
    ...signed('+', now, after),
    '',
  ].join('\n');
}

/** A newline ends a line; it does not begin another one. */
function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function signed(sign: string, lines: readonly string[], text: string): string[] {
  const isCut = lines.length > 0 && !text.endsWith('\n');
  return [...lines.map((line) => `${sign}${line}`), ...(isCut ? [NO_NEWLINE] : [])];
}
