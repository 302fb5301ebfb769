import type { DoctorReport, RunExamination } from '../../operations/doctor.ts';
import { jsonBytes, jsonLine } from './json.ts';
import { planDocument, renderPlan } from './recover.ts';
import type { Style } from './style.ts';
import { escapeControls, lines } from './words.ts';
import { NOT_AUTHENTIC, verdictLines } from './verify.ts';

export function renderDoctor(report: DoctorReport, style: Style): string {
  const colours = { ok: style.good, limited: style.warn, missing: style.warn, failed: style.bad };
  return lines(
    report.checks.flatMap(({ status, title, detail, advice }) => [
      `${colours[status](status.padEnd(7))}  ${escapeControls(title)}: ${escapeControls(detail)}`,
      ...(advice === undefined ? [] : [`         ${escapeControls(advice)}`]),
    ]),
  );
}

export function renderDoctorJson(report: DoctorReport): string {
  return jsonLine(report);
}
