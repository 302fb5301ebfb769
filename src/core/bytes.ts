/**
 * File names are bytes. In memory a byte string is a JavaScript string: the text itself when the bytes are valid UTF-8,
 * else {@link MARK} followed by one character (0-255) a byte. NUL occurs in no name, so the two forms never meet, every
 * byte string has exactly one form, and forms can be compared with `===` and used as Map keys.
 */
const MARK = '\0';

/** One directory entry's name. Never empty, `.`, `..`, and without `/` or NUL. */
export type Name = string & { readonly __name: unique symbol };

/** Names joined by `/`, relative to the workspace root; the empty string is the root itself. */
export type RelPath = string & { readonly __relPath: unique symbol };

/** Bytes of a symlink target or of a path, in the in-memory form described above. */
export type ByteString = string;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The in-memory form of `bytes`. */
export function fromBytes(bytes: Uint8Array): ByteString {
  try {
    return decoder.decode(bytes);
  } catch {
    return MARK + Buffer.from(bytes).toString('latin1');
  }
}

/** The bytes behind an in-memory form. */
export function toBytes(text: ByteString): Buffer {
  return isMarked(text) ? Buffer.from(text.slice(1), 'latin1') : Buffer.from(text, 'utf8');
}

/** True when the bytes are not valid UTF-8. */
export function isMarked(text: ByteString): boolean {
  return text.charCodeAt(0) === 0;
}

/** Orders byte strings by their bytes, as `memcmp` does. */
export function compareBytes(a: ByteString, b: ByteString): number {
  if (isMarked(a) || isMarked(b)) return Buffer.compare(toBytes(a), toBytes(b));
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** UTF-16 puts surrogates (code points above 0xFFFF) before 0xE000-0xFFFF; UTF-8 puts them after. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/** The bytes of `text` for a person or a document that must be text; not reversible for marked forms. */
export function lossyText(text: ByteString): string {
  return isMarked(text) ? toBytes(text).toString('utf8') : text;
}
