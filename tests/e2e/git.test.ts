/** Repositories are files like others: git's ignore rules have no say, and git works after a recover. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { changesOf, expectIntact, recover, skipUnless } from '../support/reports.ts';

const INIT = 'git init -q .; git config user.email a@example.invalid; git config user.name n';

function sandboxWithGit(script: string): { box: Sandbox; before: string[] } {
  const box = sandbox();
  expect(box.bash(`set -e; ${INIT}; ${script}`)).toMatchObject({ status: 0, stderr: '' });
  return { box, before: fingerprint(box.ws) };
}

function worktreeChanges(box: Sandbox): string[] {
  return changesOf(box).filter((line) => !/ \.git(\/|$)/.test(line));
}

it('G1: a nested repository is files like others, its data too', () => {
  const { box, before } = sandboxWithGit('git init -q sub; echo x > sub/f');
  expect(box.bash(`T run -- sh -c 'echo y > sub/f; rm -rf sub/.git'`).status).toBe(0);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  expect(box.bash('git -C sub status --short')).toMatchObject({ status: 0, stdout: '?? f\n' });
});

it('G1: the data of a repository is never moved, by a run or by a recover', (context) => {
  const hasStrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
  skipUnless(context, hasStrace, 'strace does not work here');
  const { box, before } = sandboxWithGit('git init -q sub; echo x > sub/f; git add sub/f 2>/dev/null || :');
  const trace = path.join(box.home, 'trace');
  const traced = (command: string): string[] => {
    const calls = 'rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat';
    const ended = box.bash(`strace -f -y -e trace=${calls} -o '${trace}' ${command}`);
    expect(ended.status, ended.stderr).toBe(0);
    return fs.readFileSync(trace, 'utf8').split('\n');
  };
  const onRepository = (line: string): boolean => /\/\.git"/.test(line);
  expect(
    traced('T run -- sh -c "echo y > sub/f; echo n > sub/.git/n; echo n > .git/n"').filter(onRepository),
  ).toEqual([]);
  const lines = traced('T recover --yes');
  expect(lines.filter(onRepository)).toEqual([]);
  // The trace sees what it is to see: the files in there were touched.
  expect(lines.some((line) => line.includes('/n"'))).toBe(true);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('G2: a nested repository without a commit hides nothing', () => {
  const { box } = sandboxWithGit('echo v1 > f');
  box.bash('T run -- true; echo v2 > f; git init -q inner; echo z > inner/z');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- sh -c 'echo v3 > f'`).status).toBe(0);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('G3: a worktree that removes itself is recorded, its .git file as a plain file', () => {
  const box = sandbox();
  const setUp = `mkdir m; cd m; ${INIT}; echo 1 > f; git add f; git commit -qm i; git worktree add -q ../w; echo mine > ../w/untracked`;
  expect(box.bash(`set -e; ${setUp}`).status).toBe(0);
  const ended = box.bash('cd w; T run -- git worktree remove --force ../w');
  expect(ended.status).toBe(0);
  expect(ended.stderr).toMatch(/deleted +3 +\.git, f, untracked/);
  expect(ended.stderr).toContain('3 of 3 recorded changes can be taken back');
  expect(fs.readdirSync(box.ws)).toEqual(['m']);
  expect(box.agentdiff(['verify', box.newestCapsule()]).status).toBe(0);
  // The files come back, .git among them; git's own record of the worktree was outside.
  fs.mkdirSync(path.join(box.ws, 'w'));
  const back = box.bash('cd w; T recover --yes');
  expect(back.status).toBe(0);
  expect(back.stdout).toContain('.git/worktrees/w, lies outside the workspace and is not put back');
  expect(box.bash('cd w; cat f untracked; ls -A; cut -d: -f1 .git').stdout).toBe(
    '1\nmine\n.git\nf\nuntracked\ngitdir\n',
  );
});

it('G5: an ignored file that was deleted comes back', () => {
  const { box, before } = sandboxWithGit('echo .env > .gitignore; echo K=1 > .env; chmod 600 .env');
  expect(box.agentdiff(['run', '--', 'rm', '.env']).status).toBe(0);
  expect(changesOf(box)).toEqual(['deleted file .env']);
  expect(recover(box)).toEqual({ status: 0, results: ['restored .env'] });
  expect(fs.readFileSync(path.join(box.ws, '.env'), 'utf8')).toBe('K=1\n');
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('G6: what git clean -fdx takes comes back, ignored or not', () => {
  const { box, before } = sandboxWithGit(`echo '*.log' > .gitignore; git add .gitignore; git commit -qm i
    echo a > a.log; mkdir d; echo n > d/new; ln -s a.log l; mkdir empty`);
  expect(box.agentdiff(['run', '--', 'git', 'clean', '-fdxq']).status).toBe(0);
  expect(worktreeChanges(box)).toEqual([
    'deleted file a.log',
    'deleted directory d',
    'deleted file d/new',
    'deleted directory empty',
    'deleted symlink l',
  ]);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('G7: the record shows what really went, not what was named', () => {
  const { box, before } =
    sandboxWithGit(`printf 'data/\\n__pycache__/\\n' > .gitignore; mkdir -p data c/__pycache__
    echo db > data/db; touch c/s.py; git add .gitignore c/s.py; echo 1 > c/__pycache__/w.pyc; echo 2 > c/__pycache__/keep.pyc`);
  expect(box.bash('T run -- git clean -qfX -- c/__pycache__/w.pyc').status).toBe(0);
  const gone = before.length - fingerprint(box.ws).length;
  expect(worktreeChanges(box)).toHaveLength(gone);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('G8: an edit that git reset --hard took is back, and the repository works', () => {
  const { box } = sandboxWithGit('echo 1 > f; git add f; git commit -qm i; echo wip > f; git status --short');
  // git refreshes its index when it is asked, so the state to come back to is taken after the question.
  const before = fingerprint(box.ws);
  const ended = box.agentdiff(['run', '--', 'git', 'reset', '-q', '--hard']);
  expect(ended.status).toBe(0);
  expect(worktreeChanges(box)).toEqual(['modified file f']);
  const inside = changesOf(box).length - 1;
  expect(inside).toBeGreaterThan(0);
  // Apart from the rest, and counted.
  expect(ended.stderr).toMatch(new RegExp(`inside repositories: \\.git/ \\(${inside} entr`));
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  expect(box.bash('cat f; git status --short; git fsck 2>&1; git log --format=%s')).toMatchObject({
    status: 0,
    stdout: 'wip\n M f\ni\n',
  });
  expectIntact(box);
});

it('G8: a checkout of everything is no different', () => {
  const { box, before } = sandboxWithGit(
    'seq 3 > f; mkdir d; echo 1 > d/g; git add .; git commit -qm i; echo wip > f; rm d/g',
  );
  expect(box.agentdiff(['run', '--', 'git', 'checkout', '-q', '--', '.']).status).toBe(0);
  expect(worktreeChanges(box)).toEqual(['created file d/g', 'modified file f']);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
});

it('G10: a bare stash is attributed to its command, with files, repository data and times', () => {
  const { box, before } = sandboxWithGit(
    'for i in 1 2 3 4 5; do echo $i > f$i; done; git add .; git commit -qm i; for i in 1 2 3; do echo w >> f$i; done',
  );
  const began = Date.now();
  expect(box.agentdiff(['run', '--task', 'tidy up', '--', 'git', 'stash', '-q']).status).toBe(0);
  const ended = Date.now();
  expect(worktreeChanges(box)).toEqual(['f1', 'f2', 'f3'].map((name) => `modified file ${name}`));
  expect(changesOf(box)).toContain('created file .git/refs/stash');
  const { capsule } = box.json(['show']);
  expect(capsule).toMatchObject({
    argv: ['git', 'stash', '-q'],
    task: 'tidy up',
    exit: { started: true, code: 0 },
  });
  const { startedAt, childStartedAt, childEndedAt, endedAt } = capsule.times;
  const order = [startedAt, childStartedAt, childEndedAt, endedAt].map((time) => Date.parse(time));
  expect([began, ...order, ended]).toEqual([began, ...order, ended].sort((a, b) => a - b));
  const text = box.agentdiff(['show']).stdout;
  for (const part of ['git stash -q', startedAt, 'modified f1', 'modified f3', '.git/refs/stash'])
    expect(text).toContain(part);
  expect(box.agentdiff(['list']).stdout).toContain('git stash -q');
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
  expect(box.bash('git stash list; git fsck 2>&1; git status --short').stdout).toBe(' M f1\n M f2\n M f3\n');
});

it('G11: nothing of ours is written into a repository, and what is staged stays', () => {
  const { box } = sandboxWithGit('echo 1 > f; git add f; echo 2 > f');
  const repository = (): string[] => fingerprint(path.join(box.ws, '.git'), { times: true });
  const before = repository();
  expect(box.bash(`T run -- sh -c 'echo 3 > f'`).status).toBe(0);
  expect(recover(box)).toEqual({ status: 0, results: ['restored f'] });
  box.bash('T list; T show; T diff; T verify; T doctor; T doctor last');
  expect(repository()).toEqual(before);
  expect(box.bash('cat f; git diff --cached --stat').stdout).toContain('2\n f | 1 +\n');
});

it('G12: neither git nor a repository is needed', () => {
  const box = sandbox();
  box.bash('echo 1 > f; mkdir "$HOME/bin"; ln -s "$(command -v sh)" "$(command -v node)" "$HOME/bin"');
  const before = fingerprint(box.ws);
  const onlyNode = `PATH="$HOME/bin" "$(command -v T)"`;
  expect(box.bash(`rm=$(command -v rm); ${onlyNode} run -- "$rm" f`).status).toBe(0);
  expect(changesOf(box)).toEqual(['deleted file f']);
  for (const command of ['list', 'show', 'diff', 'verify', 'doctor last', 'recover --yes'])
    expect(box.bash(`${onlyNode} ${command}`), command).toMatchObject({ status: 0, stderr: '' });
  expect(fingerprint(box.ws)).toEqual(before);
  expect(spawnSync('git', ['rev-parse'], { cwd: box.ws }).status).not.toBe(0);
});

it('G13: from a subdirectory the root in force is shown, and what the run left alone is left alone', () => {
  const { box } = sandboxWithGit('mkdir fe be; echo 1 > fe/a; echo 1 > be/b');
  const ended = box.bash(`cd fe; T run -- sh -c 'echo 2 > a'; echo 5 > ../be/b`);
  expect(ended.stderr).toContain(`root ${box.ws} (found by .git)`);
  expect(box.json(['show']).capsule.workspace).toMatchObject({ root: { path: box.ws }, chosenBy: 'git' });
  expect(box.json(['show'], { cwd: path.join(box.ws, 'be') }).capsule.cwd.path).toBe(path.join(box.ws, 'fe'));
  expect(box.bash('cd fe; T recover --yes').status).toBe(0);
  expect(box.bash('cat fe/a be/b').stdout).toBe('1\n5\n');

  const plain = sandbox();
  plain.bash(
    `mkdir fe be; echo 1 > fe/a; echo 1 > be/b; cd fe; T run -- sh -c 'echo 2 > a; echo 6 > ../be/b'; T recover --yes`,
  );
  expect(plain.bash('cat fe/a be/b').stdout).toBe('1\n6\n');
});
