import type { CapsuleDocument, Reversibility } from '../../capsule/index.ts';
import { escapeText } from '../../core/index.ts';
import type { ShowReport, ShownChange } from '../../operations/show.ts';
import { jsonBytes, jsonLine, withJsonPath } from './json.ts';
import { reversibilityLines, showRoot } from './run.ts';
import { changeWord, showStates } from './state.ts';
import type { Style } from './style.ts';
import { NOT_AUTHENTIC } from './verify.ts';
import { wordGroup } from './lowered.ts';
import {
  count,
  escapeControls,
  lines,
  showArgv,
  showBytes,
  showDuration,
  showExit,
  showNumber,
  showPath,
  showPlace,
} from './words.ts';

type Lowered = CapsuleDocument['coverage']['lowered'][number];

/** Everything that a person may want of one run; the JSON form has the rest. */
export function renderShow(report: ShowReport, words: Reversibility, style: Style): string {
  const { capsule, changes, problems, digest, unreadable } = report;
  const isCut = unreadable.some(({ part }) => part === 'changes');
  return lines([
    headOf(capsule, style),
    ...problems.map((problem) => style.bad(`  NOT INTACT  ${escapeText(problem.member)}: ${problem.what}`)),
    ...unreadable.map(({ part, why }) =>
      style.bad(
        `  NOT SHOWN   ${part}${part === 'digest' ? '' : ' from the damage on'}: ${escapeControls(why)}`,
      ),
    ),
    ...facts(capsule).map(([name, value]) => `  ${name.padEnd(10)} ${value}`),
    ...(digest === undefined ? [] : [`  digest     ${digest}`]),
    ...coverageLines(report),
    `changes: ${count(changes.length, 'entry', 'entries')}${isCut ? ' that can be read' : ''}`,
    ...changes.map((change) => changeLine(change, style)),
    ...reversibilityLines(words),
    `  ${NOT_AUTHENTIC}`,
  ]);
}

/** A recover starts no command. */
function headOf({ kind, runId, outcome, exit, times }: CapsuleDocument, style: Style): string {
  const ended = kind === 'run' ? [showExit(exit)] : [];
  const duration = showDuration(times.childDurationMs ?? times.durationMs);
  return [style.strong(`${kind} ${runId}`), outcome, ...ended, duration].join('  ');
}

function facts(capsule: CapsuleDocument): [string, string][] {
  const { workspace, times, launch, runtime, coverage, snapshots, parentRun, recovers, overlapping, task } =
    capsule;
  const guards = runtime.guards.length === 0 ? '' : `, guards: ${runtime.guards.map(escapeText).join(', ')}`;
  return [
    ['command', showArgv(capsule.argv)],
    ...optional('task', task && escapeText(task)),
    ...optional('recovers', recovers),
    ...optional('parent run', parentRun),
    ['cwd', escapeText(capsule.cwd.path)],
    ['workspace', showRoot(workspace)],
    ['started', `${times.startedAt}, ${showDuration(times.durationMs)} with both snapshots`],
    ['launch', `${launch.decision} (rule ${escapeText(launch.rule)})`],
    ['runtime', `${runtime.name}: observed, not contained${guards}`],
    [
      'observed',
      `${count(snapshots.before.entries, 'entry', 'entries')} before, ${showNumber(snapshots.after.entries)} after`,
    ],
    ...optional('overlaps', overlapping.join(', ')),
    ...optional('links out', outwardLinks(coverage.outward)),
    ...optional(
      'store',
      coverage.storeInsideWorkspace ? 'inside the workspace, within reach of the command' : '',
    ),
  ];
}

/** Their targets are in the changes and in `diff`; what is behind them is nowhere. */
function outwardLinks(outward: CapsuleDocument['coverage']['outward']): string {
  if (outward === undefined) return '';
  const names = outward.paths.map(({ path }) => escapeText(path)).join(', ');
  return `${names}${outward.total > outward.paths.length ? ' …' : ''} (what lies behind is not recorded)`;
}

function optional(name: string, value: string | undefined): [string, string][] {
  return value === undefined || value === '' ? [] : [[name, value]];
}

/** What was not looked at, or less closely. */
function coverageLines(report: ShowReport): string[] {
  const { unobserved } = report.capsule.coverage;
  const line = (
    when: string,
    total: number,
    named: readonly { path: string; reason: string }[],
  ): string[] => {
    const more = total > named.length ? [`    and ${showNumber(total - named.length)} more`] : [];
    const heading = `  not observed ${when} the run: ${count(total, 'place')}`;
    return total === 0
      ? []
      : [heading, ...named.map(({ path, reason }) => `    ${escapeText(path)}  ${reason}`), ...more];
  };
  return [
    ...line('before', unobserved.beforeTotal, unobserved.before),
    ...line('after', unobserved.afterTotal, unobserved.after),
    ...loweredLines(report),
  ];
}

/** Totals by level and rule, then the places. */
function loweredLines({ capsule, lowered: groups, loweredCut }: ShowReport): string[] {
  const { lowered, loweredAfter = [] } = capsule.coverage;
  const later =
    loweredAfter.length === 0
      ? []
      : ['  of what the run left, content was not kept:', ...loweredAfter.map(loweredLine)];
  if (lowered.length === 0) return later;
  return [
    `  looked at less closely:${loweredCut ? ' the first places of possibly more' : ''}`,
    ...groups.map((group) => `    ${wordGroup(group)}`),
    ...lowered.map(loweredLine),
    ...later,
  ];
}

function loweredLine({ path, level, rule, files, bytes }: Lowered): string {
  const size =
    files === undefined || level === 'none'
      ? 'not looked into'
      : `${count(files, 'file')}, ${showBytes(bytes ?? 0)}`;
  return `    ${escapeText(path)}  level ${level}, ${size}  (${escapeText(rule)})`;
}

/** The path comes last but for what is wrong with it, so that columns stand under each other. */
function changeLine(change: ShownChange, style: Style): string {
  const word = changeWord(change);
  const colour = { created: style.good, deleted: style.bad, modified: style.warn }[word];
  const path = showPath(change.path, (change.after ?? change.before)?.state.kind);
  const states = showStates(change.before?.state, change.after?.state);
  const target = showTargets(change.targets);
  const decision =
    change.decision === 'allow' ? [] : [`${change.decision} (rule ${escapeText(change.rule)})`];
  const notes = [...(change.reason === undefined ? [] : [change.reason]), ...decision];
  return `  ${colour(word.padEnd(8))} ${path}${target}  (${states})${notes.length === 0 ? '' : `  ${style.warn(notes.join(', '))}`}`;
}

/** Behind the name, as `ls -l` does; both when the link was turned to something else. */
function showTargets(targets: ShownChange['targets']): string {
  const all = [targets?.before, targets?.after].filter((target) => target !== undefined);
  return all.length === 0 ? '' : ` -> ${[...new Set(all)].map(showPlace).join(', then ')}`;
}

export function renderShowJson(report: ShowReport, words: Reversibility): string {
  const changes = report.changes.map(changeDocument);
  const problems = report.problems.map(({ member, ...rest }) => ({ member: jsonBytes(member), ...rest }));
  return jsonLine({ ...report, problems, changes, reversibility: words, note: NOT_AUTHENTIC });
}

/** Nanoseconds are texts, for they do not fit into a JSON number. */
function changeDocument({ targets, ...change }: ShownChange): object {
  const { before, after } = targets ?? {};
  return withJsonPath({
    ...change,
    ...side('before', change.before),
    ...side('after', change.after),
    ...(targets && {
      targets: {
        ...(before !== undefined && { before: jsonBytes(before) }),
        ...(after !== undefined && { after: jsonBytes(after) }),
      },
    }),
  });
}

function side(name: string, observed: ShownChange['before']): object {
  if (observed?.particulars === undefined) return {};
  const { particulars } = observed;
  return {
    [name]: { ...observed, particulars: { ...particulars, mtimeNs: particulars.mtimeNs.toString() } },
  };
}
