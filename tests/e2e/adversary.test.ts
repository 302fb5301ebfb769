/** Somebody works against us while we work: roots that move, links in the way, programs planted in the workspace, ids handed on. */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { expectIntact, recover, skipUnless } from '../support/reports.ts';

describe('a root that is not at its path when the run ends', () => {
  it('was moved: that is said, and another tree at its path is not touched', () => {
    const box = sandbox();
    box.bash('echo old > a');
    const moved = box.bash(`T run -- sh -c ': > made; echo new > a; mv ../ws ../ws-old'`);
    expect(moved.status).toBe(0);
    expect(moved.stderr).toContain('not at its path any more');
    box.bash('mkdir ws; cd ws; : > made; echo new > a; echo other > mine', { cwd: path.dirname(box.ws) });
    const before = fingerprint(box.ws);
    expect(box.json(['recover', '--yes']).error.code).toBe('ROOT_REPLACED');
    expect(fingerprint(box.ws)).toEqual(before);
  });

  it('was moved and is back: it is recovered', () => {
    const box = sandbox();
    box.bash(`echo old > a; T run -- sh -c 'echo new > a; mv ../ws ../ws-old'`);
    fs.renameSync(`${box.ws}-old`, box.ws);
    expect(recover(box)).toEqual({ status: 0, results: ['restored a'] });
    expectIntact(box);
  });

  it('was removed after its mode was changed: both come back', () => {
    const box = sandbox();
    box.bash('chmod 750 .; echo 1 > k');
    const removed = box.bash(`T run -- sh -c 'chmod 700 "$PWD"; exec rm -rf "$PWD"'`);
    expect(removed.stderr).toContain('next: mkdir');
    box.bash('mkdir -m 755 ws', { cwd: path.dirname(box.ws) });
    expect(recover(box).status).toBe(0);
    expect(box.bash('stat -c %a .; cat k').stdout).toBe('750\n1\n');
    expect(recover(box).results).toEqual(['already-right k']);
  });

  it('is never called unchanged, even when nothing in it changed', () => {
    const box = sandbox();
    const removed = box.bash('T run -- rmdir "$PWD"');
    expect(removed.stderr).toContain('The workspace root itself was removed');
    expect(removed.stderr).not.toContain('no change seen');
  });
});

it('a result goes where it was asked for, whatever the command puts in the place of its directory', () => {
  const box = sandbox();
  box.bash('mkdir out ../elsewhere; echo precious > ../elsewhere/result.json');
  box.bash(`T run --result-file out/result.json -- sh -c 'mv out moved; ln -s ../elsewhere out'`);
  expect(box.bash('cat ../elsewhere/result.json').stdout).toBe('precious\n');
  expect(JSON.parse(box.bash('cat moved/result.json').stdout)).toHaveProperty('runId');
});

it.each(['./tools:', ':', '', 'tools:', '$PWD/tools:'])(
  'no program of the workspace is taken for one of ours: PATH=%s…',
  (entries) => {
    const box = sandbox();
    box.bash(
      'mkdir tools; for name in sync git strace srt unshare; do for dir in . tools; do printf "#!/bin/sh\\ntouch \\"$HOME/ran\\"\\n" > $dir/$name; chmod +x $dir/$name; done; done; touch f{1..20}',
    );
    expect(box.bash('T run -- sh -c "rm f*"').status).toBe(0);
    box.bash(`PATH="${entries}$PATH" T recover --yes; PATH="${entries}$PATH" T doctor`);
    expect(fs.existsSync(path.join(box.home, 'ran'))).toBe(false);
    expect(fs.existsSync(path.join(box.ws, 'f20'))).toBe(true);
  },
);

it('doctor looks for no program below the root, wherever it is started', () => {
  const box = sandbox();
  box.bash(
    'mkdir .git bin src; for name in git strace srt unshare; do printf "#!/bin/sh\\ntouch \\"$HOME/ran\\"\\n" > bin/$name; chmod +x bin/$name; done',
  );
  box.bash(
    'cd src; PATH="$PWD/../bin:$PATH" T doctor; cd /; PATH="$OLDPWD/../bin:$PATH" T doctor --root "$OLDPWD/.."',
  );
  expect(fs.existsSync(path.join(box.home, 'ran'))).toBe(false);
});

it('doctor removes nothing that it did not make', () => {
  const box = sandbox();
  box.bash(
    'mkdir -p ../v/.agentdiff-tmp-feedfeedfeedfeed; echo mine > ../v/.agentdiff-tmp-feedfeedfeedfeed/k; touch -d 2020-01-01 ../v/.agentdiff-tmp-feedfeedfeedfeed; chmod 700 ../v; T doctor --store ../v',
  );
  expect(box.bash('cat ../v/.agentdiff-tmp-feedfeedfeedfeed/k').stdout).toBe('mine\n');
});

it('a run id that is handed on by a process which outlived its run makes no part of that run', () => {
  const box = sandbox();
  box.bash('echo 1 > a; echo b > b; T run -- sh -c "echo 2 > a"');
  const parent = path.basename(box.newestCapsule());
  box.bash(`AGENTDIFF_RUN_ID=${parent} T run -- rm b`);
  expect(recover(box)).toEqual({ status: 0, results: ['restored b'] });
});

it('a run inside another one that lasts longer than it is a run of its own', () => {
  const box = sandbox();
  box.bash('echo 1 > f');
  box.bash(
    `T run -- sh -c "(T run -- sh -c 'while [ ! -e go ]; do sleep 0.02; done; rm f' >/dev/null 2>&1 </dev/null & while [ -z \\"\\$(T list --json | grep active.*active)\\" ]; do sleep 0.05; done)"`,
  );
  box.bash('touch go; while [ -e f ] || T list | grep -q active; do sleep 0.05; done');
  expect(recover(box).results).toContain('restored f');
});

it('C2: a run that is active in another pid namespace is active', async (context) => {
  const box = sandbox();
  const probe = box.bash('unshare --user --map-root-user --pid --fork --mount-proc true');
  skipUnless(context, probe.status === 0, 'no pid namespace can be made here');
  box.bash('echo 1 > f; T run -- sh -c "echo 2 > f"');
  const inner = spawn(
    'unshare',
    [
      '--user',
      '--map-root-user',
      '--pid',
      '--fork',
      '--mount-proc',
      'sh',
      '-c',
      'T run --quiet -- sh -c "touch started; read line"',
    ],
    { cwd: box.ws, env: { ...process.env, ...box.environment }, stdio: ['pipe', 'ignore', 'ignore'] },
  );
  try {
    while (!fs.existsSync(path.join(box.ws, 'started')))
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(box.json(['recover', '--yes']).error.code).toBe('RUN_ACTIVE');
    expect(box.bash('cat f').stdout).toBe('2\n');
  } finally {
    const ended = new Promise((resolve) => inner.on('exit', resolve));
    inner.stdin?.end('go\n');
    await ended;
  }
  expect(box.json(['list']).runs.map(({ state }: { state: string }) => state)).toEqual(['sealed', 'sealed']);
});

it('a tree object that went bad in the store stops a run before its child', () => {
  const box = sandbox();
  box.bash('echo 1 > some-name; T run -- true');
  const packs = box.bash(`find "$AGENTDIFF_STORE" -name '*.pack'`).stdout.trim().split('\n');
  for (const pack of packs) {
    const bytes = fs.readFileSync(pack);
    const at = bytes.indexOf('some-name');
    if (at >= 0)
      fs.writeFileSync(
        pack,
        Buffer.concat([bytes.subarray(0, at), Buffer.from('S'), bytes.subarray(at + 1)]),
      );
  }
  const ended = box.bash('T run -- touch ran');
  expect(ended.status).toBe(125);
  expect(ended.stderr).toContain('[STORE_DAMAGED]');
  expect(fs.existsSync(path.join(box.ws, 'ran'))).toBe(false);
});

it('a stat index that cannot be written costs a run nothing but time', () => {
  const box = sandbox();
  box.bash('echo 1 > f; touch -d 2020-01-01 f; T run -- true');
  box.bash('index=$(echo "$AGENTDIFF_STORE"/workspaces/*/index); rm "$index"; mkdir -p "$index/full"');
  expect(box.bash('T run -- rm f').status).toBe(0);
  expect(recover(box)).toEqual({ status: 0, results: ['restored f'] });
  expect(box.bash('stat -c %Y f').stdout).toBe('1577836800\n');
});

it('H2: that a changed file has further names is said when the run ends', () => {
  const box = sandbox();
  const ended = box.bash(`echo one > a; ln a ../outside; T run -- sh -c 'echo two > a'`);
  expect(ended.stderr).toContain('1 changed file has, or had, several names (hard links)');
  expect(recover(box)).toEqual({ status: 3, results: ['refused a: hard-linked'] });
});

it('the owner of a symlink is put back, and nothing is called refused that was done', (context) => {
  skipUnless(context, process.getuid?.() === 0, 'only root can give a file away');
  const box = sandbox();
  box.bash('mkdir d; ln -s x d/l; T run -- chown -hR 1000:1000 d');
  expect(recover(box).status).toBe(0);
  expect(box.bash('stat -c %u d d/l').stdout).toBe('0\n0\n');
});

const python = ['/usr/bin/python3', '/usr/local/bin/python3', '/bin/python3'].find((at) => fs.existsSync(at));

/** Maps a file, reads its page, and writes into it. */
const MAPPED = `import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
m = mmap.mmap(fd, 0)
x = m[0]
m[0:1] = b'Z'
`;

const isTmpfs = fs.existsSync('/dev/shm') && fs.statfsSync('/dev/shm').type === 0x01021994;

// A machine without a tmpfs at this place has nothing to be seen here.
if (isTmpfs)
  it.skipIf(python === undefined)(
    'a write through a shared mapping is seen on tmpfs, where it moves no time (needs python3)',
    () => {
      const box = sandbox();
      const ws = fs.mkdtempSync('/dev/shm/agentdiff-test-');
      onTestFinished(() => fs.rmSync(ws, { recursive: true, force: true }));
      fs.writeFileSync(`${box.home}/mapped.py`, MAPPED);
      fs.writeFileSync(`${ws}/f`, 'AAAA');
      // Old enough to be relied on anywhere else.
      box.bash('sleep 2.2');
      const args = ['--root', ws, 'run', '--', python ?? '', `${box.home}/mapped.py`, `${ws}/f`];
      expect(box.agentdiff(args).status).toBe(0);
      expect(fs.readFileSync(`${ws}/f`, 'utf8')).toBe('ZAAA');
      expect(
        box.json(['--root', ws, 'show', '--json']).changes.map(({ path: at }: { path: string }) => at),
      ).toEqual(['f']);
    },
  );
else process.stderr.write('not tried on tmpfs: there is none at /dev/shm\n');

it('a large object of another length than its file is stored again', () => {
  const box = sandbox();
  box.bash('head -c 3000000 /dev/urandom > big; sleep 2.1; T run -- true');
  const cut = box.bash(
    'l=$(find "$AGENTDIFF_STORE" -path "*large*" -type f); chmod u+w "$l"; truncate -s 1000 "$l"; sha256sum < big > ../sum',
  );
  expect(cut.status).toBe(0);
  expect(box.bash('T run -- rm big').status).toBe(0);
  expect(recover(box)).toEqual({ status: 0, results: ['restored big'] });
  expect(box.bash('sha256sum < big | cmp - ../sum').status).toBe(0);
});
