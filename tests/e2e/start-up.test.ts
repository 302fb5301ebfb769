/** What is read and compiled before a command runs. It is most of what a wrapped command waits for, so it is held here, without a clock. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
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
