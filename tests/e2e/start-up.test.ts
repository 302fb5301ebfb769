/** What is read and compiled before a command runs. It is most of what a wrapped command waits for, so it is held here, without a clock. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { modulesOf } from '../../scripts/modules-of.mjs';
import { VERSION } from '../../src/cli/version.ts';
import { temporaryDir } from '../support/temporary.ts';

const BIN = fileURLToPath(new URL('../../bin/agentdiff.js', import.meta.url));

/** Writes down the files that were loaded, at the end. */
const WITNESS = `process.on('exit', () => require('node:fs').writeFileSync(process.env.LOADED,
  JSON.stringify(Object.keys(require.cache).filter((file) => file !== __filename))));`;

function loadedBy(...args: string[]): string[] {
  const base = temporaryDir();
  const witness = join(base, 'witness.cjs');
  const list = join(base, 'loaded.json');
  writeFileSync(witness, WITNESS);
  const { status, stderr } = spawnSync(process.execPath, ['--require', witness, BIN, ...args], {
    cwd: temporaryDir(),
    env: { PATH: process.env['PATH'], LOADED: list, AGENTDIFF_STORE: join(base, 'store') },
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  const files = JSON.parse(readFileSync(list, 'utf8')) as string[];
  return files.map((file) => basename(file)).sort();
}

describe('the files that are loaded', () => {
  it.each(['--version', '-V'])('for %s alone: the start, and nothing else', (word) => {
    expect(loadedBy(word)).toEqual(['agentdiff.js', 'start.cjs']);
  });

  it('for a run: one more, and what the bundler needs', () => {
    expect(loadedBy('run', '--', 'true')).toEqual([
      'agentdiff.js',
      'main.cjs',
      'rolldown-runtime.cjs',
      'start.cjs',
    ]);
  });

  it('for a run with a log: the log too', () => {
    expect(loadedBy('run', '--log-file', '/dev/null', '--', 'true')).toContain('log.cjs');
  });

  it('the version is the same among other words', () => {
    const options = { encoding: 'utf8' } as const;
    for (const words of [['--version'], ['-V'], ['--no-color', '--version']])
      expect(spawnSync(process.execPath, [BIN, ...words], options).stdout).toBe(`${VERSION}\n`);
  });
});

it('a run without a policy file and without a log loads three packages, and no schemas, logger or differ', async () => {
  const modules = [...(await modulesOf('src/cli/main.ts'))];
  const packages = modules.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
  expect([...new Set(packages)].sort()).toEqual(['canonicalize', 'commander', 'picomatch']);
});

const hasStrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;

it.skipIf(!hasStrace)(
  'a run that changes nothing waits ten times for the disk, in the order of docs/store-format.md (needs strace)',
  () => {
    const base = realpathSync(temporaryDir());
    const trace = join(base, 'trace');
    const ws = join(base, 'ws');
    mkdirSync(ws);
    writeFileSync(join(ws, 'f'), 'content');
    const env = { PATH: process.env['PATH'], AGENTDIFF_STORE: join(base, 'store') };
    const calls = 'trace=fsync,fdatasync,sync_file_range,syncfs,sync,rename,renameat,renameat2,execve';
    const strace = ['-f', '-y', '-s', '1000', '-o', trace, '-e', calls];
    const run = [process.execPath, BIN, 'run', '--', 'true'];
    // The first run has content to store; the second finds it all there.
    expect(spawnSync(process.execPath, run.slice(1), { cwd: ws, env }).status).toBe(0);
    expect(spawnSync('strace', [...strace, ...run], { cwd: ws, env }).status).toBe(0);
    expect(readFileSync(trace, 'utf8').split('\n').flatMap(step)).toEqual([
      'fsync pending/ID/TMP',
      'rename intent.json',
      'fsync pending/ID',
      'fsync pending',
      'execve true',
      ...['SHA256SUMS', 'capsule.json', 'changes.jsonl', 'events.jsonl', 'policy.json'].map(
        (name) => `fsync pending/ID/capsule/${name}`,
      ),
      'fsync pending/ID/capsule',
      'rename ID',
      'fsync capsules',
    ]);
  },
);

/** What a line of the trace says of the disk, or of the child; the other renames have an order of their own. */
function step(line: string): string[] {
  const text = line.replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{8}/g, 'ID').replaceAll(/\.agentdiff-tmp-\w+/g, 'TMP');
  const synced =
    /(fsync|fdatasync|sync_file_range|syncfs|sync)\((?:\d+<.*\/workspaces\/[0-9a-f]+\/(.*?)>)?/.exec(text);
  if (synced !== null) return [`${synced[1]} ${synced[2]}`];
  const renamed = /rename\w*\(.*"[^"]*\/(ID|intent\.json)"(?:, \w+)?\) = 0/.exec(text);
  if (renamed !== null && !/\/TMP", "[^"]*\/ID"/.test(text)) return [`rename ${renamed[1]}`];
  return /execve\("[^"]*\/true".* = 0/.test(text) ? ['execve true'] : [];
}
