/**
 * Real trees, taken apart by the commands that take them apart in real life, and put back byte for byte and mode for mode: a copy of this
 * very checkout with its packages and its history, and a tree of more than 20,000 files of real packages.
 */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const REMOVE = 'rm -rf src docs .git';
const CLEAN = 'git clean -fdxq';
const COMMIT = `git -c user.name=test -c user.email=test@example.invalid -c gc.auto=0 commit -q -m start`;

it('this checkout, with node_modules and .git: what was kept comes back, and what was not is named', () => {
  const box = sandbox();
  copyCheckout(box.ws);
  const before = fingerprint(box.ws);
  const isPackage = (line: string): boolean => / "node_modules\//.test(line);
  const packageFiles = before.filter((line) => isPackage(line) && line.startsWith('file ')).length;
  expect(packageFiles).toBeGreaterThan(1000);

  const kept = destroyAndRecover(box, 'checkout, all content', CLEAN, '--capture', 'content');
  expect(kept).toMatchObject({ status: 0, refusals: new Map() });
  expect(kept.tree).toEqual(before);

  const removed = destroyAndRecover(box, 'checkout, default capture', REMOVE);
  expect(removed).toMatchObject({ status: 0, refusals: new Map() });
  expect(removed.tree).toEqual(before);

  const cleaned = destroyAndRecover(box, 'checkout, default capture', CLEAN);
  expect(cleaned).toMatchObject({ status: 3, refusals: new Map([['content-not-kept', packageFiles]]) });
  // Directories and links among the packages come back too.
  const isLost = (line: string): boolean => isPackage(line) && line.startsWith('file ');
  expect(cleaned.tree).toEqual(before.filter((line) => !isLost(line)));
  // Said before the command began, and again of the result.
  expect(cleaned.told[0]).toMatch(/content is not kept for node_modules/);
  expect(cleaned.told.slice(1).join('\n')).toContain(packageFiles.toLocaleString('en-US'));
  expect(box.bash('git fsck --connectivity-only 2>&1 && git log -1 --format=%H').status).toBe(0);
});

function copyCheckout(to: string): void {
  // Other tests may write into caches below node_modules meanwhile; what vanishes under way is no loss.
  spawnSync('cp', ['-a', `${PROJECT}/.`, to]);
  // A compiled tool among the packages may be over the limit of what is kept of one file; that has a test of its own.
  shell(to, 'find . -type f -size +64M -delete');
  const git = path.join(to, '.git');
  // An unpacked archive has no history, and a worktree has it elsewhere.
  if (!fs.lstatSync(git, { throwIfNoEntry: false })?.isDirectory())
    shell(to, `rm -f .git && git init -q . && git add -A && ${COMMIT}`);
  for (const part of ['src', 'docs', 'node_modules', '.git'])
    expect(fs.readdirSync(path.join(to, part)).length).toBeGreaterThan(0);
}

describe('more than 20,000 files under ordinary names', () => {
  it(`${REMOVE}, then ${CLEAN}: every one of them comes back`, () => {
    const box = sandbox();
    copyPackages(box.ws);
    const before = fingerprint(box.ws);
    expect(before.filter((line) => line.startsWith('file ')).length).toBeGreaterThan(20_000);
    for (const command of [REMOVE, CLEAN]) {
      const after = destroyAndRecover(box, 'packages', command);
      expect(after).toMatchObject({ status: 0, refusals: new Map() });
      expect(after.gone).toBeGreaterThan(20_000);
      expect(after.tree).toEqual(before);
    }
    expect(box.bash('git status --short').stdout).toBe('?? docs/\n?? src/\n');
  });
});

/** All packages once below `src`, some of them as often as it takes below `docs`, and a repository that knows one of them. */
function copyPackages(to: string): void {
  // Without the few large files among the packages: it is the number that counts here. The ones copied again have many files a directory.
  shell(
    to,
    `mkdir src docs && cp -a '${PROJECT}/node_modules' src/packages
     find src/packages -type f -size +64k -delete
     find src/packages -depth -type d -name node_modules -execdir mv '{}' packages-of-it ';'
     mkdir kept && cp -a src/packages/vitest kept/ && git init -q . && git add kept && ${COMMIT}
     while [ $(find src docs -type f | wc -l) -le 20000 ]; do
       i=$((i + 1)); mkdir docs/$i
       for name in zod typescript diff yaml; do cp -a src/packages/$name docs/$i/; done
     done`,
  );
}

interface Aftermath {
  readonly status: number;
  /** How many paths were refused, by reason. */
  readonly refusals: ReadonlyMap<string, number>;
  /** How many changes the run recorded. */
  readonly gone: number;
  /** What `run` said, by line. */
  readonly told: readonly string[];
  readonly tree: readonly string[];
}

function destroyAndRecover(box: Sandbox, title: string, command: string, ...options: string[]): Aftermath {
  const [ended, run] = timed(() => box.agentdiff(['run', ...options, '--', ...command.split(' ')]));
  expect(ended.status, ended.stderr).toBe(0);
  const { deleted, created, modified } = box.json(['show']).capsule.counts;
  const gone = deleted + created + modified;
  const [recovered, recover] = timed(() => box.agentdiff(['recover', '--yes', '--json']));
  expect(recovered.stderr).toBe('');
  const refusals = new Map<string, number>();
  for (const { result, code } of JSON.parse(recovered.stdout).results) {
    if (result === 'refused') refusals.set(code, (refusals.get(code) ?? 0) + 1);
  }
  const [verified, verify] = timed(() => box.agentdiff(['verify', JSON.parse(recovered.stdout).recovers]));
  expect(verified.status, verified.stdout).toBe(0);
  // oxlint-disable-next-line no-console
  console.log(
    `${title}, ${command}: ${gone} changes; run ${run} s, recover ${recover} s, verify ${verify} s`,
  );
  return {
    status: recovered.status,
    refusals,
    gone,
    told: ended.stderr.split('\n'),
    tree: fingerprint(box.ws),
  };
}

function timed<T>(action: () => T): [result: T, seconds: string] {
  const began = performance.now();
  const result = action();
  return [result, ((performance.now() - began) / 1000).toFixed(1)];
}

function shell(cwd: string, script: string): void {
  const { status, stderr } = spawnSync('sh', ['-ec', script], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the set-up failed: ${stderr}`);
}
