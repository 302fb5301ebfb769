import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryDir } from '../support/temporary.ts';

const BENCH = fileURLToPath(new URL('../../bench/bench.mjs', import.meta.url));

interface Row {
  readonly name: string;
  readonly unit: string;
  readonly ours: readonly number[];
  readonly median: number;
  readonly ratio: number | null;
  readonly yardstick?: { readonly name: string; readonly samples: readonly number[] };
  readonly bar?: object;
  readonly met: string;
}

/** Every row and whether it has a yardstick. Names are what `--only` and the document speak of. */
const ROWS: readonly (readonly [name: string, ratio: boolean])[] = [
  ['version', true],
  ['run-1k', true],
  ['run-10k', true],
  ['first-1k-git', true],
  ['first-1k-git-tuned', true],
  ['first-1k-sha256sum', true],
  ['noop-1k', true],
  ['noop-1k-tuned', true],
  ['noop-1k-scan-before', true],
  ['noop-1k-scan-after', true],
  ['edit-1k', true],
  ['memory-1k-first', false],
  ['memory-1k-noop', false],
  ['store-1k-length', false],
  ['store-1k-allocated', false],
  ['kept-1k-verify', true],
  ['kept-1k-run', false],
  ['kept-1k-recover', true],
  ['kept-1k-list', false],
  ['kept-1k-show', false],
  ['noop-web', true],
  ['noop-web-git', true],
  ['noop-web-scan', false],
  ['large-file-first', true],
  ['large-file-noop', true],
];

describe('the benchmark', () => {
  it('measures every row, in its form, and leaves nothing behind', () => {
    const dir = temporaryDir();
    const [place, file] = [path.join(dir, 'place'), path.join(dir, 'rows.json')];
    fs.mkdirSync(place);
    const args = [BENCH, '--quick', '--repeat', '1', '--dir', place, '--json', file];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(`${status} ${stderr}`).toMatch(/^0 /);

    const result = JSON.parse(fs.readFileSync(file, 'utf8'));
    const rows: readonly Row[] = result.rows;
    expect(rows.map(({ name, ratio }) => [name, ratio !== null])).toEqual(ROWS);
    for (const row of rows) {
      expect(row.ours.length, row.name).toBeGreaterThan(0);
      for (const value of [...row.ours, ...(row.yardstick?.samples ?? []), row.median])
        expect(value, row.name).toBeGreaterThan(0);
      expect(row.met, row.name).toMatch(row.bar === undefined ? /^-$/ : /^(?:strived for|met|not met)$/);
    }
    expect(Object.keys(result.origin)).toContain('processor');

    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^measure +what +ours +yardstick +its figure +ratio +at most +strive for +met$/);
    expect(lines.slice(1, 1 + ROWS.length).map((line) => line.split(' ')[0])).toEqual(
      ROWS.map(([name]) => name),
    );
    const columnOfMet = lines[0]?.indexOf('met', lines[0].length - 3) ?? -1;
    for (const line of lines.slice(1, 1 + ROWS.length))
      expect(line.slice(columnOfMet)).toMatch(/^(?:-|strived for|met|not met)$/);
    expect(fs.readdirSync(place)).toEqual([]);
  });

  it('removes what it made when it is interrupted', async () => {
    const place = temporaryDir();
    const child = spawn(process.execPath, [BENCH, '--quick', '--only', 'run-10k', '--dir', place], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise((resolve) => child.on('exit', resolve));
    await new Promise((resolve) => child.stderr.once('data', resolve));
    expect(fs.readdirSync(place)).toHaveLength(1);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(fs.readdirSync(place)).toEqual([]);
  });

  it('names what it could measure, and says so when nothing has the name asked for', () => {
    const call = (...args: string[]) => spawnSync(process.execPath, [BENCH, ...args], { encoding: 'utf8' });
    const names = ['version', 'run-1k', 'run-10k', 'first-100k', 'noop-100k', 'edit-100k', 'memory-100k'];
    const all = [...names, 'store-100k', 'kept-100k', 'noop-web', 'large-file', 'million'];
    expect(call('--list', '--million').stdout.trim().split('\n')).toEqual(all);
    expect(call('--only', 'no such').stderr).toMatch(/no measure has such a name/);
    expect(call('--write-docs', '--quick').status).toBe(2);
  });
});
