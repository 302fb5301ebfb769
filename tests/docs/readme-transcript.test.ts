import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';

// The README is the script: every `$ ` line of its console blocks is run in turn, and what follows it must be what is printed.
// `UPDATE_TRANSCRIPT=1 npx vitest run --config tests/vitest.config.ts tests/docs` writes the output into the README.

const readme = new URL('../../README.md', import.meta.url);
const BLOCK = /^```console\n([^]*?)^```$/gm;

function makeWorkspace({ ws, bash }: Sandbox): void {
  const write = (name: string, text: string, mode = 0o644): void => {
    fs.mkdirSync(path.dirname(path.join(ws, name)), { recursive: true });
    fs.writeFileSync(path.join(ws, name), text, { mode });
  };
  write('src/cart.js', 'export const total = (items) => items.reduce((sum, item) => sum + item.price, 0);\n');
  write('.gitignore', '.env\n');
  const commit = 'git -c user.name=you -c user.email=you@example.invalid commit --quiet --message start';
  expect(bash(`umask 022; git init --quiet . && git add . && ${commit}`).status).toBe(0);
  write('src/discount.js', 'export const discount = (total) => (total > 100 ? total * 0.9 : total);\n');
  write('.env', 'API_KEY=only-here\n', 0o600);
  write('notes/todo.md', 'ask about rounding\n');
  fs.mkdirSync(path.join(ws, 'notes/drafts'));
  fs.symlinkSync('src/discount.js', path.join(ws, 'latest'));
}

/** Runs the commands of one console block and gives the block as it should be. */
function perform(block: string, { ws, home, bash }: Sandbox): string {
  const commands = block.split('\n').filter((line) => line.startsWith('$ '));
  return commands
    .map((line) => {
      const script = `umask 022; agentdiff() { T "$@"; }; { ${line.slice(2)}; } 2>&1`;
      const { stdout } = bash(script, { env: { AGENTDIFF_STORE: undefined } });
      return `${line}\n${stdout.replaceAll(ws, '/home/you/shop').replaceAll(home, '/home/you')}`;
    })
    .join('');
}

/** Without what differs from one run to the next: ids, digests, times, and how much git puts into `.git`. */
function shape(block: string): string[] {
  return block
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{8}/g, '<run>')
    .replaceAll(/\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b/g, '<digest>')
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>')
    .replaceAll(/\b\d+ ms\b|\b\d+\.\d s\b/g, '<duration>')
    .replaceAll(/\d+ entries before, \d+ after/g, '<entries>')
    .split('\n')
    .map((line) => line.replaceAll(/(?<=\S) +/g, ' '));
}

it('README: the transcript is what the commands print', () => {
  const box = sandbox();
  makeWorkspace(box);
  const text = fs.readFileSync(readme, 'utf8');
  const blocks = [...text.matchAll(BLOCK)].map((match) => match[1] ?? '');
  expect(blocks.length).toBeGreaterThan(4);
  const performed = blocks.map((block) => perform(block, box));
  if (process.env['UPDATE_TRANSCRIPT'] === '1') {
    let next = 0;
    fs.writeFileSync(
      readme,
      text.replaceAll(BLOCK, () => `\`\`\`console\n${performed[next++]}\`\`\``),
    );
    return;
  }
  blocks.forEach((block, i) => expect(shape(block)).toEqual(shape(performed[i] ?? '')));
}, 120_000);
