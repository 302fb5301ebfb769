import type { RecoverPlan, RecoverReport } from '../../operations/recover.ts';
import { jsonBytes, jsonLine, withJsonPath } from './json.ts';
import type { Style } from './style.ts';
import { escapeControls, lines, showNumber, showPath, showPlace } from './words.ts';

type Step = RecoverPlan['steps'][number];
type Result = RecoverReport['results'][number];

const ACTIONS = [
  ['restore', 'restore'],
  ['remove', 'remove'],
  ['change-mode', 'set mode or owner'],
] as const;

/** Every path of the plan once, grouped by what will happen to it. */
export function renderPlan(plan: RecoverPlan, style: Style): string {
  const { apply, already, refused } = plan.counts;
  const by = (verdict: Step['verdict'], action?: Step['action']): readonly Step[] =>
    plan.steps.filter((step) => step.verdict === verdict && (action === undefined || step.action === action));
  return lines([
    `plan to take back run ${plan.runId} in ${showPlace(plan.root)}`,
    ...ACTIONS.flatMap(([action, word]) => group(word, by('apply', action), style.strong)),
    ...group('already right', by('already'), style.dim),
    ...group('refused', by('refused'), style.warn),
    `${showNumber(apply)} to do, ${showNumber(already)} already right, ${showNumber(refused)} refused`,
  ]);
}

function group(title: string, steps: readonly Step[], colour: (text: string) => string): string[] {
  if (steps.length === 0) return [];
  return [
    colour(`  ${title} (${showNumber(steps.length)})`),
    ...steps.map((step) => `    ${showPath(step.path, step.kind)}${why(step)}`),
  ];
}

function why({ code, detail }: { readonly code?: string; readonly detail?: string }): string {
  if (code === undefined) return '';
  return detail === undefined ? `  ${code}` : `  ${code}: ${escapeControls(detail)}`;
}

/** What became of each path, those that are as wished first. */
export function renderRecover(report: RecoverReport, style: Style): string {
  const { restored, removed, already, refused } = report.counts;
  const done = report.results.filter(({ result }) => result !== 'refused');
  const left = report.results.filter(({ result }) => result === 'refused');
  return lines([
    ...done.map((item) => `${style.good(item.result.padEnd(13))} ${outcomeOf(item)}`),
    ...left.map((item) => `${style.warn(item.result.padEnd(13))} ${outcomeOf(item)}`),
    `agentdiff: run ${report.runId} took back run ${report.recovers}: ${showNumber(restored)} restored, ` +
      `${showNumber(removed)} removed, ${showNumber(already)} already right, ${showNumber(refused)} refused`,
    ...(refused > 0
      ? ['  refused paths were left exactly as they are; docs/exit-codes.md says what each code means']
      : []),
    ...(restored + removed > 0
      ? [`  this can itself be taken back, path by path: agentdiff recover ${report.runId}`]
      : []),
  ]);
}

function outcomeOf(item: Result): string {
  const note = item.note === undefined ? '' : `  note: ${escapeControls(item.note)}`;
  return `${showPath(item.path)}${why(item)}${note}`;
}

/** The plan as plain values, for `--json` and for the data of NOT_APPROVED. */
export function planDocument(plan: RecoverPlan): object {
  const { runId, root, digest, counts } = plan;
  // What was expected and wanted is in the capsule; states hold times that JSON has no numbers for.
  const steps = plan.steps.map(({ expected: _expected, wanted: _wanted, ...step }) => withJsonPath(step));
  return { runId, root: jsonBytes(root), digest, counts, steps };
}

export function renderPlanJson(plan: RecoverPlan): string {
  return jsonLine({ plan: planDocument(plan) });
}

export function renderRecoverJson(report: RecoverReport): string {
  return jsonLine({ ...report, results: report.results.map(withJsonPath) });
}
