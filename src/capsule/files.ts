/** The files of a capsule as files: there, of the right kind and size, and with the bytes that the manifest names. */
import { AgentdiffError, type ByteString, type Digest, errnoOf, Hasher, type Name } from '../core/index.ts';
import { type Dir, FileMoved, isUnmoved, openSeen, readFile, type Stat } from '../fs/index.ts';
import {
  CAPSULE_MEMBERS,
  LISTED_MEMBERS,
  MANIFEST,
  MAX_BYTES,
  MAX_LINE_BYTES,
  type MemberName,
} from './format.ts';
import { type Digests, parseManifest } from './manifest.ts';

/** What can be wrong with one file of a capsule; `docs/capsule-format.md` explains each. */
export type FileProblemWord =
  | 'missing'
  | 'extra'
  | 'not-a-file'
  | 'unreadable'
  | 'too-large'
  | 'cut-short'
  | 'changed'
  | 'nothing-listed'
  | 'malformed'
  | 'not-listed';

export interface FileProblem {
  /** The member's name as it stands in the directory; foreign text when the problem is `extra`. */
  readonly member: ByteString;
  readonly problem: FileProblemWord;
}

/** Extra files beyond this many are not named one by one. */
const MAX_EXTRA = 1000;

const NEWLINE = 0x0a;

/** Compares the directory with the manifest; one problem a member, in the order of the format, extra files last. */
export function checkFiles(dir: Dir): FileProblem[] {
  const manifest = readManifest(dir);
  const digests: Digests = isProblem(manifest) ? new Map() : manifest.digests;
  const problems: FileProblem[] = isProblem(manifest) ? [{ member: MANIFEST, problem: manifest }] : [];
  for (const member of LISTED_MEMBERS) {
    const problem = checkMember(dir, member, digests.get(member), isProblem(manifest));
    if (problem !== undefined) problems.push({ member, problem });
  }
  return [...problems, ...extraFiles(dir)];
}

function checkMember(
  dir: Dir,
  member: MemberName,
  expected: Digest | undefined,
  isManifestUseless: boolean,
): FileProblemWord | undefined {
  const seen = lookAt(dir, member);
  if (isProblem(seen)) return seen;
  if (isManifestUseless) return undefined;
  if (expected === undefined) return 'not-listed';
  const hashed = hashMember(dir, member, seen);
  if (isProblem(hashed)) return hashed;
  if (hashed.digest === expected) return undefined;
  return hashed.isCutShort ? 'cut-short' : 'changed';
}

function extraFiles(dir: Dir): FileProblem[] {
  const known: readonly string[] = CAPSULE_MEMBERS;
  const extra = dir.names().filter((name) => !known.includes(name));
  return extra.slice(0, MAX_EXTRA).map((member) => ({ member, problem: 'extra' }));
}

/** The manifest and its own digest, or what is wrong with it. */
export function readManifest(dir: Dir): { digests: Digests; digest: Digest } | FileProblemWord {
  const bytes = readMember(dir, MANIFEST);
  if (isProblem(bytes)) return bytes;
  const hasher = new Hasher();
  hasher.update(bytes);
  const digests = parseManifest(bytes.toString('latin1'));
  return isProblem(digests) ? digests : { digests, digest: hasher.digest() };
}

/** A member that is there, a regular file and not too large, or what is wrong with it. Never opens it. */
function lookAt(dir: Dir, member: MemberName): Stat | FileProblemWord {
  return attempt(() => {
    const seen = dir.tryLstat(memberName(member));
    if (seen === undefined) return 'missing';
    if (seen.kind !== 'file') return 'not-a-file';
    return seen.size > MAX_BYTES[member] ? 'too-large' : seen;
  });
}

/** A whole small member. */
export function readMember(dir: Dir, member: MemberName): Buffer | FileProblemWord {
  const seen = lookAt(dir, member);
  if (isProblem(seen)) return seen;
  return attempt(() => {
    const pieces: Buffer[] = [];
    readFile(dir, memberName(member), seen, (piece) => pieces.push(Buffer.from(piece)));
    return Buffer.concat(pieces);
  });
}

/** An honest document ends with a newline, so one that does not, or is empty, has lost its end. */
export function isCutShort(lastByte: number | undefined): boolean {
  return lastByte !== NEWLINE;
}

function hashMember(
  dir: Dir,
  member: MemberName,
  seen: Stat,
): { digest: Digest; isCutShort: boolean } | FileProblemWord {
  return attempt(() => {
    const hasher = new Hasher();
    let last: number | undefined;
    readFile(dir, memberName(member), seen, (piece) => {
      hasher.update(piece);
      last = piece.at(-1);
    });
    return { digest: hasher.digest(), isCutShort: isCutShort(last) };
  });
}

/** A line without its newline; `isWhole` is false for a last line that has none. */
interface Line {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

/**
 * The lines of a member, each as `read` makes it, in flat memory. The file is closed when the caller stops, at the end or before.
 * @returns after the last line: the digest of all bytes, or what went wrong; a line over the limit ends it with `too-large`
 */
export function* readLines<T>(
  dir: Dir,
  member: MemberName,
  read: (line: Line) => T,
): Generator<T, { digest: Digest } | FileProblemWord> {
  const seen = lookAt(dir, member);
  if (isProblem(seen)) return seen;
  const file = attempt(() => openSeen(dir, memberName(member), seen));
  if (isProblem(file)) return file;
  try {
    const hasher = new Hasher();
    const buffer = Buffer.alloc(Math.min(MAX_LINE_BYTES, Math.max(seen.size, 1)));
    let rest = Buffer.alloc(0);
    for (let position = 0; position < seen.size; ) {
      const wanted = buffer.subarray(0, Math.min(buffer.length, seen.size - position));
      const offset = position;
      const length = attempt(() => file.read(wanted, offset));
      if (isProblem(length)) return length;
      if (length === 0) return 'changed';
      const piece = Buffer.concat([rest, wanted.subarray(0, length)]);
      hasher.update(wanted.subarray(0, length));
      position += length;
      let start = 0;
      for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
        if (end - start > MAX_LINE_BYTES) return 'too-large';
        yield read({ bytes: piece.subarray(start, end), isWhole: true });
        start = end + 1;
      }
      rest = piece.subarray(start);
      if (rest.length > MAX_LINE_BYTES) return 'too-large';
    }
    if (rest.length > 0) yield read({ bytes: rest, isWhole: false });
    if (!isUnmoved(file.stat(), seen)) return 'changed';
    return { digest: hasher.digest() };
  } finally {
    file.close();
  }
}

/** Runs a reading action; the system's refusals become words. */
function attempt<T>(action: () => T): T | FileProblemWord {
  try {
    return action();
  } catch (error) {
    if (error instanceof FileMoved) return 'changed';
    if (error instanceof AgentdiffError || errnoOf(error) === undefined) throw error;
    return errnoOf(error) === 'ENOENT' ? 'missing' : 'unreadable';
  }
}

export function isProblem<T>(answer: T): answer is Extract<T, string> {
  return typeof answer === 'string';
}

/** The names of the members are fixed and plain. */
function memberName(member: MemberName): Name {
  return member as string as Name;
}
