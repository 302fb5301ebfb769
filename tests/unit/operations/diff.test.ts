import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseRelPath } from '../../../src/core/index.ts';
import { type DiffItem, diffRun } from '../../../src/operations/diff.ts';
import { observed, type Setting, setting } from '../../support/context.ts';

function items(here: Setting, paths: readonly string[] = []): DiffItem[] {
  return [...diffRun(here.context, here.place, 'last', paths.map(parseRelPath))];
}

/** What a run that turns one content into another is shown as. */
function bodyOf(
  before: string | Buffer | undefined,
  after: string | Buffer | undefined,
): DiffItem['body'] | undefined {
  const here = setting();
  if (before !== undefined) fs.writeFileSync(here.at('f'), before);
  observed(here, () =>
    after === undefined ? fs.rmSync(here.at('f')) : fs.writeFileSync(here.at('f'), after),
  );
  return items(here)[0]?.body;
}

const text = (...lines: string[]): DiffItem['body'] => ({
  is: 'text',
  patch: lines.map((line) => `${line}\n`).join(''),
});

describe('the difference of two texts', () => {
  it('is unified, with three lines around it', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`);
    expect(bodyOf(lines.join(''), lines.join('').replace('line 10\n', 'other\n'))).toEqual(
      text(
        '@@ -7,7 +7,7 @@',
        ' line 7',
        ' line 8',
        ' line 9',
        '-line 10',
        '+other',
        ' line 11',
        ' line 12',
        ' line 13',
      ),
    );
  });

  it('has one hunk for each place', () => {
    const lines = Array.from({ length: 30 }, (_, i) => `${i + 1}\n`);
    const body = bodyOf(lines.join(''), lines.join('').replace('2\n', 'two\n').replace('29\n', ''));
    expect(body).toMatchObject({
      is: 'text',
      patch: expect.stringMatching(/^@@ -1,5 \+1,5 @@\n[^@]*@@ -26,5 \+26,4 @@\n[^@]*$/) as string,
    });
  });

  it('is all of it for a file that came or went', () => {
    expect(bodyOf(undefined, 'a\nb\n')).toEqual(text('@@ -0,0 +1,2 @@', '+a', '+b'));
    expect(bodyOf('a\nb\n', undefined)).toEqual(text('@@ -1,2 +0,0 @@', '-a', '-b'));
    expect(bodyOf('a\n', '')).toEqual(text('@@ -1,1 +0,0 @@', '-a'));
  });

  it('is empty for an empty file that came or went', () => {
    expect(bodyOf(undefined, '')).toEqual(text());
    expect(bodyOf('', undefined)).toEqual(text());
  });

  it('says where a newline is missing at the end', () => {
    const missing = '\\ No newline at end of file';
    expect(bodyOf('a\nb\n', 'a\nb')).toEqual(text('@@ -1,2 +1,2 @@', ' a', '-b', '+b', missing));
    expect(bodyOf('a', 'b')).toEqual(text('@@ -1,1 +1,1 @@', '-a', missing, '+b', missing));
  });

  it('keeps carriage returns, so that a change of line ends is seen', () => {
    expect(bodyOf('a\r\nb\r\n', 'a\nb\r\n')).toEqual(text('@@ -1,2 +1,2 @@', '-a\r', '+a', ' b\r'));
  });

  it('can be applied by patch(1) in spirit: lines that look like headers stay lines', () => {
    expect(bodyOf('--- a\n+++ b\n', '--- a\n@@ -1 +1 @@\n')).toEqual(
      text('@@ -1,2 +1,2 @@', ' --- a', '-+++ b', '+@@ -1 +1 @@'),
    );
  });
});

describe('what is no text', () => {
  it('is named as binary: a NUL, or bytes that are not UTF-8', () => {
    expect(bodyOf('a', Buffer.from('a\0b'))).toEqual({ is: 'binary' });
    expect(bodyOf(Buffer.from([0xff, 0xfe]), 'a')).toEqual({ is: 'binary' });
    expect(bodyOf(undefined, Buffer.from([0x80]))).toEqual({ is: 'binary' });
  });

  it('is named as too large over 4 MiB', () => {
    const large = Buffer.alloc((4 << 20) + 1, 'line\n');
    expect(bodyOf('small', large)).toEqual({ is: 'unavailable', why: 'too-large' });
    expect(bodyOf(large, undefined)).toEqual({ is: 'unavailable', why: 'too-large' });
  });

  it('is named as not kept where only a digest or the metadata is known', () => {
    const here = setting();
    for (const name of ['hashed', 'seen']) fs.writeFileSync(here.at(name), 'one');
    observed(
      here,
      () => {
        for (const name of ['hashed', 'seen']) fs.writeFileSync(here.at(name), 'three');
      },
      {
        capture: [
          { glob: 'hashed', level: 'digest' },
          { glob: 'seen', level: 'stat' },
        ],
      },
    );
    expect(items(here).map(({ path: at, body }) => [at, body])).toEqual([
      ['hashed', { is: 'unavailable', why: 'not-kept' }],
      ['seen', { is: 'unavailable', why: 'not-kept' }],
    ]);
  });

  it('is named as damaged where the store is', () => {
    const here = setting();
    fs.writeFileSync(here.at('f'), 'a content that is found again');
    observed(here, () => fs.writeFileSync(here.at('f'), 'other'));
    for (const name of fs.readdirSync(here.store, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.pack')) continue;
      const file = path.join(here.store, name);
      const bytes = fs.readFileSync(file, 'latin1').replace('a content that', 'A CONTENT that');
      fs.chmodSync(file, 0o600);
      fs.writeFileSync(file, bytes, 'latin1');
    }
    expect(items(here).map(({ body }) => body)).toEqual([{ is: 'unavailable', why: 'damaged' }]);
  });
});

describe('other entries', () => {
  it('shows the targets of links, byte for byte, and a file that became one', () => {
    const here = setting();
    fs.symlinkSync('old', here.at('moved'));
    fs.symlinkSync('gone', here.at('removed'));
    fs.writeFileSync(here.at('was-file'), 'x');
    observed(here, () => {
      for (const name of ['moved', 'removed', 'was-file']) fs.rmSync(here.at(name));
      fs.symlinkSync(Buffer.from([0xff]), here.at('moved'));
      fs.symlinkSync('to', here.at('was-file'));
      fs.symlinkSync('new', here.at('made'));
    });
    expect(items(here).map(({ path: at, body }) => [at, body])).toEqual([
      ['made', { is: 'symlink', after: 'new' }],
      ['moved', { is: 'symlink', before: 'old', after: expect.stringContaining('\u00ff') as string }],
      ['removed', { is: 'symlink', before: 'gone' }],
      ['was-file', { is: 'symlink', after: 'to' }],
    ]);
  });

  it('says no more than that of modes, directories and the like', () => {
    const here = setting();
    fs.writeFileSync(here.at('mode'), 'x');
    fs.mkdirSync(here.at('dir'));
    observed(here, () => {
      fs.chmodSync(here.at('mode'), 0o600);
      fs.rmdirSync(here.at('dir'));
    });
    expect(items(here).map(({ body }) => body)).toEqual([{ is: 'metadata' }, { is: 'metadata' }]);
  });
});

describe('the selected paths', () => {
  it('are shown with what is below them, and must have changed', () => {
    const here = setting();
    observed(here, () => {
      for (const name of ['a/x', 'a/y', 'ab', 'c']) {
        fs.mkdirSync(path.dirname(here.at(name)), { recursive: true });
        fs.writeFileSync(here.at(name), '');
      }
    });
    const paths = (selected: readonly string[]): string[] => items(here, selected).map(({ path: at }) => at);
    expect(paths(['a'])).toEqual(['a', 'a/x', 'a/y']);
    expect(paths(['c', 'a/y'])).toEqual(['a/y', 'c']);
    expect(() => paths(['a', 'd'])).toThrowError(
      expect.objectContaining({ code: 'PATH_NOT_IN_RUN' }) as Error,
    );
  });
});

it('computes a difference when it is asked for, and closes what it opened when nobody asks any more', () => {
  const here = setting();
  observed(here, () => {
    for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), name);
  });
  const open = (): number => fs.readdirSync('/proc/self/fd').length;
  const before = open();
  for (const { path: at } of diffRun(here.context, here.place, 'last', [])) {
    expect(at).toBe('a');
    break;
  }
  expect(open()).toBe(before);
});
