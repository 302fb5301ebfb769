import { AgentdiffError, EXIT, parseRelPath } from '../../core/index.ts';
import { applyRecover, planRecover, type RecoverPlan } from '../../operations/recover.ts';
import { askYes, canAsk } from '../ask.ts';
import type { RecoverOptions } from '../options.ts';
import {
  planDocument,
  renderPlan,
  renderPlanJson,
  renderRecover,
  renderRecoverJson,
} from '../render/recover.ts';
import type { Session } from '../session.ts';

/** Shows the plan, gets consent to it, applies it. Status 3 when paths were refused. */
export async function recoverCommand(
  session: Session,
  ref: string | undefined,
  operands: readonly string[],
  options: RecoverOptions,
): Promise<number> {
  const { context, place, output, json } = session;
  const paths = [...operands, ...(options.path ?? [])].map(parseRelPath);
  const plan = planRecover(context, place, ref, paths);
  if (options.dryRun === true) {
    await output.print(json ? renderPlanJson(plan) : renderPlan(plan, output.outStyle));
    return EXIT.done;
  }
  if (!json) await output.print(renderPlan(plan, output.outStyle));
  if (plan.counts.apply === 0) {
    if (json) await output.print(renderPlanJson(plan));
    return plan.counts.refused > 0 ? EXIT.partly : EXIT.done;
  }
  if (options.yes !== true) await approve(plan, json);
  const report = applyRecover(context, place, plan);
  await output.print(json ? renderRecoverJson(report) : renderRecover(report, output.outStyle));
  return report.exitStatus;
}

/** @throws NOT_APPROVED */
async function approve(plan: RecoverPlan, json: boolean): Promise<void> {
  if (json || !canAsk()) {
    throw new AgentdiffError('NOT_APPROVED', 'nobody can be asked here, so nothing was changed', {
      hint: '--yes applies the plan without asking; --dry-run only shows it',
      data: { plan: planDocument(plan) },
    });
  }
  if (await askYes('Apply?')) return;
  throw new AgentdiffError('NOT_APPROVED', 'not approved, so nothing was changed', {
    hint: 'answer y to apply the plan; name paths to apply a part of it',
  });
}
