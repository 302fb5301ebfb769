import { describe, expect, it } from 'vitest';
import {
  fromBytes,
  fromJsonPath,
  isName,
  isWithin,
  joinPath,
  type Name,
  namesOf,
  parseRelPath,
  type RelPath,
  ROOT_PATH,
  splitPath,
  toJsonPath,
} from '../../../src/core/index.ts';

const BYTES = fromBytes(Buffer.from([0x61, 0xff])) as Name;
const path = (text: string): RelPath => parseRelPath(text);
const refused = expect.objectContaining({ code: 'PATH_INVALID' });

describe('a path from outside', () => {
  it.each([
    '',
    '.',
    '..',
    '/a',
    'a/',
    'a//b',
    'a/./b',
    'a/../b',
    '../a',
    '/',
    'a\0b',
    '\0',
    '\0a',
    '\0a/../b',
    '\0\xff/..',
    '\0\xff\0',
  ])('is refused: %j', (text) => {
    expect(() => parseRelPath(text)).toThrow(refused);
  });

  it.each(['a', '-rf', '--', '__proto__', '...', '..a', 'a b', 'a\nb', '\ufeff', BYTES])(
    'is taken as it is: %j',
    (text) => {
      expect(parseRelPath(text)).toBe(text);
    },
  );
});

describe('names', () => {
  it('have one form each', () => {
    expect(isName('a')).toBe(true);
    expect(isName(BYTES)).toBe(true);
    // The marked form of bytes that are UTF-8, of nothing, and of characters that are no bytes.
    for (const text of ['\0a', '\0', '\0\u0100', '\0\xff/', '\0\xff\0']) expect(isName(text)).toBe(false);
  });

  it('join and split, whatever their bytes', () => {
    const joined = joinPath(joinPath(path('d'), BYTES), 'e' as Name);
    expect(namesOf(joined)).toEqual(['d', BYTES, 'e']);
    expect(splitPath(joined)).toEqual({ parent: joinPath(path('d'), BYTES), name: 'e' });
    expect(splitPath(ROOT_PATH)).toBeUndefined();
  });

  it('are within a directory only by whole names', () => {
    expect(isWithin(path('a/b'), path('a'))).toBe(true);
    expect(isWithin(path('ab'), path('a'))).toBe(false);
    expect(isWithin(path('a'), path('a/b'))).toBe(false);
    expect(isWithin(joinPath(path('a'), BYTES), path('a'))).toBe(true);
    expect(isWithin(joinPath(joinPath(ROOT_PATH, BYTES), 'x' as Name), joinPath(ROOT_PATH, BYTES))).toBe(
      true,
    );
    expect(isWithin(path('x'), ROOT_PATH)).toBe(true);
  });
});

describe('a path in a document', () => {
  it.each([ROOT_PATH, path('a/b'), path('__proto__'), joinPath(path('d'), BYTES)])(
    'comes back: %j',
    (value) => {
      expect(fromJsonPath(toJsonPath(value))).toBe(value);
    },
  );

  it('is text for people and base64 for the bytes', () => {
    expect(toJsonPath(joinPath(ROOT_PATH, BYTES))).toEqual({ path: 'a\ufffd', pathBytes: 'Yf8=' });
  });

  it.each([
    { path: '\0\xff' },
    { path: '\0a' },
    { path: 'a', pathBytes: 'YQ==' },
    { path: 'b\ufffd', pathBytes: 'Yf8=' },
    { path: 'a\ufffd', pathBytes: 'Yf8' },
    { path: 'a\ufffd', pathBytes: 'Yf8= ' },
    { path: '.', pathBytes: '' },
    { path: '\ufffd/..', pathBytes: Buffer.from([0xff, 0x2f, 0x2e, 0x2e]).toString('base64') },
  ])('has one spelling only: %j', (document) => {
    expect(() => fromJsonPath(document)).toThrow(refused);
  });
});
