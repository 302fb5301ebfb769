import type { DiffItem } from '../../operations/diff.ts';
import { jsonBytes, jsonLine, withJsonPath } from './json.ts';
import { changeWord, showStates } from './state.ts';
import type { Style } from './style.ts';
import { escapeControls, lines, showPath, showPlace } from './words.ts';

/** One path: a heading, then its hunks. For reading and, where names and lines are plain text, for `patch -p1`; `--json` has the exact text of each. */
export function renderDiffItem(item: DiffItem, style: Style): string {
  const { before, after, path } = item;
  const heading = `${changeWord(item)} ${showPath(path, (after ?? before)?.kind)}  (${showStates(before, after)})`;
  const names = item.body.is === 'text' ? fileLines(item, style) : [];
  return lines([style.strong(heading), ...names, ...bodyLines(item.body, style), '']);
}

/** As `diff -u` names the two sides: with plain names and text the output is a patch. A side that is no file is nothing to `patch`. */
function fileLines({ path, before, after }: DiffItem, style: Style): string[] {
  const name = (letter: string, side: DiffItem['before']): string =>
    side?.kind === 'file' ? `${letter}/${showPath(path)}` : '/dev/null';
  return [style.bad(`--- ${name('a', before)}`), style.good(`+++ ${name('b', after)}`)];
}

function bodyLines(body: DiffItem['body'], style: Style): string[] {
  switch (body.is) {
    case 'text':
      return body.patch
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => patchLine(line, style));
    case 'binary':
      return [style.dim('binary content differs')];
    case 'metadata':
      return [];
    case 'unavailable':
      return [style.dim(`the content cannot be compared: ${body.why}`)];
    case 'symlink':
      return [
        ...(body.before === undefined ? [] : [style.bad(`- → ${showPlace(body.before)}`)]),
        ...(body.after === undefined ? [] : [style.good(`+ → ${showPlace(body.after)}`)]),
      ];
  }
}

/** A tab stands as it is: it harms nothing, and a patch with anything else in its place would not fit. */
function patchLine(line: string, style: Style): string {
  const shown = line
    .split('\t')
    .map((part) => escapeControls(part))
    .join('\t');
  if (line.startsWith('+')) return style.good(shown);
  if (line.startsWith('-')) return style.bad(shown);
  return line.startsWith('@@') ? style.dim(shown) : shown;
}

/** One document a line, so that a large diff streams. */
export function renderDiffItemJson(item: DiffItem): string {
  const { body } = item;
  if (body.is !== 'symlink') return jsonLine(withJsonPath(item));
  const { before, after } = body;
  return jsonLine({
    ...withJsonPath(item),
    body: {
      is: body.is,
      ...(before === undefined ? {} : { before: jsonBytes(before) }),
      ...(after === undefined ? {} : { after: jsonBytes(after) }),
    },
  });
}
