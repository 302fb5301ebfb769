import type { CapsuleFate, GcPlan, GcReport, PendingFate } from '../../operations/gc.ts';
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
    ...pendingLines(report),
    ...objectLines(plan, style),
    done === undefined
      ? `  about ${showBytes(Math.max(0, plan.sizeBytes - plan.sizeAfterBytes))} would be freed`
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
    return [
      `  ${word} (${count(some.length, 'capsule')}, ${showBytes(bytes)}): ${WHY[why]}`,
      ...some
        .slice(0, MAX_NAMED)
        .map(({ runId, problem }) => `    ${runId}${problem === undefined ? '' : `  ${problem}`}`),
      ...moreLine(some.length - MAX_NAMED),
    ];
  });
}

const STATES: Readonly<Record<PendingFate['state'], string>> = {
  active: 'active',
  unsealed: 'interrupted; its before-snapshot is kept, and gc --interrupted RUN removes it',
  'never-started': 'interrupted before its command started; the next run removes it',
};

function pendingLines({ plan, done }: GcReport): string[] {
  const isGone = (fate: PendingFate): boolean => fate.goes;
  const going = plan.pending.filter(isGone);
  const word = done === undefined ? 'would go' : 'removed';
  return [
    ...going.map(({ runId }) => `  ${word}: the interrupted run ${runId} and its before-snapshot`),
    ...Object.entries(STATES).flatMap(([state, words]) => {
      const some = plan.pending.filter((fate) => fate.state === state && !isGone(fate));
      if (some.length === 0) return [];
      return [
        `  stays (${count(some.length, 'run')}): no sealed capsule, ${words}`,
        ...some.slice(0, MAX_NAMED).map(({ runId }) => `    ${runId}`),
        ...moreLine(some.length - MAX_NAMED),
      ];
    }),
  ];
}

function moreLine(more: number): string[] {
  return more > 0 ? [`    … and ${count(more, 'more', 'more')}`] : [];
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

/** Bytes that are left beyond what was wanted. */
function overBytes({ plan, done }: GcReport): number {
  return Math.max(0, (done?.sizeBytes ?? plan.sizeAfterBytes) - (plan.maxBytes ?? Infinity));
}

function overLines(report: GcReport, style: Style): string[] {
  const { plan, done } = report;
  const size = done?.sizeBytes ?? plan.sizeAfterBytes;
  const damaged = done?.damagedPacks.length ?? 0;
  return [
    ...(overBytes(report) > 0
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

export function gcDocument(report: GcReport): object {
  const { root, plan, done } = report;
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
    ...(maxBytes !== undefined && { maxBytes, overBytes: overBytes(report) }),
    ...(done && {
      removed: done.removed,
      interruptedRemoved: done.interrupted,
      damagedPacks: done.damagedPacks,
    }),
  };
}
