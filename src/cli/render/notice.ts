import type { RunNotice } from '../../operations/run.ts';
import type { Style } from './style.ts';
import { count, cut, escapeControls, joinWithin, lines, showBytes, showPath, showPlace } from './words.ts';

const PATH_WIDTH = 60;

type NotKept = Extract<RunNotice, { kind: 'not-kept' }>;
type Group = NotKept['groups'][number];

/** What the user must know before the child starts, on one line; empty when it concerns no file. */
export function renderNotice(notice: RunNotice, style: Style): string {
  const words = wordNotice(notice);
  return words === undefined ? '' : lines([`${style.warn('agentdiff:')} ${words}`]);
}

function wordNotice(notice: RunNotice): string | undefined {
  switch (notice.kind) {
    case 'not-kept':
      return wordNotKept(notice);
    case 'not-observed': {
      const { places } = notice;
      const names = joinWithin(
        places.map(({ path, reason }) => `${cut(showPath(path), PATH_WIDTH)} (${reason})`),
      );
      return `not looked into, or not read: ${names}, ${count(places.length, 'place')}: what happens there cannot be put back`;
    }
    case 'store-inside':
      return `the store is inside the workspace, within reach of the command: ${showPlace(notice.store)}`;
  }
}

/** Where, how much, by which rules, and what would keep more. An empty directory is no loss. */
function wordNotKept({ lowered, groups }: NotKept): string | undefined {
  const places = lowered.filter(({ files }) => files > 0);
  if (places.length === 0) return undefined;
  const concerned = groups.filter(({ files }) => files > 0);
  const files = concerned.reduce((total, group) => total + group.files, 0);
  const bytes = concerned.reduce((total, group) => total + group.bytes, 0);
  const names = joinWithin(places.map(({ path }) => cut(showPath(path), PATH_WIDTH)));
  const size = bytes > 0 ? `, ${showBytes(bytes)}` : '';
  const unseen = concerned.some(({ level }) => level === 'structure')
    ? '; edits in place may not be seen'
    : '';
  const options = [...new Set(concerned.flatMap(optionsFor))];
  const advice = options.length === 0 ? '' : `; keep it with ${options.join(', ')}`;
  return `content is not kept for ${names} (${count(files, 'file')}${size}): what is changed or deleted there cannot be put back${unseen}${advice}`;
}

/** The option that changes what a rule or limit says; a rule that was asked for needs none. */
function optionsFor({ rule, level }: Group): string[] {
  if (rule.startsWith('regenerable: ')) return ["--capture '**=content'"];
  if (rule.startsWith('limit: file over'))
    return [level === 'stat' ? '--max-hash-size and --max-file-size' : '--max-file-size'];
  if (rule === 'limit: new content of the run') return ['--max-new-bytes'];
  if (rule === 'limit: free space') return ['--min-free, --store'];
  if (rule === 'limit: size of the store') return ['--max-store-size'];
  if (rule.startsWith('file: '))
    return [`another rule than ${escapeControls(cut(rule, PATH_WIDTH))} of the policy file`];
  return [];
}
