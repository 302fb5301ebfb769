import { describe, expect, it } from 'vitest';
import { newRunId, type RunId } from '../../../../src/core/index.ts';
import { keptByRule } from '../../../../src/operations/gc/rules.ts';

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.UTC(2026, 10, 30);

/** Runs that began so many days before {@link NOW}, by a clock that may have been wrong; ids follow each other all the same. */
function runs(...daysAgo: number[]): RunId[] {
  const ids: RunId[] = [];
  for (const days of daysAgo) ids.push(newRunId(NOW - days * DAY, ids.at(-1)));
  return ids;
}

function keptAs(sealed: readonly RunId[], rules: Parameters<typeof keptByRule>[2], now = NOW): string[] {
  const kept = keptByRule(sealed, [], rules, now);
  return sealed.map((id) => kept.get(id) ?? '-');
}

describe('what a rule keeps', () => {
  it('the newest, and what is pinned, whatever else is said', () => {
    const sealed = runs(100, 50, 10);
    expect([...keptByRule(sealed, [sealed[0] as RunId], {}, NOW).values()]).toEqual(['pinned', 'newest']);
  });

  it('so many of the newest', () => {
    expect(keptAs(runs(9, 8, 7, 6), { keepLast: 2 })).toEqual(['-', '-', 'keep-last', 'newest']);
    expect(keptAs(runs(9, 8), { keepLast: 0 })).toEqual(['-', 'newest']);
    expect(keptAs(runs(9, 8), { keepLast: 5 })).toEqual(['keep-last', 'newest']);
  });

  it('what began within the time, and each rule keeps on its own', () => {
    expect(keptAs(runs(31, 29, 1, 0), { keepWithinMs: 30 * DAY })).toEqual([
      '-',
      'keep-within',
      'keep-within',
      'newest',
    ]);
    expect(keptAs(runs(90, 60, 31, 0), { keepWithinMs: 30 * DAY, keepLast: 2 })).toEqual([
      '-',
      '-',
      'keep-last',
      'newest',
    ]);
  });

  it('R6: a capsule from the future is not old, and makes none before it old', () => {
    const ahead = -73 * 365;
    expect(keptAs(runs(3, ahead, 0), { keepWithinMs: 30 * DAY })).toEqual([
      'keep-within',
      'keep-within',
      'newest',
    ]);
    expect(keptAs(runs(90, 3, ahead), { keepWithinMs: 30 * DAY })).toEqual(['-', 'keep-within', 'newest']);
  });

  it('R6: a clock that is ahead when gc is called makes nothing old', () => {
    expect(keptAs(runs(20, 3, 1), { keepWithinMs: 30 * DAY }, NOW + 73 * 365 * DAY)).toEqual([
      'keep-within',
      'keep-within',
      'newest',
    ]);
  });

  it('R6: after the clock was set back, runs are fresh and in their order', () => {
    expect(keptAs(runs(1, 400, 401), { keepWithinMs: 30 * DAY }, NOW - 400 * DAY)).toEqual([
      'keep-within',
      'keep-within',
      'newest',
    ]);
  });
});
