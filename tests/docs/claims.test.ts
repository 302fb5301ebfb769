import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { documents, project, prose } from './documents.ts';

/** Words that promise more than anything here can hold. */
const PROMISES =
  /\bundo (?:is )?available\b|\brecovery (?:is )?available\b|\bguarantee[sd]?\b|\btamper-?proof\b|\bsecure(?:ly)?\b|\bfully reversible\b|\bcan always be (?:undone|taken back|recovered)\b|\b100 ?%/i;

/** The local runtime is none of this. */
const ISOLATION = /\bsandbox(?:e[sd]|ing)?\b|\bisolat(?:e[sd]?|ion|ing)\b/i;

/** In the same sentence, these turn a promise into the denial of one. */
const NEGATION = /\b(?:not|no|never|nothing|none|cannot|without)\b/i;

function promises(text: string, words = PROMISES): string[] {
  return text
    .split(/(?<=[.:;!?])\s+|\n\n+|\n(?=[-|#*])/)
    .filter((sentence) => words.test(sentence) && !NEGATION.test(sentence));
}

function sourcesBelow(folder: string): { file: string; text: string }[] {
  const names = fs.readdirSync(path.join(project, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const file = path.join(folder, name);
      return { file, text: fs.readFileSync(path.join(project, file), 'utf8') };
    });
}

describe('what is promised', () => {
  it('the check finds promises, and lets denials pass', () => {
    expect(promises('Undo available. This store is secure.')).toHaveLength(2);
    expect(promises('There is no undo available. Nothing here is tamper-proof.')).toEqual([]);
  });

  it('no document promises to take back, or to defend, without limits', () => {
    const found = documents().flatMap(({ path: name, text }) =>
      promises(prose(text)).map((sentence) => ({ name, sentence })),
    );
    expect(found).toEqual([]);
  });

  it('no text of the program does', () => {
    const sources = [...sourcesBelow('src'), ...sourcesBelow('tests/demo')];
    expect(sources.length).toBeGreaterThan(50);
    const found = sources.flatMap(({ file, text }) =>
      text.split('\n').flatMap((line) => (promises(line).length > 0 ? [{ file, line }] : [])),
    );
    expect(found).toEqual([]);
  });

  it('no transcript in the README shows a summary without its limits', () => {
    const readme = fs.readFileSync(path.join(project, 'README.md'), 'utf8');
    const lines = readme.split('\n');
    const summaries = lines.flatMap((line, i) =>
      /recorded changes? can be taken back/.test(line) ? [i] : [],
    );
    expect(summaries.length).toBeGreaterThan(0);
    for (const i of summaries) {
      expect(lines[i]).toContain('while its path is still as the run left it');
      expect(lines.slice(i + 1, i + 3).join('\n')).toMatch(/outside the workspace[^]*not covered/);
    }
  });

  it('"can be taken back" is worded in one place of the program', () => {
    const sources = sourcesBelow('src').filter(
      ({ file, text }) =>
        text.split('\n').some((line) => /can be taken back/.test(line) && !/^\s*(?:\*|\/[/*])/.test(line)) &&
        file !== 'src/capsule/reversibility.ts',
    );
    expect(sources.map(({ file }) => file)).toEqual(['src/cli/program.ts']);
  });

  it('nothing is called isolation', () => {
    const texts = [
      ...documents().map(({ text }) => prose(text)),
      ...sourcesBelow('src').map(({ text }) => text),
    ];
    expect(promises('Commands run isolated. The sandbox holds them.', ISOLATION)).toHaveLength(2);
    expect(texts.flatMap((text) => promises(text, ISOLATION))).toEqual([]);
    expect(fs.readFileSync(path.join(project, 'README.md'), 'utf8')).toContain(
      'local: observed, not contained',
    );
  });

  it('whoever says "intact" says that it is not authentic', () => {
    const renderers = sourcesBelow('src/cli/render').filter(({ text }) =>
      /['"`][^'"`\n]*\bintact\b/i.test(text),
    );
    expect(renderers.map(({ file }) => path.basename(file))).toContain('verify.ts');
    expect(renderers.filter(({ text }) => !text.includes('NOT_AUTHENTIC'))).toEqual([]);
    for (const name of ['README.md', 'SECURITY.md', 'docs/capsule-format.md']) {
      expect(fs.readFileSync(path.join(project, name), 'utf8'), name).toMatch(/not\s+(?:an\s+)?authentic/);
    }
  });

  it('SECURITY.md says of Linux and of macOS what a walk cannot exclude', () => {
    const text = fs.readFileSync(path.join(project, 'SECURITY.md'), 'utf8').replaceAll(/\s+/g, ' ');
    const linux = /\*\*What remains on Linux\.\*\*(.*?) - \*\*/.exec(text)?.[1] ?? '';
    for (const words of ['not a moment', 'not seen', 'in both or in neither', 'mapped'])
      expect(linux).toContain(words);
    const macOS = /\*\*What remains on macOS\*\*(.*?) - /.exec(text)?.[1] ?? '';
    for (const words of ['untested', 'before and after', 'swap back', 'not seen'])
      expect(macOS).toContain(words);
  });

  it('SECURITY.md says how to report, and what must not be in a public report', () => {
    const text = fs.readFileSync(path.join(project, 'SECURITY.md'), 'utf8');
    const section = /## How to report\n([^]*?)\n## /.exec(text)?.[1] ?? '';
    expect(section).toMatch(/privately/);
    expect(section).toMatch(/security advisory/);
    for (const word of ['capsules', 'stores', 'logs', 'transcripts', 'credentials', 'paths']) {
      expect(section).toContain(word);
    }
  });
});
