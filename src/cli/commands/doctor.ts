import { AgentdiffError, EXIT } from '../../core/index.ts';
import { examineMachine, examineRun } from '../../operations/doctor.ts';
import type { DoctorOptions } from '../options.ts';
import { policyFileOf } from '../policy-options.ts';
import {
  renderDoctor,
  renderDoctorJson,
  renderExamination,
  renderExaminationJson,
} from '../render/doctor.ts';
import type { Session } from '../session.ts';
import { statusOf } from './verify.ts';

/** Status 1 when something does not work, the run's capsule is not intact, or a path of it could not be recovered now. */
export async function doctorCommand(
  session: Session,
  ref: string | undefined,
  options: DoctorOptions,
): Promise<number> {
  const { context, place, output, json } = session;
  if (ref === undefined) {
    const report = await examineMachine(context, place, policyFileOf(options, context.cwd).policyFile);
    await output.print(json ? renderDoctorJson(report) : renderDoctor(report, output.outStyle));
    return report.checks.some(({ status }) => status === 'failed') ? EXIT.findings : EXIT.done;
  }
  const report = examineRun(context, place, ref);
  await output.print(json ? renderExaminationJson(report) : renderExamination(report, output.outStyle));
  const { plan } = report;
  const isAllRecoverable = !(plan instanceof AgentdiffError) && plan.counts.refused === 0;
  return statusOf(report.capsule) || (isAllRecoverable ? EXIT.done : EXIT.findings);
}
