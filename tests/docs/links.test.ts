import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Document, documents, project, prose } from './documents.ts';

interface Link {
  readonly from: string;
  readonly target: string;
}

function relativeLinks({ path: from, text }: Document): Link[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => ({ from, target: match[1] ?? '' }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

/** As a Git host makes an anchor of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

function resolves({ from, target }: Link): boolean {
  const [file = '', anchor] = target.split('#');
  const place = file === '' ? path.join(project, from) : path.resolve(project, path.dirname(from), file);
  if (!fs.existsSync(place)) return false;
  if (anchor === undefined) return true;
  const headings = [...fs.readFileSync(place, 'utf8').matchAll(/^#+ (.*)$/gm)];
  return headings.some((heading) => anchorOf(heading[1] ?? '') === anchor);
}

describe('links in documents', () => {
  it('every relative link leads to a file, and to a heading where it names one', () => {
    const links = documents().flatMap(relativeLinks);
    expect(links.length).toBeGreaterThan(30);
    expect(links.filter((link) => !resolves(link))).toEqual([]);
  });

  it('the map of the documents names every document', () => {
    const named = new Set(
      documents()
        .filter(({ path: name }) => name === 'docs/README.md')
        .flatMap(relativeLinks)
        .map(({ target }) => path.join('docs', target)),
    );
    const others = documents().filter(
      ({ path: name }) => name.startsWith('docs/') && name !== 'docs/README.md',
    );
    expect(others.filter(({ path: name }) => !named.has(name)).map(({ path: name }) => name)).toEqual([]);
  });
});
