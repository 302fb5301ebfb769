import { expect, it } from 'vitest';
import { parseSize } from '../../../src/core/index.ts';

it.each<[string, number | undefined]>([
  ['0', 0],
  ['4096', 4096],
  ['4096 B', 4096],
  ['64MiB', 64 * 2 ** 20],
  ['64 MiB', 64 * 2 ** 20],
  ['2G', 2 * 2 ** 30],
  ['1.5K', 1536],
  ['0.1K', undefined],
  ['1 MB', undefined],
  ['1m', undefined],
  ['-1', undefined],
  ['1e3', undefined],
  ['', undefined],
  ['9999999999999999T', undefined],
  ['1  K', undefined],
])('%j is %s bytes', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});
