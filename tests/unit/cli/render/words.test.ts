import { describe, expect, it } from 'vitest';
import { PLAIN, styleFor } from '../../../../src/cli/render/style.ts';
import {
  count,
  cut,
  escapeControls,
  showBytes,
  showDuration,
  showExit,
  showNumber,
  showPath,
  table,
} from '../../../../src/cli/render/words.ts';
import { fromBytes, type RelPath } from '../../../../src/core/index.ts';

describe('words', () => {
  it('make a blank at the end of a name visible', () => {
    expect(['a ', 'a', ' a b'].map((name) => showPath(name as RelPath))).toEqual(['a\\x20', 'a', ' a b']);
    expect(showPath('d ' as RelPath, 'directory')).toBe('d\\x20/');
  });

  it('show numbers, sizes and durations', () => {
    expect([0, 999, 1000, 40231, 1234567].map(showNumber)).toEqual([
      '0',
      '999',
      '1,000',
      '40,231',
      '1,234,567',
    ]);
    expect([0, 1023, 1024, 1536, 200 * 1024, 2 ** 30].map(showBytes)).toEqual([
      '0 B',
      '1023 B',
      '1.0 KiB',
      '1.5 KiB',
      '200 KiB',
      '1.0 GiB',
    ]);
    expect([3.4, 999, 1234, 61_000, 3_700_000].map(showDuration)).toEqual([
      '3 ms',
      '999 ms',
      '1.2 s',
      '1 min 1 s',
      '1 h 1 min',
    ]);
    expect([count(1, 'entry', 'entries'), count(2000, 'file')]).toEqual(['1 entry', '2,000 files']);
  });

  it('tell how a command ended', () => {
    expect(showExit({ started: true, code: 3 })).toBe('exit 3');
    expect(showExit({ started: true, signal: 'SIGKILL' })).toBe('killed by SIGKILL');
    expect(showExit({ started: false, errno: 'ENOENT' })).toBe('not started (ENOENT)');
    expect(showExit({ started: false })).toBe('not started');
  });

  it('show a path on one line, byte for byte', () => {
    expect(showPath('' as RelPath)).toBe('./');
    expect(showPath('a\nb\\' as RelPath, 'directory')).toBe('a\\nb\\\\/');
    expect(showPath(fromBytes(Buffer.from([0x61, 0xff])) as RelPath)).toBe('a\\xff');
  });

  it('cut between characters, never inside one', () => {
    expect(cut('abc', 3)).toBe('abc');
    expect(cut('a\u{1f600}cd', 3)).toBe('a\u{1f600}…');
  });

  it('leave text that is escaped already as it is', () => {
    expect(escapeControls('a\\nb \u001b[2K')).toBe('a\\nb \\x1b[2K');
    expect(escapeControls(escapeControls('\u009b\u202e\n'))).toBe(escapeControls('\u009b\u202e\n'));
  });

  it('align columns and pad no last one', () => {
    expect(
      table([
        ['a', 'b', ''],
        ['long', 'c', 'd'],
      ]),
    ).toEqual(['a     b', 'long  c  d']);
  });

  it('colour only when asked to', () => {
    expect(PLAIN.bad('x')).toBe('x');
    expect(styleFor(true).bad('x')).toBe('\u001b[31mx\u001b[0m');
    expect(styleFor(true).bad('')).toBe('');
  });
});
