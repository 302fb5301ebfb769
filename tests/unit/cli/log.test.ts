import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../../src/cli/log.ts';
import { temporaryDir } from '../../support/temporary.ts';

function unexpected(error: Error): void {
  throw error;
}

describe('openLog', () => {
  it('writes one line of ASCII for each call, at once', () => {
    const file = join(temporaryDir(), 'log');
    const log = openLog(file, unexpected);
    const nasty = 'a\n\u001b[2K\u007f\u009b31m\u202e\ufeff';
    log.warn({ path: nasty, [nasty]: 1 }, nasty);
    const [line = '', ...rest] = readFileSync(file, 'utf8').split('\n');
    expect(rest).toEqual(['']);
    expect(line).toMatch(/^[\u0020-\u007e]+$/);
    expect(JSON.parse(line)).toMatchObject({ path: nasty, msg: nasty, [nasty]: 1 });
  });

  it('appends, and keeps the file to its owner', () => {
    const file = join(temporaryDir(), 'log');
    openLog(file, unexpected).info({}, 'one');
    openLog(file, unexpected).debug({}, 'two');
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('refuses a file that cannot be opened', () => {
    const file = join(temporaryDir(), 'missing', 'log');
    expect(() => openLog(file, unexpected)).toThrowError(
      expect.objectContaining({ code: 'OUTPUT_UNWRITABLE' }),
    );
  });

  it.skipIf(!existsSync('/dev/full'))('never throws out of a call: a full disk is told once', () => {
    const told: string[] = [];
    const log = openLog('/dev/full', ({ code }) => told.push(code));
    for (let i = 0; i < 3; i++) log.warn({ i }, 'text');
    expect(told).toEqual(['OUTPUT_UNWRITABLE']);
  });
});
