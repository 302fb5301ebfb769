/** What runs that were killed while they stored a large file leave behind. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { callsOf, killed, sample } from '../support/die-at.ts';
import { fingerprint } from '../support/fingerprint.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const MiB = 2 ** 20;
const LARGE = 20 * MiB;
/** More than what a store needs beside the content. */
const BESIDE = MiB / 2;

function storeBytes({ store }: Sandbox): number {
  const files = fs.readdirSync(store, { recursive: true, encoding: 'utf8' });
  return files.reduce((sum, name) => {
    const stat = fs.lstatSync(path.join(store, name));
    return stat.isFile() ? sum + stat.size : sum;
  }, 0);
}

it(`K8: runs killed while they store a large file leave nothing that the next run does not remove (seed ${SEED})`, () => {
  const counted = sandbox();
  const box = sandbox();
  for (const { ws } of [counted, box]) fs.writeFileSync(path.join(ws, 'big'), randomBytes(LARGE));
  const total = callsOf(counted, ['run', '--', 'true'], 'any');
  let partly = 0;
  for (const at of sample(total, 12, SEED)) {
    killed(box, ['run', '--', 'true'], 'any', at);
    const bytes = fs.existsSync(box.store) ? storeBytes(box) : 0;
    if (bytes > BESIDE && bytes < LARGE) partly++;
    // What one run left is gone before the next one adds its own; beside it there may be the whole object of a run that got further.
    expect(bytes, `killed before call ${at} of ${total}`).toBeLessThan(2 * LARGE + BESIDE);
  }
  expect(partly, 'some were killed in the middle of the file').toBeGreaterThan(0);
  const { status, stderr } = box.agentdiff(['run', '--', 'rm', 'big']);
  expect(status, stderr).toBe(0);
  expect(storeBytes(box)).toBeLessThan(LARGE + BESIDE);
  expect(
    fs.readdirSync(box.store, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp')),
  ).toEqual([]);
  expect(box.agentdiff(['recover', '--yes']).status).toBe(0);
  expect(fs.statSync(path.join(box.ws, 'big')).size).toBe(LARGE);
});

it(`G1: a run that is killed leaves the repositories of its workspace as they were (seed ${SEED})`, () => {
  const box = sandbox();
  const made = box.bash(
    'git init -q .; git init -q sub; echo x > sub/f; echo y > g; git add g; git -C sub add f',
  );
  expect(made.status, made.stderr).toBe(0);
  const before = fingerprint(box.ws, { times: true });
  const args = ['run', '--', 'true'];
  const total = callsOf(box, args, 'any');
  for (const at of sample(total, 6, SEED)) {
    killed(box, args, 'any', at);
    expect(fingerprint(box.ws, { times: true }), `killed before call ${at} of ${total}`).toEqual(before);
  }
  expect(
    box.bash('git fsck 2>&1 && git -C sub fsck 2>&1 && git status --short && git -C sub status --short')
      .status,
  ).toBe(0);
});
