/** Sizes: files with holes, many small files, trees that grow while they are looked at. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { expectIntact, recover, shownChanges, skipUnless } from '../support/reports.ts';

/** KiB on the disk. */
function storeSize({ bash }: Sandbox): number {
  return Number(bash('du -sk "$AGENTDIFF_STORE" | cut -f1').stdout);
}

it('Z1: a file of holes that is too large to be read is said so before the start, and costs no space', () => {
  const box = sandbox();
  box.bash('truncate -s 5G sp; echo 1 > f');
  const ended = box.bash(`T run -- sh -c 'echo child >&2; rm sp f'`);
  expect(ended.status).toBe(0);
  const [notice = '', child] = ended.stderr.split('\n');
  expect(notice).toMatch(/content is not kept for .*\bsp\b/);
  expect(child).toBe('child');
  expect(shownChanges(box)).toMatchObject([
    { path: 'f', recoverable: true },
    { path: 'sp', before: { state: { size: 5 * 2 ** 30 } }, recoverable: false, reason: 'not-read' },
  ]);
  expect(storeSize(box)).toBeLessThan(1024);
  expect(recover(box)).toEqual({ status: 3, results: ['restored f', 'refused sp: content-not-kept'] });
  expect(fs.readdirSync(box.ws)).toEqual(['f']);
  expectIntact(box);
});

it('Z1: a file of holes that is kept comes back with its size and content', () => {
  const box = sandbox();
  box.bash('truncate -s 40M sp; printf end | dd of=sp bs=1M seek=39 conv=notrunc status=none');
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'rm', 'sp']).status).toBe(0);
  expect(storeSize(box)).toBeLessThan(45 * 1024);
  expect(recover(box)).toEqual({ status: 0, results: ['restored sp'] });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('Z3: fifty thousand files are listed when they go, in little memory and in few lines on the screen', () => {
  const box = sandbox();
  const count = 50_000;
  box.bash(`mkdir n; cd n; seq ${count} | xargs -n 500 touch`);
  // Far less than the changes of such a run would take if all were held at once as text.
  const env = { NODE_OPTIONS: '--max-old-space-size=96' };
  const idle = box.bash('T run -- true', { env });
  expect(idle.status, idle.stderr).toBe(0);
  const unchanged = storeSize(box);
  const capsuleBytes = (): number => Number(box.bash(`du -sb '${box.newestCapsule()}' | cut -f1`).stdout);
  expect(capsuleBytes()).toBeLessThan(20_000);
  expect(box.bash('T run -- true', { env }).status).toBe(0);
  expect(storeSize(box) - unchanged, 'KiB of a run without changes').toBeLessThan(64);
  const ended = box.bash('T run -- rm -r n', { env });
  expect(ended.status, ended.stderr).toBe(0);
  expect(ended.stderr.split('\n').length).toBeLessThan(20);
  expect(ended.stderr).toMatch(/deleted +50,001 +n\//);
  const lines = fs
    .readFileSync(path.join(box.newestCapsule(), 'changes.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  expect(lines).toHaveLength(count + 1);
  expect(box.agentdiff(['verify', 'last']).status).toBe(0);
});

it('Z5: the scan of a tree that grows all the while ends, and nothing of it is lost or called changed', () => {
  const box = sandbox();
  // The writer says how far it is, and goes on until it is told to stop: it was at work before, during and after the run.
  const script = `
    mkdir grows; (i=0; while [ ! -e ~/stop ] && [ $i -lt 300000 ]; do i=$((i+1)); echo $i > grows/f$i; printf . >> ~/rounds; done) &
    until [ -s ~/rounds ]; do :; done
    cp ~/rounds ~/began; timeout 300 T run -- true; s=$?; cp ~/rounds ~/ended
    touch ~/stop; wait; exit $s`;
  const ended = box.bash(script);
  expect(ended.status, ended.stderr).toBe(0);
  const rounds = (name: string): number => fs.statSync(path.join(box.home, name)).size;
  expect(rounds('ended')).toBeGreaterThan(rounds('began'));
  expectIntact(box);
  const { capsule, changes } = box.json(['show']);
  const byPath = new Map<string, { before?: unknown; after?: unknown }>(
    changes.map((change: { path: string }) => [change.path, change]),
  );
  expect(changes.filter(({ after }: { after?: unknown }) => after === undefined)).toEqual([]);
  const unseen = new Set(
    [...capsule.coverage.unobserved.before, ...capsule.coverage.unobserved.after].map(({ path: at }) => at),
  );
  // Every file that was there when the run ended was there before, was created, or is named as not observed.
  const created = [...byPath].filter(([, { before }]) => before === undefined).map(([at]) => at);
  const all = fs.readdirSync(path.join(box.ws, 'grows')).map((name) => `grows/${name}`);
  const { results } = recover(box);
  const removed = results
    .filter((line) => line.startsWith('removed '))
    .map((line) => line.slice('removed '.length));
  expect(removed.filter((at) => !created.includes(at) || unseen.has(at))).toEqual([]);
  // Neither does recover remove what the command cannot have made.
  const early = new Set(
    changes
      .filter(({ reason }: { reason?: string }) => reason === 'before-command')
      .map(({ path: at }: { path: string }) => at),
  );
  expect(removed.filter((at) => early.has(at))).toEqual([]);
  const left = new Set(fs.readdirSync(path.join(box.ws, 'grows')).map((name) => `grows/${name}`));
  const gone = all.filter((at) => !left.has(at));
  expect(gone.sort()).toEqual(removed.sort());
});

it('Z1: a recover that finds no room in the workspace is refused before anything is touched', (context) => {
  skipUnless(context, spawnSync('unshare', ['-Urm', 'true']).status === 0, 'needs a mount namespace');
  const box = sandbox();
  const script = `mkdir small && mount -t tmpfs -o size=4m,mode=700 t small && cd small || exit 99
head -c 3M /dev/urandom > big; T run --quiet -- rm big || exit 98
head -c 2M /dev/urandom > mine
T recover --dry-run; echo "dry $?"; T recover --yes; echo "status $?"; ls; rm mine; T recover --yes; echo "status $?"; ls`;
  const ended = box.bash(`unshare -Urm bash -c '${script}'`);
  expect(ended.stdout.split('\n').filter((line) => /^(dry|status|mine|big)/.test(line))).toEqual([
    'dry 4',
    'status 4',
    'mine',
    'status 0',
    'big',
  ]);
  expect(ended.stderr).toContain('[SPACE_SHORT]');
});
