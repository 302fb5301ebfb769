import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDir } from '../../support/temporary.ts';
import { type Asked, children, Driven, driverCommand, readReport, useDriver } from './supervise.ts';

const driver = useDriver();

async function endOf(asked: Asked): Promise<unknown> {
  return (await new Driven(driver(), asked).report()).result.end;
}

describe('how the child ended', () => {
  it.each([0, 1, 3, 125, 126, 127, 143, 255])('exit code %i', async (code) => {
    expect(await endOf({ argv: ['sh', '-c', `exit ${code}`] })).toEqual({ kind: 'exited', code });
  });

  it.each([
    ['TERM', 15],
    ['KILL', 9],
    ['INT', 2],
    ['SEGV', 11],
    ['PIPE', 13],
  ])('killed by SIG%s', async (name, number) => {
    const end = await endOf({ argv: ['sh', '-c', `ulimit -c 0; kill -${name} $$`] });
    expect(end).toEqual({ kind: 'signalled', signal: `SIG${name}`, number });
  });

  it.each([
    ['no such command', ['no-such-command-anywhere'], 'ENOENT'],
    ['no such file', ['./no-such-file'], 'ENOENT'],
    ['the empty command', [''], 'ENOENT'],
    ['a file without the permission', [join(children, 'not-executable')], 'EACCES'],
    ['a directory', [`${children}/`], 'EACCES'],
    ['an interpreter that is missing', [join(children, 'no-interpreter')], 'ENOENT'],
    ['more arguments than the system takes', ['true', 'x'.repeat(140_000)], 'E2BIG'],
  ])('not started: %s', async (_what, argv, errno) => {
    const { result, events } = await new Driven(driver(), { argv }).report();
    expect(result).toMatchObject({ end: { kind: 'not-started', errno }, received: [] });
    expect(result.pid).toBeUndefined();
    expect(events).toEqual([{ type: 'launch-failed', errno }]);
  });

  it('is told as events', async () => {
    const { result, events } = await new Driven(driver(), { argv: ['sh', '-c', 'exit 3'] }).report();
    expect(events).toEqual([
      { type: 'child-started', pid: result.pid },
      { type: 'child-ended', code: 3 },
    ]);
  });
});

it('a listener that fails does not leave the child alone', async () => {
  const marker = join(temporaryDir(), 'marker');
  const argv = ['sh', '-c', 'sleep 0.2; echo done > "$0"', marker];
  const { result } = await new Driven(driver(), { argv, failing: 'child-started' }).report();
  expect(result).toBe('listener failed');
  expect(readFileSync(marker, 'utf8')).toBe('done\n');
});

describe('what the child gets', () => {
  it('exactly the arguments', async () => {
    const args = [
      '',
      ' ',
      '-rf',
      '--',
      '*',
      '$HOME',
      '`id`',
      "'",
      '"',
      '\\',
      'a\nb',
      '\t',
      '%s',
      '\u{1f600}é',
      '\u001b[31m',
      '',
      ';',
    ];
    const driven = new Driven(driver(), { argv: [join(children, 'print-arguments'), ...args] });
    await driven.report();
    expect(driven.output).toBe(args.map((arg) => `${arg}\0`).join(''));
  });

  it('the environment it was given and nothing else, and is looked up by its PATH', async () => {
    const bin = temporaryDir();
    symlinkSync('/usr/bin/env', join(bin, 'only-there'));
    const driven = new Driven(driver(), {
      argv: ['only-there'],
      env: { PATH: bin, ODD: 'a\nb=c', __proto__x: '1' },
    });
    expect((await driven.report()).result.end).toEqual({ kind: 'exited', code: 0 });
    expect(driven.output.trimEnd().split('\n').sort()).toEqual(
      ['ODD=a', '__proto__x=1', `PATH=${bin}`, 'b=c'].sort(),
    );
  });

  it('the working directory of the permit', async () => {
    const cwd = join(temporaryDir(), 'a b');
    mkdirSync(cwd);
    const driven = new Driven(driver(), { argv: ['pwd', '-P'], cwd });
    await driven.report();
    expect(driven.output).toBe(`${cwd}\n`);
  });

  it('its end reported also when it removed its working directory', async () => {
    const cwd = join(temporaryDir(), 'gone');
    mkdirSync(cwd);
    expect(await endOf({ argv: ['sh', '-c', 'rm -rf "$PWD"; exit 5'], cwd })).toEqual({
      kind: 'exited',
      code: 5,
    });
  });

  it('nothing when its working directory is gone, even if it is our own too', () => {
    const cwd = join(temporaryDir(), 'gone');
    const { command, reportFile } = driverCommand(driver(), { argv: ['true'], cwd });
    const script = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"';
    expect(spawnSync('sh', ['-c', script, cwd, ...command], { encoding: 'utf8' })).toMatchObject({
      stderr: '',
    });
    expect(readReport(reportFile).result.end).toEqual({ kind: 'not-started', errno: 'ENOENT' });
  });

  it('stdin, byte for byte and to its end', async () => {
    const driven = new Driven(driver(), { argv: ['cat'], input: Buffer.from('a\0b\n') });
    await driven.report();
    expect(driven.output).toBe('a\0b\n');
  });

  it('nothing of stdin is eaten when it does not read', () => {
    const { command } = driverCommand(driver(), { argv: ['true'] });
    const script = 'printf "1\\n2\\n" | { "$@"; cat; }';
    expect(execFileSync('sh', ['-c', script, 'sh', ...command]).toString()).toBe('1\n2\n');
  });

  it('a closed stdout, as without us, and we outlive it', () => {
    const { command, reportFile } = driverCommand(driver(), { argv: ['yes'] });
    const script = '{ "$@"; echo "driver $?" >&2; } | head -n 1';
    const { stdout, stderr } = spawnSync('sh', ['-c', script, 'sh', ...command], { encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: 'y\n', stderr: 'driver 0\n' });
    expect(readReport(reportFile).result.end).toEqual({ kind: 'signalled', signal: 'SIGPIPE', number: 13 });
  });
});
