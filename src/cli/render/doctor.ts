import { AgentdiffError } from '../../core/index.ts';
import type { DoctorReport, RunExamination, StoreFigures } from '../../operations/doctor.ts';
import { errorDocument } from './error.ts';
import { jsonBytes, jsonLine } from './json.ts';
import { wordExamples, wordGroup } from './lowered.ts';
import { planDocument, renderPlan } from './recover.ts';
import type { Style } from './style.ts';
import { NOT_AUTHENTIC, verdictDocument, verdictLines } from './verify.ts';
import { count, escapeControls, joinWithin, lines, showBytes, table } from './words.ts';

export function renderDoctor(report: DoctorReport, style: Style): string {
  const colours = { ok: style.good, limited: style.warn, missing: style.warn, failed: style.bad };
  const checks = lines(
    report.checks.flatMap(({ status, title, detail, advice }) => [
      `${colours[status](status.padEnd(7))}  ${escapeControls(title)}: ${escapeControls(detail)}`,
      ...(advice === undefined ? [] : [`         ${escapeControls(advice)}`]),
    ]),
  );
  return report.figures === undefined ? checks : checks + renderFigures(report.figures, style);
}

/** Runs whose cost is shown. */
const MAX_RUNS = 10;

function renderFigures(figures: StoreFigures, style: Style): string {
  const { total, budgetBytes, capsules, pending, pins, packs, largeObjects, shared, leftovers } = figures;
  const newest = figures.runs.slice(0, MAX_RUNS);
  const rows = newest.map(({ runId, capsule, objects, pinned }) => [
    runId,
    showBytes(capsule.allocated),
    showBytes(objects.allocated),
    pinned ? 'pinned' : '',
  ]);
  const [head = '', ...costs] = table([['run', 'capsule', 'new contents', ''], ...rows]);
  return lines([
    `${style.strong('this workspace in the store:')} ${showBytes(total.allocated)} on the disk (${showBytes(total.bytes)} by length), ${wordBudget(budgetBytes)}`,
    `  ${count(capsules, 'capsule')}, ${count(pins, 'pin')}, ${count(pending, 'run')} without a sealed capsule; ${count(packs, 'pack')}, ${count(largeObjects, 'large content')}`,
    `  left by ended processes: ${leftovers.count === 0 ? 'nothing' : `${count(leftovers.count, 'entry', 'entries')}, ${showBytes(leftovers.size.allocated)}; the next run removes them, after a day where it cannot be told whether the process lives`}`,
    ...(shared.allocated === 0
      ? []
      : [`  ${showBytes(shared.allocated)} in contents of no single run: of removed ones, or merged`]),
    ...(newest.length === 0 ? [] : [`  ${style.dim(head)}`, ...costs.map((line) => `  ${line}`)]),
    ...(figures.runs.length > MAX_RUNS
      ? [`  … and ${count(figures.runs.length - MAX_RUNS, 'older run')}; --json has all`]
      : []),
  ]);
}

function wordBudget(budgetBytes: StoreFigures['budgetBytes']): string {
  if (budgetBytes === undefined) return 'no budget';
  return budgetBytes === 'unknown' ? 'budget not known' : `budget ${showBytes(budgetBytes)}`;
}

export function renderDoctorJson({ store, checks, figures }: DoctorReport): string {
  return jsonLine({ store: jsonBytes(store), checks, ...(figures && { figures }) });
}

/** What is known of one run now: whether its capsule is intact, and what a recover would do. */
export function renderExamination({ capsule, plan, lowered }: RunExamination, style: Style): string {
  const places = lowered === undefined ? [] : coverageLines(lowered);
  const head = lines([...verdictLines(capsule, style), NOT_AUTHENTIC, ...places]);
  if (!(plan instanceof AgentdiffError)) return head + renderPlan(plan, style);
  const why = `${escapeControls(plan.message)} [${plan.code}]`;
  return head + lines([`${style.bad('a recover would be refused:')} ${why}`]);
}

function coverageLines({ groups, unobserved }: NonNullable<RunExamination['lowered']>): string[] {
  const { total, examples } = unobserved;
  return [
    ...groups.map((group) => `looked at less closely: ${wordGroup(group)} (${wordExamples(group)})`),
    ...(total === 0 ? [] : [`not observed: ${count(total, 'place')}: ${joinWithin(examples, total)}`]),
  ];
}

export function renderExaminationJson({ runId, capsule, plan, lowered }: RunExamination): string {
  return jsonLine({
    runId,
    capsule: verdictDocument(capsule),
    ...(plan instanceof AgentdiffError ? { refused: errorDocument(plan) } : { plan: planDocument(plan) }),
    ...(lowered && { lowered: lowered.groups, loweredCut: lowered.cut, unobserved: lowered.unobserved }),
    note: NOT_AUTHENTIC,
  });
}
