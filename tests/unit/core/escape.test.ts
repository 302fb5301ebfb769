import { describe, expect, it } from 'vitest';
import { displayArgv, escapeText, fromBytes } from '../../../src/core/index.ts';

describe('foreign text', () => {
  it('stays on one line and moves nothing', () => {
    expect(escapeText('ok\r\x1b[2K\x1b]0;title\x07a\n\t')).toBe('ok\\r\\x1b[2K\\x1b]0;title\\x07a\\n\\t');
    expect(escapeText('\x7f\x9b')).toBe('\\x7f\\u{9b}');
    expect(escapeText('a\u202egpj.exe\u2028\u200b\ufeff')).toBe(
      'a\\u{202e}gpj.exe\\u{2028}\\u{200b}\\u{feff}',
    );
  });

  it('cannot pretend to be escaped already', () => {
    expect(escapeText('a\\nb')).toBe('a\\\\nb');
    expect(escapeText('a\\nb')).not.toBe(escapeText('a\nb'));
  });

  it('shows bytes that are not UTF-8 one by one', () => {
    expect(escapeText(fromBytes(Buffer.from([0x61, 0xff, 0x0a])))).toBe('a\\xff\\n');
  });

  it('leaves ordinary text alone', () => {
    expect(escapeText('übung — 日本語 🙂.txt')).toBe('übung — 日本語 🙂.txt');
  });
});

describe('a command', () => {
  it('can be read and pasted', () => {
    expect(displayArgv(['rm', '-rf', '--', 'a b', "it's", '', '$HOME'])).toBe(
      "rm -rf -- 'a b' 'it'\\''s' '' '$HOME'",
    );
  });

  it('shows control characters instead of using them', () => {
    expect(displayArgv(['printf', 'a\x1b[2K'])).toBe("printf $'a\\x1b[2K'");
  });
});
