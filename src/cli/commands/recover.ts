import { isatty } from 'node:tty';
import { AgentdiffError, EXIT } from '../../core/index.ts';
import { applyRecover, planRecover, type RecoverPlan } from '../../operations/recover.ts';
import { askYes, canAsk } from '../ask.ts';
import type { RecoverOptions } from '../options.ts';
import { parseUserPath } from '../paths.ts';
import { renderError } from '../render/error.ts';
import {
  planDocument,
  renderPlan,
  renderPlanJson,
  renderRecover,
  renderRecoverJson,
  renderUnkept,
  wordQuestion,
} from '../render/recover.ts';
import type { Session } from '../session.ts';

/** Makes the plan, gets consent to it, applies it. Status 3 when paths were refused. */
export async function recoverCommand(
  session: Session,
  ref: string | undefined,
  operands: readonly string[],
  options: RecoverOptions,
): Promise<number> {
  const { context, place, output, json } = session;
  const paths = [...operands, ...(options.path ?? [])].map(parseUserPath);
  const request = { place, ref, paths };
  const plan = planRecover(context, request);
  if (options.dryRun === true) {
    await output.print(json ? renderPlanJson(plan) : renderPlan(plan, output.outStyle));
    return EXIT.done;
  }
  if (options.yes !== true && plan.counts.apply > 0) await approve(plan, session);
  if (options.yes === true) output.tell(renderUnkept(plan, output.errStyle));
  const report = applyRecover(context, request, plan, options.yes === true ? 'yes' : 'terminal');
  await output.print(json ? renderRecoverJson(report) : renderRecover(report, output.outStyle));
  if (report.sealError !== undefined && !json) {
    output.tell(renderError(report.sealError, output.errStyle, options.debug === true));
  }
  return report.exitStatus;
}

/** @throws NOT_APPROVED */
async function approve(plan: RecoverPlan, { output, json }: Session): Promise<void> {
  const isAsked = !json && canAsk();
  // Who is asked must have seen the plan, also when stdout goes elsewhere.
  if (isAsked && !isatty(1)) output.tell(renderPlan(plan, output.errStyle));
  else if (!json) await output.print(renderPlan(plan, output.outStyle));
  if (!isAsked) {
    throw new AgentdiffError('NOT_APPROVED', 'nobody can be asked here, so nothing was changed', {
      hint: '--yes applies the plan without asking; --dry-run only shows it',
      data: { plan: planDocument(plan) },
    });
  }
  if (await askYes(wordQuestion(plan))) return;
  throw new AgentdiffError('NOT_APPROVED', 'not approved, so nothing was changed', {
    hint: 'answer y to apply the plan; name paths to apply a part of it',
  });
}
