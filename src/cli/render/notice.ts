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
        places.map(({ path, reason, rule }) => {
          const why = rule === undefined ? reason : `level none by ${escapeControls(cut(rule, PATH_WIDTH))}`;
          return `${cut(showPath(path), PATH_WIDTH)} (${why})`;
        }),
      );
      const advice = places.some(({ rule }) => rule !== undefined)
        ? '; another level for what a rule names: --capture GLOB=LEVEL'
        : '';
      return `not looked into, or not read: ${names}, ${count(places.length, 'place')}: what happens there cannot be put back${advice}`;
    }
    case 'store-inside':
      return `the store is inside the workspace, within reach of the command: ${showPlace(notice.store)}`;
  }
}

/** Where, how much, by which rules, and what would keep more. An empty directory is no loss. */
function wordNotKept({ lowered, groups }: NotKept): string | undefined {
  const places = lowered.filter(({ files }) => files > 0);
  if (places.length === 0) return undefined;
  const concerned = groups.filter(({ files }) => files !== 0);
  const files = concerned.reduce((total, group) => total + (group.files ?? 0), 0);
  const bytes = concerned.reduce((total, group) => total + (group.bytes ?? 0), 0);
  const names = namesOf(places);
  const size = bytes > 0 ? `, ${showBytes(bytes)}` : '';
  const structure = places.filter(({ level }) => level === 'structure');
  const where = structure.length < places.length ? ` in ${namesOf(structure)}` : '';
  const unseen = structure.length > 0 ? `; edits in place${where} may not be seen` : '';
  const options = [...new Set(concerned.flatMap(optionsFor))];
  const advice = options.length === 0 ? '' : `; keep it with ${options.join(', ')}`;
  return `content is not kept for ${names} (${count(files, 'file')}${size}): what is changed or deleted there cannot be put back, unless the store has it from before${unseen}${advice}`;
}

function namesOf(places: NotKept['lowered']): string {
  return joinWithin(places.map(({ path }) => cut(showPath(path), PATH_WIDTH)));
}

/** The option that changes what a rule or limit says. */
function optionsFor({ rule, level }: Group): string[] {
  if (rule.startsWith('regenerable: ')) return ["--capture '**=content'"];
  if (rule.startsWith('limit: file over'))
    return [level === 'stat' ? '--max-hash-size and --max-file-size' : '--max-file-size'];
  if (rule === 'limit: new content of the run') return ['--max-new-bytes'];
  if (rule === 'limit: free space') return ['--min-free, --store'];
  if (rule === 'limit: size of the store') return ['--max-store-size'];
  if (rule.startsWith('file: '))
    return [
      `--capture GLOB=content, which comes before ${escapeControls(cut(rule.slice(6), PATH_WIDTH))} of the policy file`,
    ];
  if (rule.startsWith('flag: '))
    return [`content in place of ${level} in --capture ${escapeControls(cut(rule.slice(6), PATH_WIDTH))}`];
  return [];
}
