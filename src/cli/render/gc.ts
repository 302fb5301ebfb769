import type { CapsuleFate, GcPlan, GcReport } from '../../operations/gc.ts';
import { errorDocument } from './error.ts';
import { jsonBytes, jsonLine } from './json.ts';
import type { Style } from './style.ts';
import { count, escapeControls, lines, showBytes, showPlace } from './words.ts';

/** Ids that are named one by one. */
const MAX_NAMED = 20;

export function renderGc(report: GcReport, style: Style): string {
  const { plan, done, root } = report;
  const goes = plan.capsules.filter(({ goes: isGoing }) => isGoing);
  const stays = plan.capsules.filter(({ goes: isGoing }) => !isGoing);
  const limit = plan.maxBytes === undefined ? '' : `, at most ${showBytes(plan.maxBytes)} wanted`;
  return lines([
    `${style.strong(done === undefined ? 'plan of a gc:' : 'gc:')} ${showPlace(root)}, ${showBytes(plan.sizeBytes)} in the store${limit}`,
    ...group(done === undefined ? 'would go' : 'removed', goes),
    ...group('stays', stays),
    ...pendingLines(plan),
    ...objectLines(plan, style),
    done === undefined
      ? `  ${showBytes(Math.max(0, plan.sizeBytes - plan.sizeAfterBytes))} would be freed`
      : `  ${showBytes(Math.max(0, plan.sizeBytes - done.sizeBytes))} freed, ${showBytes(done.sizeBytes)} left`,
    ...overLines(report, style),
  ]);
}

const WHY: Readonly<Record<CapsuleFate['why'], string>> = {
  newest: 'the newest is never removed',
  pinned: 'pinned',
  'keep-last': 'by --keep-last',
  'keep-within': 'by --keep-within',
  fits: 'nothing asks for it',
  unreadable: 'cannot be read, so it is not judged; see agentdiff verify',
  'not-kept': 'no rule keeps it',
  'over-size': 'the oldest, and the store is over its size',
};

/** Capsules of one fate, the reasons in the order in which they first come up. */
function group(word: string, fates: readonly CapsuleFate[]): string[] {
  const reasons = [...new Set(fates.map(({ why }) => why))];
  return reasons.flatMap((why) => {
    const some = fates.filter((fate) => fate.why === why);
    const bytes = some.reduce((sum, fate) => sum + fate.bytes, 0);
    const more = some.length - MAX_NAMED;
    return [
      `  ${word} (${count(some.length, 'capsule')}, ${showBytes(bytes)}): ${WHY[why]}`,
      ...some
        .slice(0, MAX_NAMED)
        .map(({ runId, problem }) => `    ${runId}${problem === undefined ? '' : `  ${problem}`}`),
      ...(more > 0 ? [`    … and ${count(more, 'more', 'more')}`] : []),
    ];
  });
}

function pendingLines({ pending }: GcPlan): string[] {
  if (pending.length === 0) return [];
  return [
    `  stays (${count(pending.length, 'run')}): no sealed capsule, active or interrupted`,
    ...pending.slice(0, MAX_NAMED).map((runId) => `    ${runId}`),
  ];
}

function objectLines({ sweep, unknown }: GcPlan, style: Style): string[] {
  if (unknown !== undefined) {
    const { runId, error } = unknown;
    const whose = runId === undefined ? 'an interrupted run or the last scan' : `run ${runId}`;
    return [
      `  ${style.warn('all contents stay:')} what ${whose} needs is not known: ${escapeControls(error.message)} [${error.code}]`,
    ];
  }
  const { dropped, rewritten, large, unreadable } = sweep;
  return [
    ...(large.length + dropped.length + rewritten.length === 0
      ? []
      : [
          `  contents: ${showBytes(sweep.freedBytes)} that nothing needs; ${count(large.length, 'large one')}, ${count(dropped.length, 'whole pack')}, ${count(rewritten.length, 'pack')} written anew`,
        ]),
    ...(unreadable.length === 0
      ? []
      : [`  ${style.warn('stays:')} ${count(unreadable.length, 'pack')} with a damaged index`]),
  ];
}

function overLines({ plan, done }: GcReport, style: Style): string[] {
  const size = done?.sizeBytes ?? plan.sizeAfterBytes;
  const damaged = done?.damagedPacks.length ?? 0;
  return [
    ...(plan.maxBytes !== undefined && size > plan.maxBytes
      ? [
          `  ${style.warn('still over:')} ${showBytes(size)} cannot go: pinned, unsealed, kept by a rule, or what the newest run and the next scan need`,
        ]
      : []),
    ...(damaged === 0 ? [] : [`  ${style.warn('stays:')} ${count(damaged, 'pack')} with damaged contents`]),
  ];
}

export function renderGcJson(report: GcReport): string {
  return jsonLine(gcDocument(report));
}

export function gcDocument({ root, plan, done }: GcReport): object {
  const { capsules, pending, unknown, sweep, sizeBytes, sizeAfterBytes, maxBytes } = plan;
  const { dropped, rewritten, large, unreadable, freedBytes } = sweep;
  return {
    root: jsonBytes(root),
    dryRun: done === undefined,
    capsules,
    pending,
    ...(unknown && { allContentsStay: { runId: unknown.runId, ...errorDocument(unknown.error) } }),
    contents: {
      freedBytes,
      largeObjects: large.length,
      wholePacks: dropped.length,
      rewrittenPacks: rewritten.length,
      unreadablePacks: unreadable,
    },
    sizeBytes,
    sizeAfterBytes: done?.sizeBytes ?? sizeAfterBytes,
    ...(maxBytes !== undefined && { maxBytes }),
    ...(done && { removed: done.removed, damagedPacks: done.damagedPacks }),
  };
}
