/** Links are entries of their own: never followed, neither when a tree is observed nor when it is put back. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { changesOf, expectIntact, expectPlainReports, recover, shownChanges } from '../support/reports.ts';
import { temporaryDir } from '../support/temporary.ts';

it('S1: a dangling link is recorded and made again without a word about its target', () => {
  const box = sandbox();
  box.bash('ln -s nowhere L; touch -h -d 2020-01-01 L');
  const before = fingerprint(box.ws, { times: true });
  const ended = box.agentdiff(['run', '--', 'rm', 'L']);
  expect(ended.status).toBe(0);
  expect(ended.stderr).not.toMatch(/ENOENT|nowhere|not.recover/i);
  expect(changesOf(box)).toEqual(['deleted symlink L']);
  expect(recover(box)).toEqual({ status: 0, results: ['restored L'] });
  expect(fs.readlinkSync(path.join(box.ws, 'L'))).toBe('nowhere');
  expect(fingerprint(box.ws, { times: true })).toEqual(before);
  expectIntact(box);
});

it('S2: what is changed through a link to a directory is listed once, under its own path', () => {
  const box = sandbox();
  box.bash('mkdir d; echo x > d/f; ln -s d L');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- bash -c 'echo y > L/f'`).status).toBe(0);
  expect(changesOf(box)).toEqual(['modified file d/f']);
  expect(box.json(['show']).capsule.snapshots.after.entries).toBe(3);
  expect(recover(box)).toEqual({ status: 0, results: ['restored d/f'] });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('S3: what lies behind a link out of the workspace is neither read, nor stored, nor written', () => {
  const box = sandbox();
  const outside = temporaryDir();
  const secret = 'content-behind-a-link-out';
  fs.writeFileSync(path.join(outside, 'k'), `${secret}\n`);
  fs.symlinkSync(outside, path.join(box.ws, 'out'));
  expect(box.bash(`T run -- bash -c 'echo changed-${secret} > out/k'`).status).toBe(0);
  expect(changesOf(box)).toEqual([]);
  const { capsule } = box.json(['show']);
  expect(capsule.snapshots.before.entries).toBe(1);
  expect(box.agentdiff(['show']).stdout).toMatch(/Nothing outside the workspace is covered: .*behind links/);
  // The words of the command are in the capsule; what was behind the link, before or after, is among no objects.
  expect(box.bash(`grep -rlF '${secret}' "$AGENTDIFF_STORE"`).stdout).not.toMatch(/packs|large/);
  expect(recover(box)).toEqual({ status: 0, results: [] });
  expect(fs.readFileSync(path.join(outside, 'k'), 'utf8')).toBe(`changed-${secret}\n`);
});

it('S4: loops of links are four entries and an end', () => {
  const box = sandbox();
  box.bash('ln -s a b; ln -s b a; ln -s . self; mkdir -p x/y; ln -s ../.. x/y/up');
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'true']).status).toBe(0);
  const { capsule, changes } = box.json(['show']);
  expect(changes).toEqual([]);
  expect(capsule.snapshots.before.entries).toBe(6);
  expect(capsule.coverage).toMatchObject({ complete: true, lowered: [] });
  expect(box.bash('T run -- rm a b self x/y/up').status).toBe(0);
  expect(changesOf(box)).toEqual(['a', 'b', 'self', 'x/y/up'].map((name) => `deleted symlink ${name}`));
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('S5: a directory replaced by a link comes back, and the link target keeps its content', () => {
  const box = sandbox();
  box.bash('mkdir d e; echo v1 > d/f; echo other > e/f');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- bash -c 'rm -r d && ln -s e d'`).status).toBe(0);
  expect(changesOf(box)).toEqual(['modified directory>symlink d', 'deleted file d/f']);
  expectPlainReports(box);
  const first = box.json(['list']).runs[0].runId;
  expect(box.bash('T run -- true').status).toBe(0);
  expect(changesOf(box)).toEqual([]);
  expect(recover(box, first)).toEqual({ status: 0, results: ['restored d', 'restored d/f'] });
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('S6: a parent that became a link later is a reason to refuse, and nothing lands behind it', () => {
  const box = sandbox();
  const outside = temporaryDir();
  box.bash('mkdir d; echo v1 > d/f');
  expect(box.bash('T run -- rm d/f').status).toBe(0);
  box.bash(`rmdir d; ln -s '${outside}' d`);
  const before = fingerprint(box.ws);
  expect(recover(box)).toEqual({ status: 3, results: ['refused d/f: parent-is-link'] });
  expect(fs.readdirSync(outside)).toEqual([]);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('S7: a link planted where a file was modified is no after-state, and its target stays empty', () => {
  const box = sandbox();
  const victim = path.join(temporaryDir(), 'victim');
  fs.writeFileSync(victim, '');
  box.bash('echo v1 > x');
  expect(box.bash(`T run -- sh -c 'echo v2 > x'`).status).toBe(0);
  fs.rmSync(path.join(box.ws, 'x'));
  fs.symlinkSync(victim, path.join(box.ws, 'x'));
  const before = fingerprint(box.ws);
  expect(recover(box)).toEqual({ status: 3, results: ['refused x: changed-since'] });
  expect(fs.readFileSync(victim, 'utf8')).toBe('');
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('S7: an equal copy behind the planted link changes nothing about that', () => {
  const box = sandbox();
  box.bash('echo v1 > x');
  expect(box.bash(`T run -- sh -c 'echo v2 > x'; mv x y; ln -s y x`).status).toBe(0);
  expect(recover(box)).toEqual({ status: 3, results: ['refused x: changed-since'] });
  expect(fs.readFileSync(path.join(box.ws, 'y'), 'utf8')).toBe('v2\n');
});

it('S8: a second recover finds everything right and rewrites nothing', () => {
  const box = sandbox();
  box.bash('mkdir d; ln -s t d/L; echo 1 > d/a');
  const before = fingerprint(box.ws);
  expect(box.bash('T run -- rm -r d').status).toBe(0);
  expect(recover(box).results).toEqual(['restored d', 'restored d/L', 'restored d/a']);
  const inodes = (): string => box.bash('stat -c "%n %i %z" d d/*').stdout;
  const made = inodes();
  expect(recover(box)).toEqual({
    status: 0,
    results: ['already-right d', 'already-right d/L', 'already-right d/a'],
  });
  expect(inodes()).toBe(made);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('S10: two spellings of one directory are one workspace, and the child sees the one that was used', () => {
  const box = sandbox();
  box.bash('mkdir real; ln -s real ln; echo 1 > real/f');
  const before = fingerprint(box.ws);
  const ended = box.bash(`cd ln && T run -- sh -c 'echo "$PWD"; rm f'`);
  expect(ended).toMatchObject({ status: 0, stdout: `${box.ws}/ln\n` });
  // The user's own spelling is kept, and shown beside the real path.
  expect(ended.stderr).toContain(`root ${box.ws}/real (reached as ${box.ws}/ln, the current directory)`);
  expect(box.bash('cd real && T show').stdout).toContain(
    `${box.ws}/real (reached as ${box.ws}/ln, the current directory)`,
  );
  const spelled = box.bash(`cd ln && T list --json`).stdout;
  expect(box.bash('cd real && T list --json').stdout).toBe(spelled);
  expect(JSON.parse(spelled).root.path).toBe(path.join(box.ws, 'real'));
  expect(box.bash('cd real && T recover --yes').status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  expect(box.bash('cd ln && T recover --yes').stdout).toContain('1 already right');
  box.bash(
    'mkdir real/sub; touch real/agentdiff.yaml; cd ln/sub && T run --quiet -- true; rm -r ../agentdiff.yaml; rmdir ../sub',
  );
  expect(
    JSON.parse(fs.readFileSync(path.join(box.newestCapsule(), 'capsule.json'), 'utf8')).workspace,
  ).toMatchObject({
    root: { path: `${box.ws}/real` },
    spelling: { path: `${box.ws}/ln` },
  });
});

it('H1: an edit through one of two names is taken back for both or for none', () => {
  const box = sandbox();
  box.bash('echo one > a; ln a b');
  expect(box.bash(`T run -- sh -c 'echo two > a'`).status).toBe(0);
  expect(changesOf(box)).toEqual(['modified file a', 'modified file b']);
  const { status, results } = recover(box);
  const contents = ['a', 'b'].map((name) => fs.readFileSync(path.join(box.ws, name), 'utf8'));
  expect(new Set(contents).size, `one path right and one not: ${results.join(', ')}`).toBe(1);
  if (status === 0) expect(contents).toEqual(['one\n', 'one\n']);
  else expect(results.every((line) => line.endsWith(': hard-linked'))).toBe(true);
});

it('H2: a file with a name outside the workspace is refused, and that name keeps its content', () => {
  const box = sandbox();
  const outside = path.join(temporaryDir(), 'out');
  box.bash(`echo one > a; ln a '${outside}'`);
  expect(box.bash(`T run -- sh -c 'echo two > a'`).status).toBe(0);
  expect(recover(box)).toEqual({ status: 3, results: ['refused a: hard-linked'] });
  expect(fs.readFileSync(outside, 'utf8')).toBe('two\n');
  expect(fs.statSync(outside).nlink).toBe(2);
});

it('E1: a link beside a file of the path that its target would have is an entry of its own', () => {
  const box = sandbox();
  box.bash(`mkdir -p n/.bin n/x x; echo 1 > n/x/bin; echo 2 > x/bin; echo 3 > u
    ln -s ../x/bin n/.bin/u; ln -s ../../u n/.bin/v; ln -s u n/.bin/u2`);
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'true']).status).toBe(0);
  expect(changesOf(box)).toEqual([]);
  expect(box.agentdiff(['run', '--', 'rm', '-r', 'n', 'x', 'u']).status).toBe(0);
  const paths = shownChanges(box).map((change) => change.path);
  expect(paths).toEqual([...new Set(paths)]);
  expect(paths).toHaveLength(before.length);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('E3: a link of the name of a regenerable directory is a link, dangling or not, and takes nothing in', () => {
  const box = sandbox();
  const elsewhere = temporaryDir();
  fs.writeFileSync(path.join(elsewhere, 'outside'), 'secret of the target\n');
  box.bash(
    `ln -s nowhere node_modules; mkdir p q; ln -s '${elsewhere}' p/node_modules; echo 1 > q/node_modules`,
  );
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'rm', '-r', 'node_modules', 'p', 'q']).status).toBe(0);
  expect(changesOf(box)).toEqual([
    'deleted symlink node_modules',
    'deleted directory p',
    'deleted symlink p/node_modules',
    'deleted directory q',
    'deleted file q/node_modules',
  ]);
  // The rule is for directories: what has their name and is none is kept as anything else.
  expect(shownChanges(box).map(({ level }) => level)).toEqual(Array(5).fill('content'));
  expect(box.bash('grep -rl "secret of the target" "$AGENTDIFF_STORE"').stdout).toBe('');
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('E3: a rule without a slash is for a link too, one that ends in a slash for directories only, as the README says', () => {
  const box = sandbox();
  box.bash('ln -s nowhere node_modules; echo 1 > f');
  const before = fingerprint(box.ws);
  const removed = (rule: string): void => {
    const ended = box.agentdiff(['run', '--capture', `${rule}=none`, '--', 'rm', 'node_modules', 'f']);
    expect(ended.status, ended.stderr).toBe(0);
  };
  removed('node_modules/');
  expect(box.json(['show']).capsule.coverage.unobserved.before).toEqual([]);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  removed('node_modules');
  expect(box.json(['show']).capsule.coverage.unobserved.before).toEqual([
    { path: 'node_modules', reason: 'excluded' },
  ]);
  expect(recover(box)).toEqual({ status: 3, results: ['restored f', 'refused node_modules: not-observed'] });
  expect(fingerprint(box.ws)).toEqual(before.filter((line) => line.endsWith('"f"')));
});
