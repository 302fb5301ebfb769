import { describe, expect, it } from 'vitest';
import { compareBytes, fromBytes, isMarked, lossyText, toBytes } from '../../../src/core/index.ts';

describe('byte strings', () => {
  it('are the text itself when the bytes are UTF-8, byte order mark included', () => {
    expect(fromBytes(Buffer.from('\ufeffä\n'))).toBe('\ufeffä\n');
  });

  it('are marked, and reversible, when they are not', () => {
    for (const bytes of [[0xff], [0xc3], [0x61, 0xfe, 0x62], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
      const text = fromBytes(Buffer.from(bytes));
      expect(isMarked(text)).toBe(true);
      expect([...toBytes(text)]).toEqual(bytes);
    }
  });

  it('keep names apart that differ only in bytes that are not UTF-8', () => {
    expect(fromBytes(Buffer.from([0xfe]))).not.toBe(fromBytes(Buffer.from([0xff])));
    expect(lossyText(fromBytes(Buffer.from([0xfe])))).toBe('\ufffd');
  });

  it('a true U+FFFD is a text like any other', () => {
    expect(fromBytes(Buffer.from('\ufffd'))).toBe('\ufffd');
  });

  it('order as memcmp does, where UTF-16 would not', () => {
    // U+10000 is a surrogate pair in UTF-16, which a plain comparison puts before U+E000.
    expect(compareBytes('\u{10000}', '\ue000')).toBeGreaterThan(0);
    expect(['\ue000', '\u{10000}'].sort()).toEqual(['\u{10000}', '\ue000']);
    expect(['\ue000', '\u{10000}'].sort(compareBytes)).toEqual(['\ue000', '\u{10000}']);
    expect(compareBytes('a', 'ab')).toBeLessThan(0);
    expect(compareBytes('b', fromBytes(Buffer.from([0x61, 0xff])))).toBeGreaterThan(0);
  });
});
