import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeAll, temporaryDir } from '../../support/temporary.ts';
import { bundleDriver, children, Driven } from './supervise.ts';

let directory: string;
let driver: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentdiff-driver-'));
  driver = await bundleDriver(directory);
});
afterAll(() => removeAll(directory));

const SIGNALS = ['INT', 'QUIT', 'TERM', 'HUP', 'USR1', 'USR2'] as const;

describe('without a terminal', () => {
  it.each(SIGNALS)('SIG%s is passed on once to the child', async (name) => {
    const stop = join(temporaryDir(), 'stop');
    const driven = new Driven(driver, { argv: [join(children, 'report-signal'), name, stop] });
    await driven.untilOutput('ready');
    driven.process.kill(`SIG${name}`);
    await pause(150);
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
    const script =
      'ps -o sid= -p $$; echo $$; sh -c "trap \\"echo inner; exit\\" TERM; echo ready; while :; do sleep 0.02; done"; exit 9';
    const driven = new Driven(driver, { argv: ['sh', '-c', `trap 'echo outer' TERM; ${script}`] });
    await driven.untilOutput('ready');
    driven.process.kill('SIGTERM');
    const { result } = await driven.report();
    const [session = '', pid = '', ...rest] = driven.output.trim().split('\n');
    expect(session.trim()).toBe(pid);
    expect(rest.sort()).toEqual(['inner', 'outer', 'ready']);
    expect(result.end).toEqual({ kind: 'exited', code: 9 });
  });

  it('a child that is killed by a signal passed on shows that', async () => {
    const driven = new Driven(driver, { argv: ['sh', '-c', 'echo ready; exec sleep 20'] });
    await driven.untilOutput('ready');
    driven.process.kill('SIGTERM');
    const { result } = await driven.report();
    expect(result.end).toEqual({ kind: 'signalled', signal: 'SIGTERM', number: 15 });
    expect(result.received).toEqual([{ signal: 'SIGTERM', number: 15, passed: true }]);
  });
});

describe('after the child ended', () => {
  it('signals end us only after the release', async () => {
    const driven = new Driven(driver, { argv: ['true'], busyMs: 400, idleMs: 10_000 });
    await driven.untilPhase('ended');
    for (const name of SIGNALS) driven.process.kill(`SIG${name}`);
    await driven.untilPhase('released');
    driven.process.kill('SIGTERM');
    expect(await driven.ended()).toEqual({ code: null, signal: 'SIGTERM' });
    const { result } = await driven.report();
    expect(result).toMatchObject({ end: { kind: 'exited', code: 0 }, received: [] });
  });

  it('nothing is sent to the number that the child had', async () => {
    // Something of the child's group lives on, and the group has the child's number: a late signal would reach it.
    const script = '(trap "echo reached" TERM; echo ready; sleep 0.6; echo left) & sleep 0.2; exit 0';
    const driven = new Driven(driver, { argv: ['sh', '-c', script], waitMs: 250 });
    await driven.untilPhase('ended');
    driven.process.kill('SIGTERM');
    const { events } = await driven.report();
    expect(driven.output).toBe('ready\nleft\n');
    expect(events.slice(1)).toEqual([
      { type: 'child-ended', code: 0 },
      { type: 'signal-received', signal: 'SIGTERM' },
    ]);
  });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
