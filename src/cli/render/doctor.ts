import type { DoctorReport, RunExamination } from '../../operations/doctor.ts';
import { jsonBytes, jsonLine } from './json.ts';
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
export function renderExamination({ capsule, plan }: RunExamination, style: Style): string {
  return lines([...verdictLines(capsule, style), NOT_AUTHENTIC]) + renderPlan(plan, style);
}

export function renderExaminationJson({ runId, capsule, plan }: RunExamination): string {
  return jsonLine({
    runId,
    capsule: verdictDocument(capsule),
    plan: planDocument(plan),
    note: NOT_AUTHENTIC,
  });
}
