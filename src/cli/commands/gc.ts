import { isatty } from 'node:tty';
import { AgentdiffError, EXIT } from '../../core/index.ts';
import { applyGc, doesNothing, type GcReport, planGc, type RetentionRules } from '../../operations/gc.ts';
import { askYes, canAsk } from '../ask.ts';
import type { GcOptions } from '../options.ts';
import { gcDocument, renderGc, renderGcJson } from '../render/gc.ts';
import type { Session } from '../session.ts';

/** Shows what would go; removes it when told so, or when the question on a terminal was answered with yes. */
export async function gcCommand(session: Session, options: GcOptions): Promise<number> {
  const { context, place, output, json } = session;
  const rules = parseRules(options);
  const shown = await planGc(context, place, rules);
  const print = async (report: GcReport): Promise<void> => {
    await output.print(json ? renderGcJson(report) : renderGc(report, output.outStyle));
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
  return {
    ...(keepLast !== undefined && { keepLast: parseCount(keepLast) }),
    ...(keepWithin !== undefined && { keepWithinMs: parseDuration(keepWithin) }),
    ...(maxSize !== undefined && { maxBytes: parseSize(maxSize) }),
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

/** `90m`, `12h`, `30d`, `8w` in milliseconds. @throws USAGE */
export function parseDuration(text: string): number {
  const [, number = '', letter = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const unit = DURATIONS.get(letter);
  if (unit !== undefined) return Number(number) * unit;
  throw usage(
    `not a duration: ${JSON.stringify(text)}`,
    'use a number and m, h, d or w, as in --keep-within 30d',
  );
}

const SIZES: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
]);

/** `500MiB`, `1.5GiB` in bytes; a number alone is bytes. @throws USAGE */
export function parseSize(text: string): number {
  const [, number = '', letters = 'B'] = /^(\d{1,12}(?:\.\d{1,3})?) ?([KMGT]iB|B)?$/.exec(text) ?? [];
  const unit = SIZES.get(letters);
  if (number !== '' && unit !== undefined) return Math.floor(Number(number) * unit);
  throw usage(
    `not a size: ${JSON.stringify(text)}`,
    'use a number and B, KiB, MiB, GiB or TiB, as in --max-size 5GiB',
  );
}

function usage(message: string, hint: string): AgentdiffError {
  return new AgentdiffError('USAGE', message, { hint });
}
