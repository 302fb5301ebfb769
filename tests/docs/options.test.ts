import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { Output } from '../../src/cli/output.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { documents, prose } from './documents.ts';

const { command: program } = buildProgram(new Output({}, false));
const commands = new Map(program.commands.map((command) => [command.name(), command]));

function optionsOf(command: Command | undefined): string[] {
  return command?.options.flatMap(({ long }) => long ?? []) ?? [];
}

const common = ['--help', ...optionsOf(program)];
const all = new Set([...common, ...program.commands.flatMap(optionsOf)]);

interface Call {
  readonly in: string;
  readonly name: string;
  readonly options: readonly string[];
}

/** `agentdiff <command> …` in code of a document; what follows ` -- ` belongs to the child. */
function calls(): Call[] {
  return documents().flatMap(({ path, text }) => {
    const spans = [...prose(text).matchAll(/`agentdiff ([^`]*)`/g)];
    const lines = [...text.matchAll(/^(?:\$ )?agentdiff (.*)$/gm)];
    return [...spans, ...lines].map((match) => {
      const [own = ''] = (match[1] ?? '').split(/ -- |(?<=\w) {3,}/);
      const words = own.split(/\s+/);
      const options = words.flatMap((word) => /^--[a-z-]+/.exec(word)?.[0] ?? []);
      return { in: path, name: words[0] ?? '', options };
    });
  });
}

describe('the command line in the documents', () => {
  it('every `agentdiff …` names a command and options of it', () => {
    const found = calls().filter(({ name }) => !name.startsWith('-') && name !== '…');
    expect(found.length).toBeGreaterThan(20);
    const wrong = found.filter(({ name, options }) => {
      const command = commands.get(name);
      if (name.startsWith('<') || name.startsWith('[')) return options.some((option) => !all.has(option));
      const known = [...common, ...optionsOf(command)];
      return command === undefined || options.some((option) => !known.includes(option));
    });
    expect(wrong).toEqual([]);
  });

  it('every option in code is one of ours', () => {
    const options = documents()
      .filter(({ path }) => !path.startsWith('tests/'))
      .flatMap(({ path, text }) =>
        [...prose(text).matchAll(/`(--[a-z][a-z-]*)[^`]*`/g)].map((match) => ({
          path,
          option: match[1] ?? '',
        })),
      );
    expect(options.length).toBeGreaterThan(20);
    expect(options.filter(({ option }) => !all.has(option))).toEqual([]);
  });

  it('the README names every command and every option', () => {
    const readme = documents().find(({ path }) => path === 'README.md')?.text ?? '';
    const missing = [...all].filter(
      (option) => !['--version', '--help'].includes(option) && !readme.includes(`\`${option}`),
    );
    expect(missing).toEqual([]);
    expect([...commands.keys()].filter((name) => !readme.includes(`\`agentdiff ${name}`))).toEqual([]);
  });
});
