import { EXIT } from '../../core/index.ts';
import { reversibilityOf } from '../../operations/reversibility.ts';
import { showRun } from '../../operations/show.ts';
import { renderShow, renderShowJson } from '../render/show.ts';
import type { Session } from '../session.ts';

/** Status 1 when the capsule is not intact: what was shown may not be what was sealed. */
export async function showCommand({ context, place, output, json }: Session, ref: string): Promise<number> {
  const report = showRun(context, place, ref);
  const words = reversibilityOf(report.capsule);
  await output.print(json ? renderShowJson(report, words) : renderShow(report, words, output.outStyle));
  return report.problems.length === 0 ? EXIT.done : EXIT.findings;
}
