import { describe, expect, it } from 'vitest';
import { newContentBudget, refuseLack, spaceToLeave } from '../../../../src/operations/workspace/budget.ts';
import { resolvePolicy } from '../../../../src/policy/index.ts';
import type { Lowering } from '../../../../src/snapshot/index.ts';
import type { RelPath } from '../../../../src/core/index.ts';

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** The least budget, where the store has `store` bytes and the file system `free` of `total`. */
function budget(limits: object, store: number, free: number, total: number, kept = 0): [number, string] {
  const policy = resolvePolicy({ capture: [], limits });
  const room = { storeBytes: () => store, space: () => ({ free, total }) };
  const { newBytes, newBytesRule } = newContentBudget(policy, kept, room);
  return [newBytes, newBytesRule];
}

describe('the budget of new content', () => {
  it('is the least of three, and names it', () => {
    expect(budget({}, 0, 100 * GiB, 500 * GiB)).toEqual([2 * GiB, 'limit: new content of the run']);
    expect(budget({}, 0, 100 * GiB, 500 * GiB, GiB)).toEqual([GiB, 'limit: new content of the run']);
    expect(budget({}, 9.5 * GiB, 100 * GiB, 500 * GiB)).toEqual([0.5 * GiB, 'limit: size of the store']);
    expect(budget({}, 0, 1.5 * GiB, 500 * GiB)).toEqual([0.5 * GiB, 'limit: free space']);
  });

  it('knows nothing of the free space where the file system does not tell its size', () => {
    expect(budget({}, 0, 0, 0)).toEqual([2 * GiB, 'limit: new content of the run']);
  });

  it('is never below nothing', () => {
    expect(budget({}, 11 * GiB, 100 * GiB, 500 * GiB)).toEqual([0, 'limit: size of the store']);
    expect(budget({}, 0, 1, 500 * GiB)).toEqual([0, 'limit: free space']);
    expect(budget({}, 0, 100 * GiB, 500 * GiB, 3 * GiB)).toEqual([0, 'limit: new content of the run']);
  });
});

describe('the space that stays free', () => {
  it.each([
    ['1 GiB of a large file system', {}, 500 * GiB, GiB],
    ['5 % of a small one', {}, 4 * MiB, Math.ceil((4 * MiB) / 20)],
    ['what was asked for, whatever the share', { freeBytes: 3 * GiB }, 4 * GiB, 3 * GiB],
    ['the share that was asked for, however large', { freePercent: 50 }, 500 * GiB, 250 * GiB],
    ['nothing, when nothing was asked for', { freeBytes: 0 }, 500 * GiB, 0],
  ])('%s', (_what, limits, total, expected) => {
    expect(spaceToLeave(resolvePolicy({ capture: [], limits }).limits, total)).toBe(expected);
  });
});

describe('content without room', () => {
  const lowering = (rule: string): Lowering => ({
    path: 'a' as RelPath,
    level: 'digest',
    rule,
    files: 1,
    bytes: 5,
  });

  it('is refused where the disk has none', () => {
    const rule = 'limit: free space';
    const full = expect.objectContaining({
      code: 'STORE_FULL',
      data: { rule, files: 1, bytes: 5, paths: ['a'] },
    });
    expect(() => refuseLack({ lowered: [lowering('limit: file over 1 KiB'), lowering(rule)] })).toThrowError(
      full,
    );
  });

  it('is not confused with a limit that somebody chose', () => {
    const limits = ['limit: new content of the run', 'limit: file over 1 KiB', 'limit: size of the store'];
    refuseLack({ lowered: limits.map(lowering) });
  });
});
