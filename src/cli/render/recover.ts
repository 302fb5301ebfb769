import type { RecoverPlan, RecoverReport } from '../../operations/recover.ts';
import { errorDocument } from './error.ts';
import { jsonLine, withJsonPath } from './json.ts';
import type { Style } from './style.ts';
import { count, escapeControls, joinWithin, lines, showNumber, showPath } from './words.ts';

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
    `plan to take back run ${plan.runId}`,
    ...ACTIONS.flatMap(([action, word]) => group(word, by('apply', action), style.strong)),
    ...group('already right', by('already'), style.dim),
    ...group('refused', by('refused'), style.warn),
    `${showNumber(apply)} to do, ${showNumber(already)} already right, ${showNumber(refused)} refused`,
    ...warnUnkept(plan, style),
  ]);
}

const UNKEPT = 'cannot be undone: the store does not have the content that is there now';

/** Of how many steps what they take away is not kept; empty when of none. */
function warnUnkept({ steps }: RecoverPlan, style: Style): string[] {
  const unkept = steps.filter((step) => step.unkept === true);
  if (unkept.length === 0) return [];
  const names = joinWithin(unkept.map(({ path, kind }) => showPath(path, kind)));
  return [`${style.warn(`${count(unkept.length, 'step')} cannot be undone`)}: ${names}`];
}

/** Said where the plan itself is not shown, before it is applied. */
export function renderUnkept(plan: RecoverPlan, style: Style): string {
  return lines(warnUnkept(plan, style).map((line) => `${style.strong('agentdiff:')} ${line}`));
}

/** The question that a person answers; it names what no other recover brings back. */
export function wordQuestion({ steps }: RecoverPlan): string {
  const unkept = steps.filter((step) => step.unkept === true).length;
  return unkept === 0 ? 'Apply?' : `Apply? ${count(unkept, 'step')} cannot be undone`;
}

function group(title: string, steps: readonly Step[], colour: (text: string) => string): string[] {
  if (steps.length === 0) return [];
  return [
    colour(`  ${title} (${showNumber(steps.length)})`),
    ...steps.map(
      (step) =>
        `    ${showPath(step.path, step.kind)}${why(step)}${step.unkept === true ? `  ${UNKEPT}` : ''}`,
    ),
  ];
}

function why({ code, detail }: { readonly code?: string; readonly detail?: string }): string {
  if (code === undefined) return '';
  return detail === undefined ? `  ${code}` : `  ${code}: ${escapeControls(detail)}`;
}

/** What became of each path, those that are left alone last. */
export function renderRecover(report: RecoverReport, style: Style): string {
  const { restored, removed, refused, 'already-right': already } = report.counts;
  const isLeft = ({ result }: Result): boolean => result === 'refused';
  const who = report.runId === undefined ? 'nothing to do' : `run ${report.runId}`;
  const counts = [
    `${restored} restored`,
    `${removed} removed`,
    `${already} already right`,
    `${refused} refused`,
  ];
  return lines([
    ...report.results
      .filter((item) => !isLeft(item))
      .map((item) => `${style.good(item.result.padEnd(13))} ${outcomeOf(item)}`),
    ...report.results
      .filter(isLeft)
      .map((item) => `${style.warn(item.result.padEnd(13))} ${outcomeOf(item)}`),
    `${style.strong('agentdiff:')} ${who}  recovers ${report.recovers}  ${counts.join(', ')}`,
    ...(refused > 0
      ? ['  refused paths were left as they are; docs/exit-codes.md says what each code means']
      : []),
    ...(report.sealed?.capsule.coverage.root === undefined
      ? []
      : [
          '  the workspace root is not at its path any more: what was put back is in the directory that was there',
        ]),
    ...(report.sealed === undefined
      ? []
      : [
          `  capsule digest ${report.sealed.digest}`,
          `  next: agentdiff show ${report.sealed.capsule.runId}`,
        ]),
  ]);
}

function outcomeOf(item: Result): string {
  const note = item.note === undefined ? '' : `  note: ${escapeControls(item.note)}`;
  return `${showPath(item.path, item.kind)}${why(item)}${note}`;
}

/** The plan as plain values, for `--json` and for the data of NOT_APPROVED. */
export function planDocument(plan: RecoverPlan): object {
  const { runId, digest, counts } = plan;
  // What was expected and wanted is in the capsule; states hold times that JSON has no numbers for.
  const steps = plan.steps.map(({ expected: _expected, wanted: _wanted, ...step }) => withJsonPath(step));
  return { runId, digest, counts, steps };
}

export function renderPlanJson(plan: RecoverPlan): string {
  return jsonLine({ plan: planDocument(plan) });
}

export function renderRecoverJson(report: RecoverReport): string {
  const { sealError, ...rest } = report;
  const problem = sealError === undefined ? {} : errorDocument(sealError);
  return jsonLine({ ...rest, results: report.results.map(withJsonPath), ...problem });
}
