import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { Output } from '../../../src/cli/output.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { VERSION } from '../../../src/cli/version.ts';

function parse(...argv: string[]): Promise<number> {
  const program = buildProgram(new Output({}, false));
  for (const one of [program.command, ...program.command.commands])
    one.configureOutput({ writeOut() {}, writeErr() {} });
  return program.run(argv);
}

describe('the command line', () => {
  it('has the version of the package', () => {
    const manifest = JSON.parse(
      readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
    ) as object;
    expect(manifest).toHaveProperty('version', VERSION);
  });

  it.each([
    ['--root run list extra', { name: 'list', json: false, debug: false }],
    ['--store --json list extra', { name: 'list', json: false, debug: false }],
    ['--json show --nonsense', { name: 'show', json: true, debug: false }],
    ['show --nonsense --json --debug', { name: 'show', json: true, debug: true }],
    ['run ls --json', { name: 'run', json: false, debug: false }],
    ['nonsense --json', { name: undefined, json: true, debug: false }],
  ])('knows, when it fails, what it has understood: %s', async (line, known) => {
    const program = buildProgram(new Output({}, false));
    await expect(program.run(line.split(' '))).rejects.toThrow();
    expect(program.known()).toEqual(known);
  });

  it.each([
    ['no dashes', ['run', 'ls']],
    ['a word before the dashes', ['run', 'ls', '--', '-la']],
    ['nothing behind the dashes', ['run', '--']],
    ['nothing at all', ['run']],
    ['the dashes as the value of an option before the name', ['--root', '--', 'run', 'ls']],
  ])('refuses a run with %s', async (_, argv) => {
    await expect(parse(...argv)).rejects.toMatchObject({ code: 'USAGE' });
  });

  it.each([
    ['run', 'ls', '-la'],
    // Were it taken for ours, `npm --version` would print our version and succeed.
    ['run', 'npm', '--version'],
    ['run', '--json', '--', 'ls'],
    ['run', '--task', '--', 'ls'],
    ['run', '--result-file', '--', 'ls'],
    ['--store', 'x', 'run', '--capture', '--', 'ls'],
    ['run', '--fail-on', 'sometimes', '--', 'ls'],
    ['show', 'one', 'two'],
    ['nonsense'],
    ['recover', '--path'],
  ])('refuses %s %s %s', async (...argv) => {
    const error: unknown = await parse(...argv).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CommanderError);
    expect(error).not.toHaveProperty('exitCode', 0);
  });

  it.each([['--help'], ['--version'], ['run --help'], ['help recover']])('answers %s', async (line) => {
    await expect(parse(...line.split(' '))).rejects.toMatchObject({ exitCode: 0 });
  });
});
