/** What goes from the store, when, and what it costs to stay. */
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { expectError } from '../support/reports.ts';

interface Listed {
  readonly runId: string;
  readonly state: string;
  readonly pinned?: true;
}

function runsOf(box: Sandbox): Listed[] {
  return box.json(['list']).runs;
}

/** As `du` counts the store, bytes. */
function onDisk({ store }: Sandbox): number {
  return Number(spawnSync('du', ['-s', '--block-size=1', store], { encoding: 'utf8' }).stdout.split('\t')[0]);
}

it('K6: an unchanged file of 50 MB is stored once, however many runs there are', () => {
  const box = sandbox();
  box.bash('head -c 50M /dev/urandom > model.bin');
  for (let i = 0; i < 20; i++) expect(box.bash(`T run --quiet -- sh -c 'echo ${i} > f'`).status).toBe(0);
  expect(onDisk(box)).toBeLessThan(53 * 2 ** 20);
  const { figures } = box.json(['doctor']);
  expect(figures.runs).toHaveLength(20);
  expect(figures.runs[19].objects.bytes).toBeGreaterThan(50 * 2 ** 20);
  expect(figures.runs[0].objects.bytes + figures.runs[0].capsule.bytes).toBeLessThan(64 << 10);
  expect(box.agentdiff(['doctor']).stdout).toMatch(/budget 10\.0 GiB/);
});

it('K6: the figures of doctor are those of du', () => {
  const box = sandbox();
  box.bash('head -c 3M /dev/urandom > a; mkdir d; for i in $(seq 50); do echo $i > d/$i; done');
  for (let i = 0; i < 3; i++) box.bash(`T run --quiet -- sh -c 'head -c 2M /dev/urandom > b'`);
  const { figures } = box.json(['doctor']);
  const folder = path.join(box.store, 'workspaces');
  const du = (...more: string[]): number =>
    Number(
      spawnSync('du', ['-s', '--block-size=1', ...more, path.join(folder, fs.readdirSync(folder)[0] ?? '')], {
        encoding: 'utf8',
      }).stdout.split('\t')[0],
    );
  // du counts the directory itself too.
  expect(du() - figures.total.allocated).toBeLessThanOrEqual(8192);
  expect(du()).toBeGreaterThanOrEqual(figures.total.allocated);
  expect(figures).toMatchObject({ capsules: 3, pending: 0, pins: 0, leftovers: { count: 0 } });
});

it('K8: what killed runs leave is counted, and gone after the next run', async () => {
  const box = sandbox();
  box.bash('head -c 30M /dev/urandom > big; for i in $(seq 30); do head -c 1M /dev/urandom > b$i; done');
  for (let i = 0; i < 3; i++) {
    const child = spawn('bash', ['-c', 'exec T run -- true'], {
      cwd: box.ws,
      env: { ...box.environment },
      stdio: 'ignore',
    });
    const pid = child.pid ?? 0;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // As soon as it has begun to store something.
    const large = (): boolean =>
      spawnSync('sh', ['-c', `find '${box.store}' -name '*.tmp' -o -name '*-0.pack' | grep -q .`]).status ===
      0;
    for (let waited = 0; waited < 2000 && !large() && child.exitCode === null; waited++)
      await new Promise((resolve) => setTimeout(resolve, 2));
    if (child.exitCode === null) process.kill(pid, 'SIGKILL');
    await ended;
  }
  const before = box.json(['doctor']).figures;
  expect(before.leftovers.count).toBeGreaterThan(0);
  expect(box.agentdiff(['doctor']).stdout).toMatch(/left by ended processes: \d+ entr/);
  expect(box.bash('T run --quiet -- true').status).toBe(0);
  const { figures } = box.json(['doctor']);
  expect(figures.leftovers).toMatchObject({ count: 0 });
  expect(onDisk(box)).toBeLessThan(64 * 2 ** 20);
});

it('gc shows its plan and removes nothing, and removes with --yes', () => {
  const box = sandbox();
  for (let i = 0; i < 4; i++) box.bash(`T run --quiet -- sh -c 'head -c 2M /dev/urandom > f'`);
  const ids = runsOf(box).map(({ runId }) => runId);
  const before = fingerprint(box.store, { times: true });
  const plan = box.agentdiff(['gc', '--keep-last', '2']);
  expect(plan).toMatchObject({ status: 0, stderr: '' });
  expect(plan.stdout).toContain('would go (2 capsules');
  expect(plan.stdout).toMatch(/MiB would be freed/);
  expect(plan.stdout).toMatch(/nothing was removed: give the same command with --yes .*\n$/);
  for (const id of ids) expect(plan.stdout).toContain(id);
  expect(fingerprint(box.store, { times: true })).toEqual(before);
  const done = box.agentdiff(['gc', '--keep-last', '2', '--yes']);
  expect(done.status).toBe(0);
  expect(done.stdout).toContain('removed (2 capsules');
  expect(done.stdout).not.toContain('--yes');
  expect(runsOf(box).map(({ runId }) => runId)).toEqual(ids.slice(2));
  expect(box.agentdiff(['verify', ...ids.slice(2)]).status).toBe(0);
  expect(box.json(['gc', '--keep-last', '1'])).toMatchObject({
    dryRun: true,
    capsules: [{ goes: true }, { why: 'newest' }],
  });
  expect(box.agentdiff(['gc', '--keep-last', '9']).stdout).toContain('nothing would be removed');
  expect(box.agentdiff(['gc', '--help']).stdout).toMatch(/--yes.*else nothing.*budget/s);
  expectError(box.agentdiff(['gc', '--keep-within', 'long']), 'USAGE', 2);
});

it('gc says in JSON which size it wanted, and how much is over it', () => {
  const box = sandbox();
  box.bash(`T run --quiet -- sh -c 'head -c 2M /dev/urandom > f'`);
  expect(box.json(['gc'])).toMatchObject({ maxBytes: 10 * 2 ** 30, overBytes: 0 });
  expect(box.agentdiff(['gc']).stdout).toContain('at most 10.0 GiB wanted');
  const over = box.json(['gc', '--max-size', '1K']);
  expect(over).toMatchObject({ maxBytes: 1024, overBytes: over.sizeAfterBytes - 1024 });
  expect(over.overBytes).toBeGreaterThan(2 ** 20);
});

it('gc removes an interrupted run that is named, and says how', () => {
  const box = sandbox();
  box.bash('echo 1 > f; T run --quiet -- true');
  box.bash(`(T run --quiet -- sh -c 'kill -9 $PPID'); true`);
  const id = runsOf(box).find(({ state }) => state === 'unsealed')?.runId ?? '';
  expect(box.agentdiff(['gc']).stdout).toMatch(/interrupted; .*gc --interrupted RUN removes it\n +2/);
  expect(box.agentdiff(['gc', '--interrupted', id]).stdout).toContain(`would go: the interrupted run ${id}`);
  expect(box.json(['gc', '--interrupted', id, '--yes'])).toMatchObject({
    interruptedRemoved: [id],
    removed: [],
  });
  expect(runsOf(box)).toMatchObject([{ state: 'sealed' }]);
  expectError(box.agentdiff(['gc', '--interrupted', 'last']), 'USAGE', 2);
});

it('doctor says that there are more runs than it shows', () => {
  const box = sandbox();
  for (let i = 0; i < 10; i++) box.bash('T run --quiet -- true');
  expect(box.agentdiff(['doctor']).stdout).not.toContain('older run');
  box.bash('T run --quiet -- true; T run --quiet -- true');
  expect(box.agentdiff(['doctor']).stdout).toContain('… and 2 older runs; --json has all');
});

it('by itself, near its budget, the store loses the oldest capsules, and the run says so on one line', () => {
  const box = sandbox();
  const write = `T run --max-store-size 12MiB -- sh -c 'head -c 2M /dev/urandom > f'`;
  const ids: string[] = [];
  let told = '';
  for (let i = 0; i < 9; i++) {
    const ended = box.bash(write);
    expect([ended.status, ended.stdout]).toEqual([0, '']);
    ids.push(runsOf(box).at(-1)?.runId ?? '');
    if (i === 0) box.agentdiff(['pin', ids[0] ?? '']);
    told += ended.stderr
      .split('\n')
      .filter((line) => line.includes('near its budget'))
      .join('\n');
  }
  expect(told).toMatch(
    /agentdiff: the store was near its budget of 12\.0 MiB: \d+ old capsules? removed, [\d.]+ MiB freed/,
  );
  expect(onDisk(box)).toBeLessThan(12 * 2 ** 20);
  const left = runsOf(box).map(({ runId }) => runId);
  expect(left.length).toBeLessThan(ids.length);
  expect([left[0], left.at(-1)]).toEqual([ids[0], ids.at(-1)]);
  expect(box.agentdiff(['verify', ...left]).status).toBe(0);
  expect(box.agentdiff(['recover', '--yes']).status).toBe(0);
});

it('pin keeps a run, and list says so', () => {
  const box = sandbox();
  for (let i = 0; i < 3; i++) box.bash(`T run --quiet -- sh -c 'echo ${i} > f'`);
  const ids = runsOf(box).map(({ runId }) => runId);
  expect(box.agentdiff(['pin', ids[0] ?? '']).stdout).toContain(`pinned ${ids[0]}`);
  expect(box.agentdiff(['list']).stdout).toMatch(new RegExp(`${ids[0]}.*passed, pinned`));
  expect(box.agentdiff(['gc', '--keep-last', '0', '--yes']).status).toBe(0);
  expect(runsOf(box)).toMatchObject([{ runId: ids[0], pinned: true }, { runId: ids[2] }]);
  expect(box.agentdiff(['unpin', ids[0] ?? '']).status).toBe(0);
  expect(box.agentdiff(['unpin', ids[0] ?? '']).stdout).toContain(`${ids[0]} was not pinned`);
  box.agentdiff(['gc', '--keep-last', '0', '--yes']);
  expect(runsOf(box)).toMatchObject([{ runId: ids[2] }]);
  expectError(box.agentdiff(['pin', '2001']), 'RUN_UNKNOWN', 2);
});

it('a gc, a recover and a run inside a run: the gc is refused, a nested run is not', () => {
  const box = sandbox();
  box.bash(`echo 1 > f; T run --quiet -- sh -c 'echo 2 > f'; T run --quiet -- sh -c 'echo 3 > f'`);
  const ended = box.bash(
    `T run --quiet -- sh -c 'T gc --keep-last 0 --yes; echo "gc $?"; T run --quiet -- true; echo "run $?"'`,
  );
  expect(ended.stdout).toBe('gc 4\nrun 0\n');
  expect(ended.stderr).toContain('[STORE_BUSY]');
  expect(ended.stderr).not.toContain('for a day');
  expect(runsOf(box)).toHaveLength(4);
});

it('runs at the same time name each other, and each is sealed', () => {
  const box = sandbox();
  box.bash('echo 1 > f');
  // Each waits for the others' commands to be there.
  const together = 'until [ -e ../up1 ] && [ -e ../up2 ] && [ -e ../up3 ]; do sleep 0.02; done';
  box.bash(
    `for i in 1 2 3; do T run --quiet -- sh -c "echo $i > g$i; : > ../up$i; ${together}" & done; wait`,
  );
  const ids = runsOf(box).map(({ runId }) => runId);
  expect(ids).toHaveLength(3);
  const named = ids.map(
    (id) => box.json(['show', id]).capsule?.overlapping ?? box.json(['show', id]).overlapping,
  );
  expect(new Set(named.flat())).toEqual(new Set(ids));
  expect(box.agentdiff(['verify', ...ids]).status).toBe(0);
});

it('a store that may not be written is read as before; gc says why it cannot', () => {
  const box = sandbox('nobody');
  box.bash(
    `T run --quiet -- sh -c 'echo 1 > f'; T run --quiet -- sh -c 'echo 2 > f'; chmod -R a-w "$AGENTDIFF_STORE"`,
  );
  expect(box.bash('T gc --keep-last 1').status).toBe(0);
  expect(box.bash('T doctor').stdout).toContain('this workspace in the store');
  expectError(box.bash('T gc --keep-last 1 --yes'), 'STORE_UNWRITABLE', 4);
  expect(runsOf(box)).toHaveLength(2);
});
