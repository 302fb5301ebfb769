import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { project } from './documents.ts';

interface Row {
  readonly id: string;
  readonly promise: string;
  readonly held: string;
}

interface NamedTest {
  readonly id: string;
  readonly file: string;
  readonly title: string;
}

const text = fs.readFileSync(path.join(project, 'docs/acceptance.md'), 'utf8');
const rows: Row[] = [...text.matchAll(/^\| ([A-Z]\d+) \| (.+?) \| (.*) \|$/gm)].map(
  ([, id = '', promise = '', held = '']) => ({ id, promise, held }),
);

function namedTests({ id, held }: Row): NamedTest[] {
  return held.split('<br>').flatMap((part) => {
    const match = /^`(tests\/[^`]+)` (.+)$/.exec(part);
    return match === null ? [] : [{ id, file: match[1] ?? '', title: match[2] ?? '' }];
  });
}

/** As the title stands in the source, parts in braces and `%s` included; a skipped test is none. */
function exists({ file, title }: NamedTest): boolean {
  const source = fs.readFileSync(path.join(project, file), 'utf8').replaceAll(/\\(['"`])/g, '$1');
  return ["'", '"', '`'].some((quote) => {
    const at = source.search(new RegExp(`\\(\\s*${escape(quote + title + quote)}`));
    return at >= 0 && !/\.(?:skip|todo)$/.test(source.slice(0, at));
  });
}

function escape(literal: string): string {
  return literal.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

const NO_TEST = /^not (?:covered|built) yet\b/;

describe('docs/acceptance.md', () => {
  it('has every requirement once, in order', () => {
    const groups: [string, number][] = [
      ['A', 18],
      ['B', 7],
      ['C', 6],
      ['D', 5],
      ['E', 16],
    ];
    const wanted = groups.flatMap(([letter, count]) =>
      Array.from({ length: count }, (_, i) => `${letter}${i + 1}`),
    );
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id) => !id.startsWith('R'))).toEqual(wanted);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('every row of its tables was read', () => {
    const lines = text.split('\n').filter((line) => line.startsWith('| ') && !/^\| (?:id|---) \|/.test(line));
    expect(rows).toHaveLength(lines.length);
  });

  it('every test that is named exists', () => {
    const tests = rows.flatMap(namedTests);
    expect(tests.length).toBeGreaterThan(60);
    const missing = tests.filter((named) => !fs.existsSync(path.join(project, named.file)) || !exists(named));
    expect(missing).toEqual([]);
  });

  it('a row without a test says so, and every part of a row is a test or says so', () => {
    const unclear = rows.filter((row) =>
      row.held.split('<br>').some((part) => !NO_TEST.test(part) && !/^`tests\/[^`]+` ./.test(part)),
    );
    expect(unclear).toEqual([]);
  });

  it('the check finds a test that is not there', () => {
    const file = 'tests/docs/acceptance.test.ts';
    expect(exists({ id: 'x', file, title: 'every test that is named exists' })).toBe(true);
    expect(exists({ id: 'x', file, title: 'every test that is' })).toBe(false);
  });
});
