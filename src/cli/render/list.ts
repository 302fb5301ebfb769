import type { ListReport } from '../../operations/list.ts';
import { jsonBytes, jsonLine } from './json.ts';
import type { Style } from './style.ts';
import { lines, showArgv, showDuration, showExit, showPlace, table } from './words.ts';

const COMMAND_WIDTH = 56;

export function renderList(report: ListReport, style: Style): string {
  if (report.runs.length === 0) return lines([`no runs of ${showPlace(report.root)} in this store`]);
  const rows = report.runs.map((run) => [
    run.runId,
    run.kind ?? '-',
    wordOutcome(run),
    run.exit === undefined || run.kind !== 'run' ? '-' : showExit(run.exit),
    run.durationMs === undefined ? '-' : showDuration(run.durationMs),
    run.counts === undefined ? '-' : `+${run.counts.created} -${run.counts.deleted} ~${run.counts.modified}`,
    run.argv === undefined ? '' : showArgv(run.argv, COMMAND_WIDTH),
  ]);
  const head = ['run', 'kind', 'outcome', 'exit', 'in all', 'changes', 'command'];
  const [first = '', ...rest] = table([head, ...rows]);
  return lines([style.dim(first), ...rest]);
}

function wordOutcome({ problem, outcome, state, pinned }: ListReport['runs'][number]): string {
  const word = problem === undefined ? (outcome ?? state) : `${state} ${problem}`;
  return pinned === true ? `${word}, pinned` : word;
}

export function renderListJson(report: ListReport): string {
  return jsonLine({ root: jsonBytes(report.root), runs: report.runs });
}
