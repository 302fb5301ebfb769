import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDir } from '../../support/temporary.ts';
import { children, Driven, useDriver } from './supervise.ts';

const driver = useDriver();

const SIGNALS = ['INT', 'QUIT', 'TERM', 'HUP', 'USR1', 'USR2'] as const;

describe('without a terminal', () => {
  it.each(SIGNALS)('SIG%s is passed on once to the child', async (name) => {
    const stop = join(temporaryDir(), 'stop');
    const driven = new Driven(driver(), { argv: [join(children, 'report-signal'), name, stop] });
    await driven.untilOutput('ready');
    driven.process.kill(`SIG${name}`);
    await driven.untilPhase('received');
    await driven.untilOutput(`${name} 1`);
    writeFileSync(stop, 'now');
    const { result, events } = await driven.report();
    expect(driven.output).toBe(`ready\n${name} 1\n`);
    expect(result.end).toEqual({ kind: 'exited', code: 7 });
    expect(result.received).toMatchObject([{ signal: `SIG${name}`, passed: true }]);
    expect(events).toEqual([
      { type: 'child-started', pid: result.pid },
      { type: 'signal-received', signal: `SIG${name}` },
      { type: 'signal-passed', signal: `SIG${name}`, pid: result.pid },
      { type: 'child-ended', code: 7 },
    ]);
  });

  it('the child leads a session of its own, and its whole group is reached', async () => {
    // The fourth word behind the name of a process is its session (proc_pid_stat(5)).
    const script =
      'read -r line < /proc/$$/stat; set -- ${line##*) }; echo $4; echo $$; sh -c "trap \\"echo inner; exit\\" TERM; echo ready; while :; do sleep 0.02; done"; exit 9';
    const driven = new Driven(driver(), { argv: ['sh', '-c', `trap 'echo outer' TERM; ${script}`] });
    await driven.untilOutput('ready');
    driven.process.kill('SIGTERM');
    const { result } = await driven.report();
    const [session = '', pid = '', ...rest] = driven.output.trim().split('\n');
    expect(session).toBe(pid);
    expect(rest.sort()).toEqual(['inner', 'outer', 'ready']);
    expect(result.end).toEqual({ kind: 'exited', code: 9 });
  });

  it('a child that is killed by a signal passed on shows that', async () => {
    const driven = new Driven(driver(), { argv: ['sh', '-c', 'echo ready; exec sleep 20'] });
    await driven.untilOutput('ready');
    driven.process.kill('SIGTERM');
    const { result } = await driven.report();
    expect(result.end).toEqual({ kind: 'signalled', signal: 'SIGTERM', number: 15 });
    expect(result.received).toEqual([{ signal: 'SIGTERM', number: 15, passed: true }]);
  });
});

describe('after the child ended', () => {
  it('signals end us only after the release', async () => {
    const driven = new Driven(driver(), { argv: ['true'], pause: 'blocked', idleMs: 600_000 });
    await driven.untilPhase('ended');
    for (const name of SIGNALS) driven.process.kill(`SIG${name}`);
    driven.goOn();
    await driven.untilPhase('released');
    driven.process.kill('SIGTERM');
    expect(await driven.ended()).toEqual({ code: null, signal: 'SIGTERM' });
    const { result } = await driven.report();
    expect(result).toMatchObject({ end: { kind: 'exited', code: 0 }, received: [] });
  });

  it('nothing is sent to the number that the child had', async () => {
    // Something of the child's group lives on, and the group has the child's number: a late signal would reach it.
    const there = join(temporaryDir(), 'there');
    const inner =
      'trap "echo reached" TERM; echo ready; : > "$0"; while [ -e "$0" ]; do sleep 0.02; done; echo left';
    const script = `(${inner}) & until [ -e "$0" ]; do sleep 0.02; done`;
    const driven = new Driven(driver(), { argv: ['sh', '-c', script, there], pause: 'waiting' });
    await driven.untilPhase('ended');
    driven.process.kill('SIGTERM');
    await driven.untilPhase('received');
    rmSync(there);
    await driven.untilOutput('left');
    driven.goOn();
    const { events } = await driven.report();
    expect(driven.output).toBe('ready\nleft\n');
    expect(events.slice(1)).toEqual([
      { type: 'child-ended', code: 0 },
      { type: 'signal-received', signal: 'SIGTERM' },
    ]);
  });
});
