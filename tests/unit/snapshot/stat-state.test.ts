import { describe, expect, it } from 'vitest';
import { deviceNumber } from '../../../src/snapshot/stat-state.ts';

describe('deviceNumber', () => {
  it.each([
    [0x103n, '1:3'],
    [0x7ffn, '7:255'],
    [0x100700n, '7:256'],
    [0xfff103ffn, '259:1048575'],
    [0x1000_0000_0005n, '4096:5'],
    // Node hands out signed numbers.
    [-1n, '4294967295:4294967295'],
  ])('reads what makedev() of the C library made: %s', (rdev, number) => {
    expect(deviceNumber(rdev)).toBe(number);
  });
});
