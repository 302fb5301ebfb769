import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { unifiedHunks } from '../../../../src/operations/diff/hunks.ts';
import { temporaryDir } from '../../../support/temporary.ts';

const TEXTS = ['', 'a\n', 'a', 'a\nb\n', 'a\n\n', '\n', 'x\ny\nz', 'a\r\nb\r\n'];
const pairs = TEXTS.flatMap((before) => TEXTS.map((after) => [before, after] as const)).filter(
  ([before, after]) => before !== after,
);

/** What patch(1) makes of `before`; undefined when it refuses the hunks. */
function patched(before: string, hunks: string): string | undefined {
  const dir = temporaryDir();
  const file = path.join(dir, 'f');
  fs.writeFileSync(file, before);
  const args = ['--silent', '--binary', '--fuzz=0', '--reject-file=-', file];
  const { status } = spawnSync('patch', args, { cwd: dir, input: `--- f\n+++ f\n${hunks}` });
  // An empty result is a removed file to some.
  return status === 0 ? (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '') : undefined;
}

const hasPatch = spawnSync('patch', ['--version']).status === 0;
/** So short that every comparison is given up. */
const NO_TIME = -1;

describe('a comparison that is given up', () => {
  it('replaces all lines, with true ranges and no line that is not there', () => {
    const head = (ranges: string): string => `@@ ${ranges} @@ too different to compare line by line`;
    const missing = '\\ No newline at end of file';
    const hunks = (before: string, after: string): string[] =>
      unifiedHunks(before, after, NO_TIME).split('\n');
    expect(hunks('a\nb\n', 'c\n')).toEqual([head('-1,2 +1,1'), '-a', '-b', '+c', '']);
    expect(hunks('a\n\n', 'c')).toEqual([head('-1,2 +1,1'), '-a', '-', '+c', missing, '']);
    expect(hunks('', 'c\n')).toEqual([head('-0,0 +1,1'), '+c', '']);
    expect(hunks('a', '')).toEqual([head('-1,1 +0,0'), '-a', missing, '']);
  });

  it.skipIf(!hasPatch)('can be applied by patch(1)', () => {
    for (const [before, after] of pairs)
      expect([before, after, patched(before, unifiedHunks(before, after, NO_TIME))]).toEqual([
        before,
        after,
        after,
      ]);
  });
});

it.skipIf(!hasPatch)('every difference can be applied by patch(1)', () => {
  for (const [before, after] of pairs)
    expect([before, after, patched(before, unifiedHunks(before, after, 1000))]).toEqual([
      before,
      after,
      after,
    ]);
});
