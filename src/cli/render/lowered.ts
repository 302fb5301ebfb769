import type { ShowReport } from '../../operations/show.ts';
import { count, escapeControls, showBytes } from './words.ts';

/** One level and rule on one line: how many places and files, and why. */
export function wordGroup({
  level,
  rule,
  reason,
  places,
  files,
  bytes,
}: ShowReport['lowered'][number]): string {
  const size = bytes > 0 ? `, ${showBytes(bytes)}` : '';
  const why = reason === undefined ? '' : `: ${escapeControls(reason)}`;
  const seen = level === 'structure' ? '; names were seen, edits in place may not have been' : '';
  return `${level} by ${escapeControls(rule)}: ${count(places, 'place')}, ${count(files, 'file')}${size}${why}${seen}`;
}
