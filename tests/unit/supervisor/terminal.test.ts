import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDir } from '../../support/temporary.ts';
import { children, Driven, useDriver } from './supervise.ts';

const hasScript =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true;
if (!hasScript)
  process.stderr.write('skipped: terminal tests, because there is no script(1) of util-linux\n');

const driver = useDriver();

/** In a new terminal of 33 rows and 101 columns. */
function inTerminal(argv: string[]): string[] {
  const command = argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return ['script', '-qec', `stty rows 33 cols 101; ${command}`, '/dev/null'];
}

describe.skipIf(!hasScript)('with a terminal', () => {
  it('the child has it: streams, /dev/tty, size', async () => {
    const asked = { argv: [join(children, 'describe-terminal')], terminal: true };
    const driven = new Driven(driver(), asked, inTerminal);
    await driven.report();
    expect(driven.output.replaceAll('\r', '')).toBe('streams: terminal\ntty: opens\nsize: 33 101\n');
  });

  it('Ctrl-C reaches the child once, from the terminal, and we outlive it', async () => {
    const stop = join(temporaryDir(), 'stop');
    const asked = { argv: [join(children, 'report-signal'), 'INT', stop], terminal: true };
    const driven = new Driven(driver(), asked, inTerminal);
    await driven.untilOutput('ready');
    driven.process.stdin?.write('\u0003');
    await driven.untilPhase('received');
    await driven.untilOutput('INT 1');
    writeFileSync(stop, 'now');
    const { result, events } = await driven.report();
    expect(driven.output).not.toContain('INT 2');
    expect(result.end).toEqual({ kind: 'exited', code: 7 });
    expect(result.received).toEqual([{ signal: 'SIGINT', number: 2, passed: false }]);
    expect(events.map(({ type }) => type)).toEqual(['child-started', 'signal-received', 'child-ended']);
  });

  it.each(['TERM', 'HUP'] as const)('SIG%s sent to us alone is passed on to the child', async (name) => {
    const stop = join(temporaryDir(), 'stop');
    const script = `echo "parent $PPID."; exec "$0" "$@"`;
    const argv = ['sh', '-c', script, join(children, 'report-signal'), name, stop];
    const driven = new Driven(driver(), { argv, terminal: true }, inTerminal);
    await driven.untilOutput('ready');
    process.kill(Number(/parent (\d+)\./.exec(driven.output)?.[1]), `SIG${name}`);
    await driven.untilPhase('received');
    await driven.untilOutput(`${name} 1`);
    writeFileSync(stop, 'now');
    const { result } = await driven.report();
    expect(driven.output).not.toContain(`${name} 2`);
    expect(result.received).toMatchObject([{ signal: `SIG${name}`, passed: true }]);
  });
});
