import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRunId, newRunId, type RunId } from '../../../src/core/index.ts';

const NOW = Date.UTC(2026, 10, 30, 18, 47, 26, 5);

describe('a run id', () => {
  it('says the time', () => {
    const id = newRunId(NOW, undefined);
    expect(id).toMatch(/^20261130T184726Z-005[0-9a-f]{5}$/);
    expect(isRunId(id)).toBe(true);
  });

  it.each([
    '',
    'last',
    '20261130T184726Z',
    '20261130T184726Z-005',
    '20261130T184726Z-0054F9C2',
    '../20261130T184726Z-4f9c2a1b',
    '20269999T999999Z-00000000',
    '20260230T000000Z-00000000',
  ])('is not %j', (text) => {
    expect(isRunId(text)).toBe(false);
  });

  it('names a time that the calendar has, and no other', () => {
    const two = (max: number) => fc.integer({ min: 0, max }).map((n) => `${n}`.padStart(2, '0'));
    const parts = fc.tuple(fc.integer({ min: 0, max: 9999 }), two(14), two(33), two(26), two(62), two(62));
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, second]) => {
        const years = `${year}`.padStart(4, '0');
        const time = Date.parse(`${years}-${month}-${day}T${hour}:${minute}:${second}Z`);
        const text = `${years}${month}${day}T${hour}${minute}${second}`;
        // An impossible date has no time, or that of another date.
        const again = Number.isNaN(time) ? '' : new Date(time).toISOString().replaceAll(/[-:]/g, '');
        expect(isRunId(`${text}Z-00000000`)).toBe(again.startsWith(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('sorts after the newest one, wherever the clock stands', () => {
    const time = fc.integer({ min: 0, max: Date.UTC(2100, 0) });
    fc.assert(
      fc.property(time, time, (a, b) => {
        const first = newRunId(a, undefined);
        const second = newRunId(b, first);
        expect(isRunId(second)).toBe(true);
        expect(second > first).toBe(true);
      }),
    );
  });

  it('sorts after one whose milliseconds no clock makes', () => {
    const odd = '20261130T184726Z-fffaaaaa' as RunId;
    expect(newRunId(NOW, odd) > odd).toBe(true);
  });

  it('is made even behind the last one that there can be', () => {
    const last = '99991231T235959Z-3e7fffff' as RunId;
    expect(isRunId(last)).toBe(true);
    expect(isRunId(newRunId(NOW, last))).toBe(true);
  });
});
