import { describe, expect, it } from 'vitest';
import { checkFree } from '../../../bench/place.ts';
import { between } from '../../../bench/report.ts';
import { inTurn, judge, median, type Row, ratioOf } from '../../../bench/rows.ts';
import { temporaryDir } from '../../support/temporary.ts';

const row = (ours: number, bar: Row['bar'], its?: number): Row => ({
  name: 'a',
  what: 'a',
  unit: 'ms',
  ours: [ours],
  ...(its !== undefined && { yardstick: { name: 'b', samples: [its] } }),
  ...(bar && { bar }),
});

describe('the figures of the benchmark', () => {
  it('a median is the middle, or half way between the two middles', () => {
    expect(median([9, 1, 2])).toBe(2);
    expect(median([9, 1, 2, 4])).toBe(3);
    expect(median([10, 9])).toBe(9.5);
    expect(() => median([])).toThrow('no samples');
  });

  it('a bar is one of the ratio where there is a yardstick, else of the figure', () => {
    const bar = { atMost: 2, striveFor: 1 };
    expect(ratioOf(row(30, bar, 20))).toBe(1.5);
    expect(judge(row(30, bar, 20))).toBe('met');
    expect(judge(row(20, bar, 20))).toBe('strived for');
    expect(judge(row(41, bar, 20))).toBe('not met');
    expect(judge(row(1.5, bar))).toBe('met');
    expect(judge(row(2.5, bar))).toBe('not met');
    expect(judge(row(14, { striveFor: 1.3 }, 10))).toBe('not met');
    expect(judge(row(14, { atMost: 1.4 }, 10))).toBe('met');
    expect(judge(row(1, undefined, 1))).toBe('-');
  });

  it('takes the sides in turn, and does not count the rounds before', async () => {
    const taken: string[] = [];
    const side = (name: string) => async () => taken.push(name);
    const samples = await inTurn(2, 1, { a: side('a'), b: side('b') });
    expect(taken).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
    expect(samples).toEqual({ a: [3, 5], b: [4, 6] });
  });

  it('replaces what stands between the marks of a document, and nothing else', () => {
    const document = 'a\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nz\n';
    expect(between(document, 'new')).toBe('a\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\nz\n');
    expect(between(between(document, 'new'), 'old')).toBe(document);
    expect(() => between('a', 'new')).toThrow(RangeError);
  });

  it('ends where less is free than it needs', () => {
    const dir = temporaryDir();
    expect(() => checkFree(dir, 1)).not.toThrow();
    expect(() => checkFree(dir, 2 ** 62)).toThrow(/MB of free space are needed/);
  });
});
