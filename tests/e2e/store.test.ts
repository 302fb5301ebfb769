/** Where capsules and contents are kept, and which roots are taken for a mistake. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { expectError, expectIntact, recover, shownChanges, skipUnless } from '../support/reports.ts';

it('K3: a store that cannot be written stops the run before the child, and names the way out', () => {
  const box = sandbox('nobody');
  fs.mkdirSync(box.store);
  const own = (uid: number): void => fs.chownSync(box.store, uid, uid);
  own(fs.statSync(box.ws).uid);
  fs.chmodSync(box.store, 0o555);
  const ended = box.bash('T run -- touch ran');
  expectError(ended, 'STORE_UNWRITABLE', 125);
  expect(ended.stderr).toContain(box.store);
  expect(ended.stderr).toMatch(/--store|AGENTDIFF_STORE/);
  expect(fs.readdirSync(box.ws)).toEqual([]);
  fs.chmodSync(box.store, 0o700);
  expect(box.bash('T run -- touch ran').status).toBe(0);
});

it('K3: list, show, diff, verify and a dry run read a store that nobody may write', () => {
  const box = sandbox('nobody');
  expect(box.bash(`echo 1 > f; T run -- sh -c 'echo 2 > f'`).status).toBe(0);
  const calls = ['list', 'show', 'diff', 'verify', 'recover --dry-run', 'show --json', 'verify --json'];
  const answers = (): unknown[] => calls.map((call) => box.bash(`T ${call}`));
  const writable = answers();
  box.bash('chmod -R a-w "$AGENTDIFF_STORE"');
  const before = fingerprint(box.store, { times: true });
  expect(answers()).toEqual(writable);
  for (const answer of writable) expect(answer).toMatchObject({ status: 0, stderr: '' });
  expectError(box.bash('T recover --yes'), 'STORE_UNWRITABLE', 4);
  expect(box.bash('cat f').stdout).toBe('2\n');
  expect(fingerprint(box.store, { times: true })).toEqual(before);
});

it('K4: a store of somebody else, or one that others may write, is not used', (context) => {
  skipUnless(context, process.getuid?.() === 0, 'only root can give a store away');
  const box = sandbox();
  expect(box.bash('echo 1 > f; T run -- rm f').status).toBe(0);
  for (const [owner, mode] of [
    [12345, 0o700],
    [0, 0o770],
    [0, 0o707],
  ] as const) {
    fs.chownSync(box.store, owner, 0);
    fs.chmodSync(box.store, mode);
    expectError(box.bash('T run -- touch ran'), 'STORE_NOT_OWNED', 125);
    for (const words of ['recover --yes', 'gc --keep-last 0 --yes', 'pin last'])
      expectError(box.bash(`T ${words}`), 'STORE_NOT_OWNED', 4);
    expect(fs.readdirSync(box.ws)).toEqual([]);
  }
});

it('K5: a store inside the workspace is left out of the scan and said to be within reach', () => {
  const box = sandbox();
  box.bash('echo 1 > f; mkdir d');
  const store = path.join(box.ws, '.store');
  const env = { AGENTDIFF_STORE: store };
  const before = fingerprint(box.ws);
  const skip = (name: string): boolean => name === '.store';
  const ended = box.bash(`T run --store "$PWD/.store" -- sh -c 'rm f; rmdir d'`);
  expect(ended.status).toBe(0);
  expect(ended.stderr.split('\n')[0]).toMatch(/store is inside the workspace/);
  const { changes, capsule } = box.json(['show'], { env });
  expect(changes.map((change: { path: string }) => change.path)).toEqual(['d', 'f']);
  expect(capsule.coverage.storeInsideWorkspace).toBe(true);
  expect(box.bash('T show --store .store').stdout).toContain(
    'inside the workspace, within reach of the command',
  );
  expect(box.bash('T recover --store .store --yes').status).toBe(0);
  expect(fingerprint(box.ws, { skip })).toEqual(before);
});

it('K5: reached through a link it is the same store', () => {
  const box = sandbox();
  box.bash('mkdir -m 700 s; ln -s "$PWD/s" "$HOME/link"; echo 1 > f');
  const ended = box.bash('T run --store "$HOME/link" -- rm f');
  expect(ended.status).toBe(0);
  expect(ended.stderr).toMatch(/store is inside the workspace/);
  const { changes } = box.json(['show', '--store', path.join(box.home, 'link')]);
  expect(changes.map((change: { path: string }) => change.path)).toEqual(['f']);
});

it('K5: a command that takes the store along is told so, and its own status stays', () => {
  const box = sandbox();
  box.bash('echo 1 > f');
  const ended = box.bash('T run --store "$PWD/.store" -- find . -mindepth 1 -delete');
  expect(ended.stderr).toMatch(/store is inside the workspace/);
  expect(ended.stderr).toMatch(/not sealed/);
  expect(ended.stderr).not.toMatch(/INTERNAL|^ +at /m);
  // find ends with 0; a run without a capsule must not look like one with.
  expect(ended.status).toBe(125);
});

it('Z2: a file over the limit of what is kept is named before the child starts, and costs only itself', () => {
  const box = sandbox();
  box.bash('truncate -s 65M big; echo 1 > f; mkdir d; truncate -s 2G d/huge');
  const before = fingerprint(box.ws, { skip: (name) => name === 'd/huge' });
  const ended = box.bash(`T run -- sh -c 'echo child >&2; rm big d/huge; echo 2 > f'`);
  expect(ended.status).toBe(0);
  const [notice = '', child] = ended.stderr.split('\n');
  expect(notice).toMatch(/content is not kept for .*big/);
  expect(notice).toContain('d/huge');
  expect(child).toBe('child');
  expect(Number(box.bash('du -sm "$AGENTDIFF_STORE" | cut -f1').stdout)).toBeLessThan(5);
  const ids = shownChanges(box).map(({ path: name, recoverable, reason }) => [name, recoverable, reason]);
  expect(ids).toEqual([
    ['big', false, 'content-not-kept'],
    ['d/huge', false, 'not-read'],
    ['f', true, undefined],
  ]);
  expect(recover(box)).toEqual({
    status: 3,
    results: ['refused big: content-not-kept', 'refused d/huge: content-not-kept', 'restored f'],
  });
  expect(fingerprint(box.ws)).toEqual(before.filter((line) => !line.endsWith('"big"')));
});

it('Z4: the home directory, the root of the file system and a parent of the default store are refused unread', () => {
  const box = sandbox();
  const env = { HOME: box.ws, AGENTDIFF_STORE: undefined, XDG_STATE_HOME: undefined };
  fs.mkdirSync(path.join(box.ws, '.cache'));
  const home = box.bash('cd; T run -- touch ran', { env });
  expectError(home, 'ROOT_REFUSED', 125);
  expect(home.stderr).toContain('--allow-root');
  expectError(box.bash('cd /; T run -- touch ran'), 'ROOT_REFUSED', 125);
  const parent = box.bash('T run -- touch ran', {
    env: { XDG_STATE_HOME: path.join(box.ws, 'state'), AGENTDIFF_STORE: undefined },
  });
  expectError(parent, 'ROOT_REFUSED', 125);
  // By a link, and by the environment, it is the same directory.
  box.bash('ln -s ws ../spelled');
  expectError(box.bash('cd ../spelled; T run -- touch ran', { env }), 'ROOT_REFUSED', 125);
  expectError(
    box.bash('T run -- touch ran', { env: { ...env, HOME: box.home, AGENTDIFF_ROOT: '/' } }),
    'ROOT_REFUSED',
    125,
  );
  expect(fs.readdirSync(box.ws)).toEqual(['.cache']);
  expect(fs.existsSync(box.store)).toBe(false);
  expect(
    box.bash('cd; T run --allow-root -- touch ran', { env: { ...env, AGENTDIFF_STORE: box.store } }).status,
  ).toBe(0);
  expect(fs.readdirSync(box.ws).sort()).toEqual(['.cache', 'ran']);
});

it('a second run does not read files that did not change', (context) => {
  const hasStrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
  skipUnless(context, hasStrace, 'strace does not work here');
  const box = sandbox();
  // Younger files are read again on purpose, because their next change might not move the clock of the file system.
  box.bash('mkdir d; for i in $(seq 50); do echo $i > d/file-$i; done; sleep 2.2');
  const opened = (): number => {
    const trace = path.join(box.home, 'trace');
    const ended = box.bash(`strace -f -e trace=open,openat,openat2 -o "${trace}" T run -- true`);
    expect(ended.status, ended.stderr).toBe(0);
    return fs
      .readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => /\/file-\d+"/.test(line)).length;
  };
  expect(opened()).toBeGreaterThanOrEqual(50);
  expect(opened()).toBe(0);
  // And what did change is read, once.
  box.bash('echo changed > d/file-7');
  expect(opened()).toBeGreaterThanOrEqual(1);
  expect(opened()).toBeLessThanOrEqual(2);
  expectIntact(box);
});

it('the store and all that is in it belong to nobody but their owner', () => {
  const box = sandbox();
  box.bash('umask 000; echo 1 > f; T run -- rm f; T recover --yes');
  expect(box.bash('find "$AGENTDIFF_STORE" -perm /077').stdout).toBe('');
  expect(recover(box).status).toBe(0);
});

it('a relative store is found again when the command has removed the directory that it is relative to', () => {
  const box = sandbox();
  box.bash('mkdir -p build src; echo a > src/a');
  const ended = box.bash(
    `cd build && T --store ../../st2 run --root .. -- sh -c 'echo x >> ../src/a; cd ..; rm -rf build'; echo "status $?"; cd .. 2>/dev/null; true`,
  );
  expect(ended.stdout).toContain('status 0');
  expect(ended.stderr).not.toContain('not sealed');
  expect(box.bash('T --store ../st2 list').stdout).toContain('passed');
});
