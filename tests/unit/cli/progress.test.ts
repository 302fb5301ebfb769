import { describe, expect, it } from 'vitest';
import { wantsProgress, watchScansOn } from '../../../src/cli/progress.ts';

const CLEAR = '\r\u001b[K';
const MS = 1_000_000n;

/** A scan on a screen of so many columns, at a clock that stands still until it is set. */
function watched(columns = 200, which: 'before' | 'after' = 'before') {
  const written: string[] = [];
  let ns = 7_000_000_000_000n;
  const screen = { write: (text: string) => void written.push(text), columns: () => columns };
  const watch = watchScansOn(screen, () => ns)(which);
  const pass = (ms: number): void => {
    ns += BigInt(ms) * MS;
  };
  return { written, watch, pass };
}

describe('the line that a scan shows', () => {
  it('is not there in the first half second, nor when the scan ends by then', () => {
    const { written, watch, pass } = watched();
    watch.progress({ entries: 256, files: 200, bytes: 0 });
    pass(499);
    watch.progress({ entries: 512, files: 400, bytes: 0 });
    watch.end();
    expect(written).toEqual([]);
  });

  it('tells which scan it is, files, bytes read and the rate, and is taken away at the end', () => {
    const { written, watch, pass } = watched();
    pass(2000);
    watch.progress({ entries: 5000, files: 4000, bytes: 4 << 20 });
    expect(written).toEqual([
      `${CLEAR}agentdiff: scanning before the command: 4,000 files, 4.0 MiB read, 2.0 MiB/s`,
    ]);
    watch.end();
    watch.end();
    expect(written.slice(1)).toEqual([CLEAR]);
  });

  it('tells the rate in files where nothing is read', () => {
    const { written, watch, pass } = watched(200, 'after');
    pass(2000);
    watch.progress({ entries: 5000, files: 4000, bytes: 0 });
    expect(written.join('')).toBe(
      `${CLEAR}agentdiff: scanning after the command: 4,000 files, 0 B read, 2,000 files/s`,
    );
  });

  it('is written ten times a second and no more', () => {
    const { written, watch, pass } = watched();
    for (let i = 0; i < 3000; i++) {
      pass(1);
      watch.progress({ entries: i, files: i, bytes: 0 });
    }
    expect(written.length).toBeGreaterThanOrEqual(25);
    expect(written.length).toBeLessThanOrEqual(26);
  });

  it.each([1, 2, 20, 79, 80])('leaves the last of %i columns free', (columns) => {
    const { written, watch, pass } = watched(columns);
    pass(1000);
    watch.progress({ entries: 1, files: 123_456_789, bytes: 2 ** 40 });
    expect(written.map((text) => text.slice(CLEAR.length).length)).toEqual([Math.min(columns - 1, 79)]);
  });
});

it.each([
  ['a terminal', true, {}, undefined, true],
  ['no terminal', false, {}, undefined, false],
  ['CI', true, { CI: 'true' }, undefined, false],
  ['a CI that is named', true, { CI: 'woodpecker' }, undefined, false],
  ['an empty CI', true, { CI: '' }, undefined, true],
  ['a terminal that cannot go back', true, { TERM: 'dumb' }, undefined, false],
  ['quiet', true, {}, true, false],
] as const)('%s: progress %s', (_what, isTerminal, environment, quiet, wanted) => {
  expect(wantsProgress(isTerminal, environment, quiet)).toBe(wanted);
});
