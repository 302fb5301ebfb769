import { AgentdiffError } from '../../core/index.ts';
import type { DoctorReport, RunExamination } from '../../operations/doctor.ts';
import { errorDocument } from './error.ts';
import { jsonBytes, jsonLine } from './json.ts';
import { wordGroup } from './lowered.ts';
import { planDocument, renderPlan } from './recover.ts';
import type { Style } from './style.ts';
import { NOT_AUTHENTIC, verdictDocument, verdictLines } from './verify.ts';
import { escapeControls, lines } from './words.ts';

export function renderDoctor(report: DoctorReport, style: Style): string {
  const colours = { ok: style.good, limited: style.warn, missing: style.warn, failed: style.bad };
  return lines(
    report.checks.flatMap(({ status, title, detail, advice }) => [
      `${colours[status](status.padEnd(7))}  ${escapeControls(title)}: ${escapeControls(detail)}`,
      ...(advice === undefined ? [] : [`         ${escapeControls(advice)}`]),
    ]),
  );
}

export function renderDoctorJson({ store, checks }: DoctorReport): string {
  return jsonLine({ store: jsonBytes(store), checks });
}

/** What is known of one run now: whether its capsule is intact, and what a recover would do. */
export function renderExamination({ capsule, plan, lowered }: RunExamination, style: Style): string {
  const places = lowered?.groups.map((group) => `looked at less closely: ${wordGroup(group)}`) ?? [];
  const head = lines([...verdictLines(capsule, style), NOT_AUTHENTIC, ...places]);
  if (!(plan instanceof AgentdiffError)) return head + renderPlan(plan, style);
  const why = `${escapeControls(plan.message)} [${plan.code}]`;
  return head + lines([`${style.bad('a recover would be refused:')} ${why}`]);
}

export function renderExaminationJson({ runId, capsule, plan, lowered }: RunExamination): string {
  return jsonLine({
    runId,
    capsule: verdictDocument(capsule),
    ...(plan instanceof AgentdiffError ? { refused: errorDocument(plan) } : { plan: planDocument(plan) }),
    ...(lowered && { lowered: lowered.groups, loweredCut: lowered.cut }),
    note: NOT_AUTHENTIC,
  });
}
