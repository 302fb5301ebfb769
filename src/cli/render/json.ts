import {
  type ByteString,
  isMarked,
  type JsonPath,
  lossyText,
  type RelPath,
  toBytes,
  toJsonPath,
} from '../../core/index.ts';

/**
 * One JSON document on one line. Everything beyond printable ASCII is written as `\uXXXX`: the value is the same, and no control
 * character, C1 and bidirectional ones included, reaches a terminal or a log.
 */
export function jsonLine(value: unknown): string {
  return `${asciiJson(JSON.stringify(value))}\n`;
}

/** Escapes what JSON lets stand raw; only inside strings can such characters occur. */
export function asciiJson(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** An object whose `path` (and `pathBytes`) stand for the in-memory path. */
export function withJsonPath<T extends { readonly path: RelPath }>(item: T): Omit<T, 'path'> & JsonPath {
  const { path, ...rest } = item;
  return { ...rest, ...toJsonPath(path) };
}

/** Any byte string in the form that paths have: text, and the bytes where they are not UTF-8. */
export function jsonBytes(text: ByteString): JsonPath {
  return isMarked(text)
    ? { path: lossyText(text), pathBytes: toBytes(text).toString('base64') }
    : { path: text };
}
