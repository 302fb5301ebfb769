/** What `npm pack` makes of a fresh clone, without anything that was built or installed before. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryDir } from '../support/temporary.ts';
import { VERSION } from '../../src/cli/version.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const NOT_IN_A_CLONE = ['.git', 'node_modules', 'dist', 'coverage'];

/** The installed packages are those of the checkout: what a clone gets by `npm ci`. */
function freshClone(base: string): string {
  const clone = path.join(base, 'clone');
  fs.mkdirSync(clone);
  for (const name of fs.readdirSync(PROJECT)) {
    if (NOT_IN_A_CLONE.includes(name) || name.endsWith('.tgz')) continue;
    fs.cpSync(path.join(PROJECT, name), path.join(clone, name), { recursive: true });
  }
  fs.symlinkSync(path.join(PROJECT, 'node_modules'), path.join(clone, 'node_modules'));
  return clone;
}

it('holds a program that works by itself, and the documents that it points to', () => {
  const base = temporaryDir();
  const home = path.join(base, 'home');
  fs.mkdirSync(home);
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    npm_config_offline: 'true',
    npm_config_loglevel: 'error',
  };
  const start = (command: string, args: readonly string[], cwd: string): string => {
    const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
    expect({ status, error }, stderr).toEqual({ status: 0, error: undefined });
    return stdout;
  };
  start('npm', ['pack', '--pack-destination', base], freshClone(base));
  start('tar', ['-xzf', `agentdiff-${VERSION}.tgz`], base);
  const unpacked = path.join(base, 'package');
  expect(fs.readdirSync(unpacked).sort()).toEqual(
    ['LICENSE', 'README.md', 'SECURITY.md', 'bin', 'dist', 'docs', 'package.json'].sort(),
  );
  const bin = path.join(unpacked, 'bin/agentdiff.js');
  const ws = path.join(base, 'ws');
  fs.mkdirSync(ws);
  expect(start(process.execPath, [bin, '--version'], ws)).toBe(`${VERSION}\n`);
  start(process.execPath, [bin, 'run', '--log-file', path.join(base, 'log'), '--', 'true'], ws);
  for (const command of ['list', 'show', 'diff', 'verify', 'recover'])
    start(process.execPath, [bin, command, ...(command === 'recover' ? ['last', '--yes'] : [])], ws);
  const help = start(process.execPath, [bin, '--help'], ws);
  const documents = [...help.matchAll(/docs\/[a-z-]+\.md/g)].map(([document]) => document);
  expect(documents).toContain('docs/exit-codes.md');
  for (const document of documents) expect(fs.existsSync(path.join(unpacked, document)), document).toBe(true);
});
