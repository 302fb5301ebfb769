import { type ByteString, isMarked } from './bytes.ts';

/**
 * Characters that can move a cursor, start a control sequence, forge a line, reorder or hide text: C0, DEL, C1, lone
 * surrogates, line and paragraph separators, bidirectional controls, zero-width and tag characters, the byte order mark.
 */
const UNSAFE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff]|[\u{e0000}-\u{e0fff}]|\\/gu;

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\\', '\\\\'],
]);

/**
 * Foreign text (a name, a link target, an argument, a system message) on one line, for a terminal, a log or a page.
 * A backslash is doubled, so the reader can tell an escape of ours from the text's own. Bytes that are not UTF-8 become `\xff`.
 */
export function escapeText(text: ByteString): string {
  if (!isMarked(text)) return text.replace(UNSAFE, escapeCharacter);
  return text.slice(1).replace(/[^\x20-\x5b\x5d-\x7e]/g, (byte) => SHORT.get(byte) ?? hexByte(byte));
}

function escapeCharacter(character: string): string {
  const short = SHORT.get(character);
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  return code <= 0x7f ? hexByte(character) : `\\u{${code.toString(16)}}`;
}

function hexByte(byte: string): string {
  return `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** A command as a person can read and paste it: plain words as they are, others single-quoted, controls escaped. */
export function displayArgv(argv: readonly string[]): string {
  return argv.map(displayArgument).join(' ');
}

function displayArgument(argument: string): string {
  const escaped = escapeText(argument);
  if (escaped !== argument) return `$'${escaped.replaceAll("'", "\\'")}'`;
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}
