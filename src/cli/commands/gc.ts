import { isatty } from 'node:tty';
import { AgentdiffError, EXIT } from '../../core/index.ts';
import { applyGc, doesNothing, type GcReport, planGc, type RetentionRules } from '../../operations/gc.ts';
import { askYes, canAsk } from '../ask.ts';
import type { GcOptions } from '../options.ts';
import { sizeOf } from '../policy-options.ts';
import { gcDocument, renderGc, renderGcJson } from '../render/gc.ts';
import { lines } from '../render/words.ts';
import type { Session } from '../session.ts';

/** Shows what would go; removes it when told so, or when the question on a terminal was answered with yes. */
export async function gcCommand(session: Session, options: GcOptions): Promise<number> {
  const { context, place, output, json } = session;
  const rules = parseRules(options);
  const shown = await planGc(context, place, rules, options.interrupted);
  const print = async (report: GcReport): Promise<void> => {
    await output.print(json ? renderGcJson(report) : renderGc(report, output.outStyle) + whatToType(report));
  };
  const isAsked = options.yes !== true && options.dryRun !== true && !json && canAsk();
  const isOnlyShown = options.yes !== true && (!isAsked || doesNothing(shown.plan));
  if (options.dryRun === true || isOnlyShown) {
    await print(shown);
    return EXIT.done;
  }
  if (isAsked) await approve(shown, session);
  const report = applyGc(context, place, shown);
  await print(report);
  return report.exitStatus;
}

/** Below a plan that nobody is asked about. */
function whatToType({ plan, done }: GcReport): string {
  if (done !== undefined) return '';
  const words = doesNothing(plan)
    ? 'nothing would be removed'
    : 'nothing was removed: give the same command with --yes (and without --dry-run) to remove it';
  return lines([`  ${words}`]);
}

/** @throws NOT_APPROVED */
async function approve(shown: GcReport, { output }: Session): Promise<void> {
  // Who is asked must have seen the plan, also when stdout goes elsewhere.
  if (isatty(1)) await output.print(renderGc(shown, output.outStyle));
  else output.tell(renderGc(shown, output.errStyle));
  if (await askYes('Remove?')) return;
  throw new AgentdiffError('NOT_APPROVED', 'not approved, so nothing was removed', {
    hint: 'answer y to remove what the plan names',
    data: { plan: gcDocument(shown) },
  });
}

function parseRules({ keepLast, keepWithin, maxSize }: GcOptions): RetentionRules {
  const maxBytes = sizeOf('--max-size', maxSize);
  return {
    ...(keepLast !== undefined && { keepLast: parseCount(keepLast) }),
    ...(keepWithin !== undefined && { keepWithinMs: parseDuration(keepWithin) }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
}

/** @throws USAGE */
export function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(
    `not a number of capsules: ${JSON.stringify(text)}`,
    'use a whole number, as in --keep-last 20',
  );
}

const HOUR = 60 * 60 * 1000;
const DURATIONS: ReadonlyMap<string, number> = new Map([
  ['m', 60 * 1000],
  ['h', HOUR],
  ['d', 24 * HOUR],
  ['w', 7 * 24 * HOUR],
]);

/** `5m` (minutes), `12h`, `30d`, `8w` in milliseconds. @throws USAGE */
export function parseDuration(text: string): number {
  const [, number = '', letter = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const unit = DURATIONS.get(letter);
  if (unit !== undefined) return Number(number) * unit;
  throw usage(
    `not a duration: ${JSON.stringify(text)}`,
    'use a number and m (minutes), h, d or w, as in --keep-within 30d',
  );
}

function usage(message: string, hint: string): AgentdiffError {
  return new AgentdiffError('USAGE', message, { hint });
}
