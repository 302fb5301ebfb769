import { describe, expect, it } from 'vitest';
import { builtInPolicy, decideLaunch, isLaunchPermit } from '../../../src/policy/index.ts';
import { probe, type ProbeResult } from '../../../src/supervisor/index.ts';

async function probed(...argv: [string, ...string[]]): Promise<ProbeResult> {
  const { permit } = decideLaunch(builtInPolicy(), { argv, cwd: '/', workspaceId: 'test' });
  if (permit === undefined) throw new Error('the built-in policy allows every command');
  return await probe(permit, { isPermit: isLaunchPermit, env: { PATH: '/usr/bin:/bin' } });
}

describe('probe', () => {
  it('tells the first line of a program that works', async () => {
    expect(await probed('printf', 'one\ntwo\n')).toEqual({ works: true, firstLine: 'one' });
  });

  it('gives no input: what reads it comes to its end', async () => {
    expect(await probed('sh', '-c', 'cat; echo read')).toEqual({ works: true, firstLine: 'read' });
  });

  it('tells what a program says that fails, on stdout or else on stderr', async () => {
    expect(await probed('sh', '-c', 'echo no >&2; exit 3')).toEqual({ works: false, firstLine: 'no' });
    expect(await probed('sh', '-c', 'echo out; echo no >&2; exit 3')).toEqual({
      works: false,
      firstLine: 'out',
    });
    expect(await probed('sh', '-c', 'kill -KILL $$')).toEqual({ works: false, firstLine: '' });
  });

  it('names the error of one that does not start', async () => {
    expect(await probed('no-such-command')).toEqual({ works: false, firstLine: '', errno: 'ENOENT' });
    expect(await probed('/')).toEqual({ works: false, firstLine: '', errno: 'EACCES' });
    expect(await probed('true', 'x'.repeat(140_000))).toMatchObject({ works: false, errno: 'E2BIG' });
    expect((await probed('')).works).toBe(false);
  });

  it('does not work when it prints without end', async () => {
    expect(await probed('yes')).toEqual({ works: false, firstLine: 'y' });
  });
});
