/** The exit status of every command, and what bad input gets: one or two lines with a code, JSON where JSON was asked for. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Ended, type Sandbox, sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { expectError, skipUnless } from '../support/reports.ts';

const READING = ['show', 'diff', 'verify', 'doctor'];

/** As text, with a stack only when it is asked for, and as JSON. */
function expectErrorOf(box: Sandbox, args: readonly string[], code: string, status: number): void {
  expectError(box.agentdiff(args), code, status);
  const debug = box.agentdiff([...args, '--debug']);
  expect(debug.status).toBe(status);
  expect(debug.stderr).toMatch(/^ +at /m);
  const json = box.agentdiff([...args, '--json']);
  expect(json).toMatchObject({ status, stderr: '' });
  expect(JSON.parse(json.stdout).error).toMatchObject({ code, message: expect.any(String) as string });
  expect(json.stdout.trimEnd().split('\n')).toHaveLength(1);
}

describe('bad input', () => {
  it('an unknown run', () => {
    const box = sandbox();
    box.bash('T run -- true');
    for (const command of [...READING, 'recover'])
      expectErrorOf(box, [command, 'nothing-like-it'], 'RUN_UNKNOWN', 2);
    const unknown = '20200101T000000Z-00000000';
    expectErrorOf(box, ['show', unknown], 'RUN_UNKNOWN', 2);
    expectErrorOf(box, ['verify', './no-such-directory'], 'CAPSULE_NOT_FOUND', 2);
    // An empty word names nothing, and no path of somebody else's.
    expectErrorOf(box, ['show', ''], 'RUN_UNKNOWN', 2);
  });

  it('no run at all', () => {
    const box = sandbox();
    for (const command of ['show', 'diff', 'verify', 'recover'])
      expectErrorOf(box, [command], 'RUN_UNKNOWN', 2);
    expect(box.agentdiff(['list'])).toMatchObject({ status: 0, stderr: '' });
    expect(box.json(['list']).runs).toEqual([]);
    // Reading makes no store.
    expect(fs.existsSync(box.store)).toBe(false);
  });

  it('the beginning of several run ids', () => {
    const box = sandbox();
    box.bash('T run -- true; T run -- true');
    const ids: string[] = box.json(['list']).runs.map(({ runId }: { runId: string }) => runId);
    for (const command of [...READING, 'recover']) expectErrorOf(box, [command, '20'], 'RUN_AMBIGUOUS', 2);
    expect(box.json(['show', '20']).error.data.matches).toEqual(ids);
    for (const id of ids) expect(box.json(['show', id.slice(0, -1)]).runId).toBe(id);
  });

  it('a path that the run did not change, and one that is none', () => {
    const box = sandbox();
    box.bash('echo 1 > f; echo 1 > g; T run -- rm f');
    for (const command of ['recover', 'diff']) {
      expectErrorOf(box, [command, 'last', 'g'], 'PATH_NOT_IN_RUN', 2);
      for (const bad of ['../f', '/f', 'a//b', 'a/../b', '..', ''])
        expectErrorOf(box, [command, 'last', bad], 'PATH_INVALID', 2);
    }
    expect(fs.readdirSync(box.ws)).toEqual(['g']);
  });

  it('a root that cannot be read, or is none', () => {
    const box = sandbox('nobody');
    box.bash('mkdir closed file-parent; chmod 000 closed; echo 1 > file');
    const roots = ['closed', 'no-such', 'file'];
    for (const root of roots) {
      expectError(box.agentdiff(['run', '--root', root, '--', 'touch', 'ran']), 'ROOT_UNREADABLE', 125);
      for (const command of ['list', 'show', 'recover'])
        expectErrorOf(box, [command, '--root', root], 'ROOT_UNREADABLE', 4);
    }
    expect(fs.existsSync(path.join(box.ws, 'ran'))).toBe(false);
  });

  it('a store that is no store', () => {
    const box = sandbox();
    box.bash('echo x > file; mkdir -m 700 newer; echo "agentdiff-store 2" > newer/format');
    expectError(box.agentdiff(['run', '--store', 'newer', '--', 'touch', 'ran']), 'STORE_VERSION', 125);
    expectErrorOf(box, ['list', '--store', 'newer'], 'STORE_VERSION', 4);
    const file = box.agentdiff(['run', '--store', 'file', '--', 'touch', 'ran']);
    expect(file.status).toBe(125);
    expect(file.stderr).toMatch(/\[STORE_[A-Z_]+\]/);
    expect(box.agentdiff(['list', '--store', 'file']).status).toBe(4);
    expect(fs.readdirSync(box.ws).sort()).toEqual(['file', 'newer']);
  });

  it('words that are no command line', () => {
    const box = sandbox();
    for (const args of [
      ['nonsense'],
      ['list', 'extra'],
      ['show', '--nonsense'],
      ['show', 'a', 'b'],
      ['recover', '--path'],
      ['verify', '--expect', 'short'],
    ])
      expectError(box.agentdiff(args), 'USAGE', 2);
    for (const args of [
      ['run'],
      ['run', '--'],
      ['run', 'true'],
      ['run', '--nonsense', '--', 'true'],
      ['run', '--capture', 'x=y', '--', 'true'],
      ['run', '--json', '--', 'true'],
    ])
      expectError(box.agentdiff(args), 'USAGE', 125);
    expect(fs.existsSync(box.store)).toBe(false);
  });

  it('a policy file that this version cannot read is not ignored', () => {
    const box = sandbox();
    box.bash('echo "commands: []" > agentdiff.yaml');
    expectError(box.agentdiff(['run', '--', 'touch', 'ran']), 'POLICY_UNSUPPORTED', 125);
    expect(fs.readdirSync(box.ws)).toEqual(['agentdiff.yaml']);
  });
});

it('a real-time signal is not seen: Node.js reports the command as ended with 0', (context) => {
  skipUnless(context, process.platform === 'linux', 'its real-time signals are others');
  const box = sandbox();
  expect(box.bash("T run -- sh -c 'kill -34 $$'").status).toBe(0);
  expect(box.json(['show']).capsule.exit).toMatchObject({ code: 0 });
  expect(box.bash("T run -- sh -c 'kill -15 $$'").status).toBe(128 + 15);
});

it('help without a command: on stderr, once, and nothing else', () => {
  const { status, stdout, stderr } = sandbox().agentdiff([]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^Usage: agentdiff/);
  expect(stderr).not.toMatch(/^agentdiff:|\[USAGE\]/m);
});

it('the value of an option is no command and no option', () => {
  const box = sandbox();
  // Status 125 and no JSON would be those of a run.
  expectError(box.agentdiff(['--root', 'run', 'list', 'extra']), 'USAGE', 2);
  expectError(box.agentdiff(['--root', 'run', 'list']), 'ROOT_UNREADABLE', 4);
  expectError(box.agentdiff(['--store', '--json', 'list', 'extra']), 'USAGE', 2);
  const json = box.agentdiff(['--json', '--root', 'run', 'list']);
  expect(json).toMatchObject({ status: 4, stderr: '' });
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'ROOT_UNREADABLE' } });
  expectError(box.agentdiff(['--root', 'list', 'run', '--', 'true']), 'ROOT_UNREADABLE', 125);
});

describe('verify with several capsules', () => {
  it('reports each, and ends with the highest of their statuses', () => {
    const box = sandbox();
    box.bash('T run -- true; T run -- true');
    const broken = box.newestCapsule();
    box.bash(`chmod u+w '${broken}'; rm '${broken}/events.jsonl'`);
    const whole: string = box.json(['list']).runs[0].runId;
    const of = (...refs: string[]): [number, string[]] => {
      const { status, stdout } = box.agentdiff(['verify', '--json', ...refs]);
      const { capsules } = JSON.parse(stdout) as {
        capsules: { verdict: string; error?: { code: string } }[];
      };
      return [status, capsules.map(({ verdict, error }) => error?.code ?? verdict)];
    };
    expect(of(whole, whole)).toEqual([0, ['holds', 'holds']]);
    expect(of(broken, whole)).toEqual([1, ['fails', 'holds']]);
    expect(of('nothing-like-it', broken, whole)).toEqual([2, ['RUN_UNKNOWN', 'fails', 'holds']]);
    const newer = path.join(box.home, 'newer');
    box.bash(`cp -r '${broken}' '${newer}'; sed -i 's/"format":1/"format":2/' '${newer}/capsule.json'`);
    expect(of('./nowhere', newer, broken)).toEqual([4, ['CAPSULE_NOT_FOUND', 'unsupported', 'fails']]);
    const text = box.agentdiff(['verify', whole, 'nothing-like-it']);
    expect(text).toMatchObject({ status: 2, stderr: '' });
    expect(text.stdout).toMatch(/no check fails[^]*not judged[^]*\[RUN_UNKNOWN\]/);
  });
});

describe('doctor', () => {
  it('reports a store that cannot be written as one failed check among the others', () => {
    const box = sandbox('nobody');
    const { status, stdout, stderr } = box.bash(
      'mkdir -m 500 "$HOME/store"; T doctor --json --store "$HOME/store"',
    );
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    const { checks } = JSON.parse(stdout) as {
      checks: { id: string; status: string; detail: string }[];
    };
    const failed = checks.filter((check) => check.status === 'failed');
    expect(failed.map(({ id, detail }) => [id, /\[[A-Z_]+\]$/.exec(detail)?.[0]])).toEqual([
      ['store-writable', '[STORE_UNWRITABLE]'],
    ]);
    expect(checks.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['root', 'store', 'free-space', 'terminal', 'git', 'unsealed']),
    );
  });

  it('reports a damaged capsule as findings, with 1', () => {
    const box = sandbox();
    box.bash('echo 1 > f; T run -- rm f');
    const capsule = box.newestCapsule();
    box.bash(`chmod u+w '${capsule}'; rm '${capsule}/events.jsonl'`);
    const { status, stdout, stderr } = box.agentdiff(['doctor', 'last']);
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(stdout).toMatch(/files-intact +fails[^]*missing +events\.jsonl[^]*\[CAPSULE_DAMAGED\]/);
    const json = box.json(['doctor', 'last']);
    expect(json).toMatchObject({
      capsule: { verdict: 'fails' },
      refused: { error: { code: 'CAPSULE_DAMAGED' } },
    });
  });
});

describe('refused paths', () => {
  it('are a finding of doctor, and the plan of a dry run is done with all the same', () => {
    const box = sandbox();
    box.bash('echo 1 > f; T run -- rm f; echo 2 > f');
    expect(box.agentdiff(['doctor', 'last']).status).toBe(1);
    expect(box.agentdiff(['recover', '--dry-run']).status).toBe(0);
    expect(box.agentdiff(['recover', '--yes']).status).toBe(3);
  });
});

describe('statuses of success', () => {
  it('0 for all that was done, 1 for findings, 3 for some paths refused, 4 for all', () => {
    const box = sandbox();
    box.bash('echo 1 > f; echo 1 > g');
    const status = (...args: string[]): Ended['status'] => box.agentdiff(args).status;
    expect(status('run', '--', 'rm', 'f', 'g')).toBe(0);
    for (const command of [
      ['list'],
      ['show'],
      ['diff'],
      ['verify'],
      ['doctor', 'last'],
      ['recover', '--dry-run'],
      ['--help'],
      ['--version'],
      ['recover', '--help'],
    ])
      expect(box.agentdiff(command), command.join(' ')).toMatchObject({ status: 0, stderr: '' });
    // A machine may lack something, and that is a finding; nothing is left behind by trying.
    const before = fingerprint(box.ws);
    expect([0, 1]).toContain(status('doctor'));
    expect(fingerprint(box.ws)).toEqual(before);
    expect(status('recover')).toBe(4);
    box.bash('echo mine > g');
    expect(status('recover', '--yes')).toBe(3);
    expect(status('recover', 'last', '--yes')).toBe(0);
  });

  it('3 for a command that succeeded and changed what the policy denies, unless it is told not to', () => {
    const box = sandbox();
    const changing = (...options: string[]): number => {
      fs.rmSync(path.join(box.ws, 'agentdiff.yaml'), { force: true });
      return box.agentdiff(['run', ...options, '--', 'touch', 'agentdiff.yaml']).status;
    };
    expect(changing()).toBe(3);
    expect(box.json(['show']).capsule).toMatchObject({ outcome: 'denied', exit: { code: 0 } });
    expect(changing('--fail-on', 'never')).toBe(0);
    // The child's own failure comes first.
    expect(box.bash(`rm agentdiff.yaml; T run -- sh -c 'touch agentdiff.yaml; exit 7'`).status).toBe(7);
  });

  it('125 when the capsule of a successful command is lost, and the command’s own status otherwise', () => {
    const box = sandbox();
    const lose = `rm -rf "$AGENTDIFF_STORE"/workspaces/*/pending/*`;
    for (const [exit, status] of [
      [0, 125],
      [9, 9],
    ] as const) {
      const ended = box.bash(`T run -- sh -c '${lose}; exit ${exit}'`);
      expect(ended.status).toBe(status);
      expect(ended.stderr).toMatch(/not sealed/);
      expect(ended.stderr).not.toMatch(/INTERNAL|^ +at /m);
    }
  });
});

it('options behind -- are the command’s, whatever they are called', () => {
  const box = sandbox();
  const words = [
    '--help',
    '--version',
    '--json',
    '--root=/',
    '--store',
    'x',
    '--yes',
    '--',
    '-h',
    '--capture=none',
  ];
  const ended = box.agentdiff(['run', '--', 'printf', '%s\\n', ...words]);
  expect(ended).toMatchObject({ status: 0, stdout: `${words.join('\n')}\n` });
  expect(box.json(['show']).capsule.argv).toEqual(['printf', '%s\\n', ...words]);
});
