import {
  type ByteString,
  compareBytes,
  fromBytes,
  isMarked,
  lossyText,
  type Name,
  type RelPath,
  toBytes,
} from './bytes.ts';
import { AgentdiffError } from './errors.ts';

/** The workspace root itself. */
export const ROOT_PATH = '' as RelPath;

const SLASH = 0x2f;

/** Checks that `text` can be one directory entry's name, in its one in-memory form. */
export function isName(text: ByteString): text is Name {
  if (text === '' || text === '.' || text === '..') return false;
  if (isMarked(text)) return fromBytes(toBytes(text)) === text && !/[/\0]/.test(text.slice(1));
  return !/[/\0]/.test(text);
}

/** `parent/name`. */
export function joinPath(parent: RelPath, name: Name): RelPath {
  if (parent === ROOT_PATH) return name as string as RelPath;
  if (!isMarked(parent) && !isMarked(name)) return `${parent}/${name}` as RelPath;
  return fromBytes(Buffer.concat([toBytes(parent), Buffer.from('/'), toBytes(name)])) as RelPath;
}

/** The names of `path`, from the root down; empty for the root. */
export function namesOf(path: RelPath): Name[] {
  if (path === ROOT_PATH) return [];
  if (!isMarked(path)) return path.split('/') as Name[];
  const names: Name[] = [];
  const bytes = toBytes(path);
  for (let start = 0, end = 0; end <= bytes.length; end++) {
    if (end < bytes.length && bytes[end] !== SLASH) continue;
    names.push(fromBytes(bytes.subarray(start, end)) as Name);
    start = end + 1;
  }
  return names;
}

/** The directory that holds `path`, and its last name; undefined for the root. */
export function splitPath(path: RelPath): { parent: RelPath; name: Name } | undefined {
  const names = namesOf(path);
  const name = names.pop();
  if (name === undefined) return undefined;
  return { parent: names.reduce(joinPath, ROOT_PATH), name };
}

/** True when `path` is `ancestor` or lies below it. */
export function isWithin(path: RelPath, ancestor: RelPath): boolean {
  if (ancestor === ROOT_PATH || path === ancestor) return true;
  if (!isMarked(path) && !isMarked(ancestor)) return path.startsWith(`${ancestor}/`);
  const bytes = toBytes(path);
  const prefix = toBytes(ancestor);
  return (
    bytes.length > prefix.length &&
    bytes[prefix.length] === SLASH &&
    bytes.subarray(0, prefix.length).equals(prefix)
  );
}

/** Orders paths as a walk meets them: name by name, each by its bytes, a directory before what it holds. So `a/b` comes before `a-b`. */
export function compareInWalk(a: RelPath, b: RelPath): number {
  if (isMarked(a) || isMarked(b)) return compareNames(namesOf(a), namesOf(b));
  const length = Math.min(a.length, b.length);
  let same = 0;
  while (same < length && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  if (same === length) return a.length - b.length;
  // The end of a name comes before every byte that could go on with it.
  if (a.charCodeAt(same) === SLASH) return -1;
  if (b.charCodeAt(same) === SLASH) return 1;
  return compareBytes(a.slice(same), b.slice(same));
}

function compareNames(a: readonly Name[], b: readonly Name[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareBytes(a[i] ?? '', b[i] ?? '');
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/**
 * Takes a path from outside (a command line, a capsule) as it is: relative, no empty, `.` or `..` component, no NUL.
 * @throws PATH_INVALID
 */
export function parseRelPath(text: ByteString): RelPath {
  const isOneForm = !isMarked(text) || fromBytes(toBytes(text)) === text;
  if (text === '' || !isOneForm || !namesOf(text as RelPath).every(isName)) {
    throw new AgentdiffError(
      'PATH_INVALID',
      `not a plain relative path: ${JSON.stringify(lossyText(text))}`,
      {
        hint: 'paths are relative to the workspace root, without ".", ".." or empty parts',
        data: { path: lossyText(text) },
      },
    );
  }
  return text as RelPath;
}

/** A path in a JSON document: `path` is text for people, `pathBytes` (base64) is there when the bytes are not UTF-8. */
export interface JsonPath {
  path: string;
  pathBytes?: string;
}

/** Any byte string in the form that a document has for paths. */
export function toJsonBytes(text: ByteString): JsonPath {
  return isMarked(text)
    ? { path: lossyText(text), pathBytes: toBytes(text).toString('base64') }
    : { path: text };
}

/** The root is written as `.`. */
export function toJsonPath(path: RelPath): JsonPath {
  return path === ROOT_PATH ? { path: '.' } : toJsonBytes(path);
}

/**
 * The one reading of a path in a JSON document; `toJsonPath` of the answer gives the same document back.
 * @throws PATH_INVALID when it is not a plain relative path, or not in its one canonical form
 */
export function fromJsonPath(json: JsonPath): RelPath {
  if (json.pathBytes === undefined) {
    if (json.path === '.') return ROOT_PATH;
    // A marked form would be a second spelling of what `pathBytes` says.
    if (isMarked(json.path)) throw new AgentdiffError('PATH_INVALID', 'a path holds a NUL');
    return parseRelPath(json.path);
  }
  const bytes = Buffer.from(json.pathBytes, 'base64');
  const path = parseRelPath(fromBytes(bytes));
  const back = toJsonPath(path);
  if (back.pathBytes !== json.pathBytes || back.path !== json.path) {
    throw new AgentdiffError('PATH_INVALID', `path and pathBytes do not agree: ${JSON.stringify(json.path)}`);
  }
  return path;
}
