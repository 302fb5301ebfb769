import { expect, it } from 'vitest';
import { digestOf, parseRelPath } from '../../../../src/core/index.ts';
import { neededBytes, refuseLackOfSpace } from '../../../../src/operations/recover/space.ts';
import type { PlannedStep } from '../../../../src/operations/recover/plan.ts';
import type { State } from '../../../../src/snapshot/index.ts';

const MiB = 2 ** 20;

function file(size: number): State {
  return {
    kind: 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    size,
    content: { is: 'digest', digest: digestOf(String(size)) },
  };
}

function step(
  wanted: number | undefined,
  expected: number | undefined,
  over: Partial<PlannedStep> = {},
): PlannedStep {
  return {
    path: parseRelPath('f'),
    action: wanted === undefined ? 'remove' : 'restore',
    kind: 'file',
    verdict: 'apply',
    ...(wanted !== undefined && { wanted: { state: file(wanted) } }),
    ...(expected !== undefined && { expected: file(expected) }),
    ...over,
  };
}

it('counts what is added beyond what is freed, and what lies beside it for a while', () => {
  expect(neededBytes([step(5 * MiB, undefined), step(3 * MiB, undefined)])).toBe(8 * MiB);
  expect(neededBytes([step(5 * MiB, 5 * MiB)])).toBe(5 * MiB);
  expect(neededBytes([step(undefined, 9 * MiB)])).toBe(0);
  expect(neededBytes([step(7 * MiB, 2 * MiB)])).toBe(7 * MiB);
  // Removals come before anything is written.
  expect(neededBytes([step(5 * MiB, undefined), step(undefined, 9 * MiB)])).toBe(0);
  expect(neededBytes(Array.from({ length: 10 }, () => step(100 * MiB, 100 * MiB)))).toBe(256 * MiB);
  expect(
    neededBytes([
      step(5 * MiB, 5 * MiB, { action: 'change-mode' }),
      step(5 * MiB, undefined, { verdict: 'already' }),
    ]),
  ).toBe(0);
});

it('refuses what does not fit, and says how much', () => {
  expect(() =>
    refuseLackOfSpace([step(2 * MiB, undefined)], { free: 2 * MiB, total: 9 * MiB }),
  ).not.toThrow();
  // A file system without a size.
  expect(() => refuseLackOfSpace([step(2 * MiB, undefined)], { free: 0, total: 0 })).not.toThrow();
  expect(() => refuseLackOfSpace([step(2 * MiB, undefined)], { free: 2 * MiB - 1, total: 9 * MiB })).toThrow(
    expect.objectContaining({ code: 'SPACE_SHORT', data: { neededBytes: 2 * MiB, freeBytes: 2 * MiB - 1 } }),
  );
});
