import { describe, expect, it } from 'vitest';
import { parsePolicyFlags, sizeOf } from '../../../src/cli/policy-options.ts';
import { parseCount, parseDuration } from '../../../src/cli/commands/gc.ts';

const USAGE = expect.objectContaining({ code: 'USAGE' });

describe('the values of gc', () => {
  it('a duration is a number and a unit', () => {
    expect(['90m', '12h', '30d', '8w'].map(parseDuration)).toEqual([
      90 * 60_000,
      12 * 3_600_000,
      30 * 86_400_000,
      56 * 86_400_000,
    ]);
    for (const text of ['', '30', 'd', '-1d', '1.5d', '30 d', '1y', '9999999d'])
      expect(() => parseDuration(text), text).toThrowError(USAGE);
  });

  it('a size is what the options of run take too', () => {
    const sizes = ['0', '500', '500B', '1K', '2MiB', '1.5G', '5 GiB', '1TiB'];
    expect(sizes.map((text) => sizeOf('--max-size', text))).toEqual([
      0,
      500,
      500,
      1024,
      2 * 2 ** 20,
      1.5 * 2 ** 30,
      5 * 2 ** 30,
      2 ** 40,
    ]);
    for (const text of ['', 'GiB', '5GB', '5g', '-1', '1e9', '5GiBx'])
      expect(() => sizeOf('--max-size', text), text).toThrowError(USAGE);
  });

  it('a space to leave free may be a share, and the hint says so', () => {
    expect(() => parsePolicyFlags({ minFree: 'x' })).toThrowError(
      expect.objectContaining({ code: 'USAGE', hint: expect.stringContaining('5%') as string }),
    );
  });

  it('a number of capsules is whole', () => {
    expect(['0', '20'].map(parseCount)).toEqual([0, 20]);
    for (const text of ['', '-1', '1.5', 'x']) expect(() => parseCount(text), text).toThrowError(USAGE);
  });
});
