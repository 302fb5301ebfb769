import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ErrorCode, EXIT, exitStatusOf, RUN_EXIT } from '../../../src/core/index.ts';

const root = new URL('../../../', import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** The cells of each row of the table below a heading. */
function rowsBelow(heading: string): string[][] {
  const section =
    read('docs/exit-codes.md')
      .split(/^## /m)
      .find((part) => part.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The members of a union of texts, as its source lists them. */
function unionMembers(path: string, name: string): string[] {
  const declaration = new RegExp(`type ${name} =([^;]*);`).exec(read(path))?.[1] ?? '';
  return [...declaration.matchAll(/^ *\| '([^']+)'/gm)].map((match) => match[1] ?? '');
}

describe('docs/exit-codes.md', () => {
  it('lists every error code once, in the order of the union', () => {
    const codes = unionMembers('src/core/errors.ts', 'ErrorCode');
    expect(codes).toContain('INTERNAL');
    expect(rowsBelow('Error codes').map(([code]) => code)).toEqual(codes);
  });

  it('gives each code the status that it has', () => {
    for (const [code = '', meaning, advice, run, others] of rowsBelow('Error codes')) {
      expect(meaning, code).not.toBe('');
      expect(advice, code).not.toBe('');
      expect([run, others], code).toEqual([
        String(exitStatusOf(code as ErrorCode, 'run')),
        String(exitStatusOf(code as ErrorCode, 'show')),
      ]);
    }
  });

  it('lists every status of both tables', () => {
    const run = rowsBelow('`agentdiff run`').map(([status]) => status);
    expect(run).toEqual(expect.arrayContaining([...new Set(Object.values(RUN_EXIT))].map(String)));
    const others = rowsBelow('Every other command').map(([status]) => status);
    expect(others).toEqual(Object.values(EXIT).map(String));
  });

  it('lists every reason to leave a path alone once, in the order of the union', () => {
    const codes = unionMembers('src/operations/recover/refusal.ts', 'RefusalCode');
    expect(codes).toContain('changed-since');
    expect(rowsBelow('Why recover leaves').map(([code]) => code)).toEqual(codes);
  });
});
