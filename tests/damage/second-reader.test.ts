/** A reader written from `docs/capsule-format.md` alone must come to the same answers as ours. */
import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { writeSample } from '../support/sample-capsule.ts';
import { temporaryDir } from '../support/temporary.ts';
import { document, FILE_DAMAGE, FORGERY, MANIFEST_DAMAGE } from './catalogue.ts';

const script = fileURLToPath(new URL('second-reader.py', import.meta.url));
const golden = fileURLToPath(new URL('../golden/v1/capsule', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;
const title = hasPython ? 'a second reader' : 'a second reader (skipped: there is no python3 here)';

/** What it does not judge by itself: fields, words, and what the documents say of each other. */
const BEYOND_IT = /: (invalid|inconsistent)$/;

describe.skipIf(!hasPython)(title, () => {
  it('takes a capsule of the writer, and the one that is kept', () => {
    const directory = temporaryDir();
    writeSample(directory);
    expect(read([directory, golden])).toEqual([[], []]);
  });

  it('says the same of every damage', () => {
    const base = temporaryDir();
    const rows = [...FILE_DAMAGE, ...MANIFEST_DAMAGE, ...FORGERY].map((damage, i) => {
      const directory = path.join(base, String(i));
      writeSample(directory);
      damage.harm(directory);
      const said = [...(damage.files ?? []), ...(damage.documents ?? [])];
      return { directory, name: damage.name, ours: [...new Set(said)].sort() };
    });
    const answers = read(rows.map(({ directory }) => directory));
    for (const [i, { name, ours }] of rows.entries()) {
      const theirs = answers[i] as string[];
      const within = (problems: string[]): string[] => problems.filter((problem) => !BEYOND_IT.test(problem));
      expect([name, ...within(theirs)]).toEqual([name, ...within(ours)]);
      expect([name, ...ours]).toEqual(expect.arrayContaining(theirs));
    }
  });

  it('tells a newer format from damage', () => {
    const directory = temporaryDir();
    writeSample(directory);
    document(directory, (json) => ({ ...json, format: 2 }));
    expect(read([directory])).toEqual([2]);
  });
});

function read(directories: readonly string[]): unknown[] {
  const { stdout, stderr } = spawnSync('python3', [script, ...directories], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}
