import { describe, expect, it } from 'vitest';
import { fromBytes, parseRelPath } from '../../../src/core/index.ts';
import { leadsOut } from '../../../src/snapshot/outward.ts';

const ROOT = '/home/u/w';
const out = (path: string, target: string): boolean => leadsOut(parseRelPath(path), target, ROOT);

describe('a link', () => {
  it.each([
    ['l', '..'],
    ['l', '../x'],
    ['d/l', '../../x'],
    ['d/l', 'a/../../../x'],
    ['l', '/etc/passwd'],
    ['l', '/home/u/w2'],
    ['l', '/'],
    ['l', fromBytes(Buffer.from('../\xff', 'latin1'))],
  ])('%j -> %j leads out of the workspace', (path, target) => {
    expect(out(path, target)).toBe(true);
  });

  it.each([
    ['l', 'nowhere'],
    ['l', '.'],
    ['l', 'a/..'],
    ['d/l', '..'],
    ['d/e/l', '../../x'],
    ['l', '/home/u/w'],
    ['l', '/home/u/w/a'],
    ['l', './/a//b'],
  ])('%j -> %j stays inside', (path, target) => {
    expect(out(path, target)).toBe(false);
  });
});
