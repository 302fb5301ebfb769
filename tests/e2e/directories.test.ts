/** Directories, changes of kind, special files and mounts. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import {
  changesOf,
  expectIntact,
  expectPlainReports,
  recover,
  shownChanges,
  skipUnless,
} from '../support/reports.ts';
import { temporaryDir } from '../support/temporary.ts';

/** Bytes in the object store: packs and large objects, not the capsules. */
const KEPT = `find "$AGENTDIFF_STORE" \\( -path '*/packs/*' -o -path '*/large/*' \\) -type f -printf '%s\\n' | awk '{ sum += $1 } END { print sum + 0 }'`;

it('D1: empty directories come back with their modes', () => {
  const box = sandbox();
  box.bash('mkdir -p a/b; chmod 750 a/b; touch -d 2020-01-01 a/b a');
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'rm', '-r', 'a']).status).toBe(0);
  expect(changesOf(box)).toEqual(['deleted directory a', 'deleted directory a/b']);
  expect(recover(box)).toEqual({ status: 0, results: ['restored a', 'restored a/b'] });
  expect(fingerprint(box.ws)).toEqual(before);
  expect(box.bash('stat -c "%a %Y" a a/b').stdout).toBe('755 1577836800\n750 1577836800\n');
  expectIntact(box);
});

it('D1: a directory that the run made is kept when it holds a file of somebody else', () => {
  const box = sandbox();
  expect(box.bash(`T run -- sh -c 'mkdir -p new/sub; echo n > new/sub/f'`).status).toBe(0);
  fs.writeFileSync(path.join(box.ws, 'new/mine'), 'mine\n');
  expect(recover(box)).toEqual({
    status: 3,
    results: ['refused new: directory-not-empty', 'removed new/sub', 'removed new/sub/f'],
  });
  expect(fs.readdirSync(path.join(box.ws, 'new'))).toEqual(['mine']);
  expect(fs.readFileSync(path.join(box.ws, 'new/mine'), 'utf8')).toBe('mine\n');
});

it('D2: a tree deeper than any path may be is recorded to its leaf, and comes back', () => {
  const box = sandbox();
  const name = 'x'.repeat(250);
  const descend = `for i in $(seq 20); do cd ${name} || exit 1; done`;
  box.bash(`for i in $(seq 20); do mkdir ${name}; cd ${name}; done; echo hi > leaf`);
  expect(box.agentdiff(['run', '--', 'rm', '-r', name]).status).toBe(0);
  expect(fs.readdirSync(box.ws)).toEqual([]);
  const changes = shownChanges(box);
  expect(changes).toHaveLength(21);
  expect(changes.at(-1)?.path).toBe(`${`${name}/`.repeat(20)}leaf`);
  expect(box.json(['show']).capsule.coverage.complete).toBe(true);
  expect(recover(box).status).toBe(0);
  expect(box.bash(`${descend}; cat leaf`)).toMatchObject({ status: 0, stdout: 'hi\n' });
  // Node's own removal works with joined paths, and these are too long for it.
  box.bash(`rm -rf ${name}`);
});

it('D3: a renamed directory costs no content twice, and goes back to its name', () => {
  const box = sandbox();
  box.bash('mkdir -p a/s; seq 100000 > a/s/f');
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'mv', 'a', 'z']).status).toBe(0);
  expect(changesOf(box)).toEqual([
    'deleted directory a',
    'deleted directory a/s',
    'deleted file a/s/f',
    'created directory z',
    'created directory z/s',
    'created file z/s/f',
  ]);
  const size = fs.statSync(path.join(box.ws, 'z/s/f')).size;
  const kept = Number(box.bash(KEPT).stdout);
  expect(kept).toBeGreaterThan(size);
  expect(kept).toBeLessThan(1.2 * size);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  expect(Number(box.bash(KEPT).stdout)).toBeLessThan(1.2 * size);
  expectIntact(box);
});

it('D3: what somebody put into the new name stays, with the directories it needs', () => {
  const box = sandbox();
  box.bash('mkdir -p a/s; seq 100 > a/s/f');
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'mv', 'a', 'z']).status).toBe(0);
  fs.writeFileSync(path.join(box.ws, 'z/s/mine'), 'mine\n');
  expect(recover(box).status).toBe(3);
  const after = fingerprint(box.ws);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.slice(before.length).map((line) => line.split(' ').at(-1))).toEqual([
    '"z"',
    '"z/s"',
    '"z/s/mine"',
  ]);
});

it('D5: a file that became a directory is a file again', () => {
  const box = sandbox();
  box.bash('echo c > config');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- sh -c 'rm config; mkdir config; echo l > config/local'`).status).toBe(0);
  expect(changesOf(box)).toEqual(['modified file>directory config', 'created file config/local']);
  expectPlainReports(box);
  expect(recover(box)).toEqual({ status: 0, results: ['restored config', 'removed config/local'] });
  expect(fs.readFileSync(path.join(box.ws, 'config'), 'utf8')).toBe('c\n');
  expect(fingerprint(box.ws)).toEqual(before);
  // And the recover, being a run, the other way round.
  expect(recover(box, 'last')).toEqual({ status: 0, results: ['restored config', 'restored config/local'] });
  expect(fs.readFileSync(path.join(box.ws, 'config/local'), 'utf8')).toBe('l\n');
  expectIntact(box);
});

it('D5: somebody else in that directory keeps it as a whole', () => {
  const box = sandbox();
  box.bash('echo c > config');
  expect(box.bash(`T run -- sh -c 'rm config; mkdir config; echo l > config/local'`).status).toBe(0);
  fs.writeFileSync(path.join(box.ws, 'config/mine'), 'mine\n');
  const before = fingerprint(box.ws);
  expect(recover(box)).toEqual({
    status: 3,
    results: ['refused config: directory-not-empty', 'refused config/local: parent-refused'],
  });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('N1: a fifo is recorded without being opened', () => {
  const box = sandbox();
  box.bash('mkfifo -m 640 p');
  expect(box.bash('timeout 20 T run -- true').status).toBe(0);
  expect(changesOf(box)).toEqual([]);
  expect(box.bash('timeout 20 T run -- rm p').status).toBe(0);
  const [change] = shownChanges(box);
  expect(change).toMatchObject({ path: 'p', before: { state: { kind: 'fifo', mode: 0o640 } } });
  // Said when it is recorded as when it is asked for: this version makes no fifo.
  expect(change).toMatchObject({ recoverable: false, reason: 'unsupported-kind' });
  expect(box.bash('timeout 20 T recover --yes --json').status).toBe(3);
  expect(recover(box)).toEqual({ status: 3, results: ['refused p: unsupported-kind'] });
  expect(fs.readdirSync(box.ws)).toEqual([]);
});

it('N1: a fifo that the run made is removed, and one that lost only its mode gets it back', () => {
  const box = sandbox();
  box.bash('mkfifo -m 640 p');
  const before = fingerprint(box.ws);
  expect(box.bash(`timeout 20 T run -- sh -c 'chmod 600 p; mkfifo q'`).status).toBe(0);
  expect(recover(box)).toEqual({ status: 0, results: ['restored p', 'removed q'] });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('M1: a mount below the root is named and not entered, also one of the same file system', (context) => {
  const box = sandbox();
  const unshare = ['unshare', '--user', '--map-root-user', '--mount'];
  skipUnless(
    context,
    spawnSync(unshare[0] ?? '', [...unshare.slice(1), 'mount', '-t', 'tmpfs', 't', box.home]).status === 0,
    'no unprivileged mounts here',
  );
  const outside = temporaryDir();
  fs.writeFileSync(path.join(outside, 'f'), 'out\n');
  const ended = box.bash(
    `mkdir m; ${unshare.join(' ')} sh -c "mount --bind '${outside}' m; T run -- rm m/f; T show --json; T recover --yes --json"`,
  );
  const [shown = '', recovered = ''] = ended.stdout.trim().split('\n');
  const { changes, capsule } = JSON.parse(shown);
  expect(changes).toEqual([]);
  expect(capsule.coverage).toMatchObject({
    complete: false,
    unobserved: { before: [{ path: 'm', reason: 'mount' }], after: [{ path: 'm', reason: 'mount' }] },
  });
  expect(JSON.parse(recovered).results).toEqual([]);
  expect(fs.readdirSync(outside)).toEqual([]);
});

describe('when the run removes the root itself', () => {
  const project = `git init -q .; mkdir -p src empty; echo 1 > src/a; echo K > .env; ln -s src latest; chmod 750 empty`;

  it('says that the directory has to be made again, and puts everything back into it', () => {
    const box = sandbox();
    box.bash(project);
    const before = fingerprint(box.ws);
    const removed = box.bash('T run -- sh -c \'cd /; exec rm -rf "$1"\' sh "$PWD"');
    expect(removed.status).toBe(0);
    expect(fs.existsSync(box.ws)).toBe(false);
    expect(removed.stderr).toContain('The workspace root itself was removed: make the directory again');
    // The line that is printed does it, from wherever it is pasted.
    const [, next = ''] = /next: (mkdir .*?) {3}/.exec(removed.stderr) ?? [];
    expect(box.bash(`${next.replace('&& agentdiff ', '&& T ')} --yes`, { cwd: '/' }).status).toBe(0);
    expect(fingerprint(box.ws)).toEqual(before);
    expect(box.bash('git fsck; git status --short').status).toBe(0);
    // Again: everything is right already.
    expect(recover(box).results.every((line) => line.startsWith('already-right'))).toBe(true);
    expectIntact(box);
  });

  it('leaves alone what somebody put into the new directory', () => {
    const box = sandbox();
    box.bash(project);
    box.bash('T run -- sh -c \'cd /; exec rm -rf "$1"\' sh "$PWD"');
    box.bash('mkdir -p ws/src; echo mine > ws/src/a', { cwd: path.dirname(box.ws) });
    const report = recover(box);
    expect(report.status).toBe(3);
    expect(report.results).toContain('refused src/a: changed-since');
    expect(report.results).toContain('restored .env');
    expect(fs.readFileSync(path.join(box.ws, 'src/a'), 'utf8')).toBe('mine\n');
  });

  it('refuses a directory that took the place of one that the run had left there', () => {
    const box = sandbox();
    box.bash('echo 1 > a; T run -- rm a');
    box.bash('mv ws old; mkdir ws; touch ws/keep', { cwd: path.dirname(box.ws) });
    expect(box.json(['recover', '--yes']).error.code).toBe('ROOT_REPLACED');
    expect(fs.readdirSync(box.ws)).toEqual(['keep']);
  });
});
