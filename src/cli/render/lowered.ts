import { escapeText } from '../../core/index.ts';
import type { ShowReport } from '../../operations/show.ts';
import { count, cut, escapeControls, joinWithin, showBytes } from './words.ts';

/** One level and rule on one line: how many places and files, and why. */
export function wordGroup({
  level,
  rule,
  reason,
  places,
  files,
  bytes,
}: ShowReport['lowered'][number]): string {
  const size = bytes !== undefined && bytes > 0 ? `, ${showBytes(bytes)}` : '';
  const why = reason === undefined ? '' : `: ${escapeControls(reason)}`;
  const seen = level === 'structure' ? '; names were seen, edits in place may not have been' : '';
  return `${level} by ${escapeControls(rule)}: ${count(places, 'place')}, ${files === undefined ? 'not looked into' : `${count(files, 'file')}${size}`}${why}${seen}`;
}

/** The first places of a group, for where they are not listed. */
export function wordExamples({ examples, places }: ShowReport['lowered'][number]): string {
  return joinWithin(
    examples.map((path) => cut(escapeText(path), 60)),
    places,
  );
}
