import {
  AgentdiffError,
  compareBytes,
  fromBytes,
  isDigest,
  isMarked,
  isName,
  type Name,
  toBytes,
} from '../core/index.ts';
import type { EntryKind } from '../fs/index.ts';
import { digestContent } from './stat-state.ts';
import type { Content, State, StatIdentity, UnobservedReason } from './state.ts';

/** One entry of a directory. */
export interface TreeEntry {
  readonly name: Name;
  readonly state: State;
}

const HEADER = 'agentdiff-tree 1\n';

const LETTERS: Readonly<Record<EntryKind, string>> = {
  file: 'f',
  directory: 'd',
  symlink: 'l',
  fifo: 'p',
  socket: 's',
  'character-device': 'c',
  'block-device': 'b',
};
const KINDS: ReadonlyMap<string, EntryKind> = new Map<string, EntryKind>([
  ['f', 'file'],
  ['d', 'directory'],
  ['l', 'symlink'],
  ['p', 'fifo'],
  ['s', 'socket'],
  ['c', 'character-device'],
  ['b', 'block-device'],
]);

const REASONS: ReadonlyMap<string, UnobservedReason> = new Map<string, UnobservedReason>(
  (['unreadable', 'unstable', 'mount', 'store', 'too-deep', 'excluded', 'failed'] as const).map((r) => [
    r,
    r,
  ]),
);

/** Text is turned to bytes in pieces of this many characters, because one string cannot hold a very large directory. */
const PIECE = 1 << 20;

/**
 * The bytes of a tree object: a version line, then, sorted by the bytes of the names and each ended by a NUL,
 * `<kind> <mode> <uid> <gid> <size> <content> <name>`. Mode is octal, the other numbers decimal, without leading zeros.
 * Content is 64 hex digits, `@<identity>`, `?<reason>`, `?<reason>@<identity>`, `<major>:<minor>` or `-`.
 * @param entries in any order, no name twice
 */
export function encodeTree(entries: readonly TreeEntry[]): Buffer {
  const pieces: Buffer[] = [];
  let text = HEADER;
  for (const { name, state } of entries.toSorted((a, b) => compareBytes(a.name, b.name))) {
    const { kind, mode, uid, gid, size, content } = state;
    text += `${LETTERS[kind]} ${mode.toString(8)} ${uid} ${gid} ${size} ${encodeContent(content)} `;
    if (isMarked(name)) {
      pieces.push(Buffer.from(text), toBytes(name));
      text = '\0';
    } else {
      text += `${name}\0`;
    }
    if (text.length < PIECE) continue;
    pieces.push(Buffer.from(text));
    text = '';
  }
  pieces.push(Buffer.from(text));
  return Buffer.concat(pieces);
}

function encodeContent(content: Content): string {
  switch (content.is) {
    case 'digest':
      return content.digest;
    case 'identity':
      return `@${content.identity}`;
    case 'unknown':
      return `?${content.reason}${content.identity === undefined ? '' : `@${content.identity}`}`;
    case 'device':
      return content.number;
    case 'nothing':
      return '-';
  }
}

/**
 * Reads a tree object. Takes only bytes that {@link encodeTree} makes: every tree has one form.
 * @throws OBJECT_DAMAGED
 */
export function decodeTree(bytes: Uint8Array): TreeEntry[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.subarray(0, HEADER.length).equals(Buffer.from(HEADER))) throw damaged('no tree object');
  const entries: TreeEntry[] = [];
  let last: Name | undefined;
  for (let start = HEADER.length; start < buffer.length; ) {
    const end = buffer.indexOf(0, start);
    if (end < 0) throw damaged('the last record has no end');
    const entry = decodeEntry(buffer.subarray(start, end));
    if (last !== undefined && compareBytes(last, entry.name) >= 0) throw damaged('names out of order');
    entries.push(entry);
    last = entry.name;
    start = end + 1;
  }
  if (!encodeTree(entries).equals(buffer)) throw damaged('not in canonical form');
  return entries;
}

const RECORD = /^([fdlpscb]) ([0-7]{1,4}) (\d{1,10}) (\d{1,10}) (\d{1,16}) ([^ ]{1,200}) /;

function decodeEntry(record: Buffer): TreeEntry {
  const fields = RECORD.exec(record.toString('latin1'));
  if (fields === null) throw damaged('malformed record');
  const [head, letter = '', mode = '', uid, gid, size, content = ''] = fields;
  const kind = KINDS.get(letter);
  const name = fromBytes(record.subarray(head.length));
  if (kind === undefined || !isName(name)) throw damaged('malformed record');
  return {
    name,
    state: {
      kind,
      mode: Number.parseInt(mode, 8),
      uid: Number(uid),
      gid: Number(gid),
      size: Number(size),
      content: decodeContent(kind, content),
    },
  };
}

const IDENTITY = /^-?\d{1,20}:-?\d{1,20}:\d{1,20}:-?\d{1,30}:-?\d{1,30}$/;
const UNKNOWN = /^\?([a-z-]+)(?:@(.+))?$/;
const DEVICE = /^\d{1,10}:\d{1,10}$/;

function decodeContent(kind: EntryKind, text: string): Content {
  const content = parseContent(text);
  if (content === undefined || !CONTENT_OF[kind].includes(content.is)) throw damaged('malformed content');
  return content;
}

/** What can be known of the content of each kind. */
const CONTENT_OF: Readonly<Record<EntryKind, readonly Content['is'][]>> = {
  file: ['digest', 'identity', 'unknown'],
  directory: ['digest', 'unknown'],
  symlink: ['digest', 'unknown'],
  fifo: ['nothing', 'unknown'],
  socket: ['nothing', 'unknown'],
  'character-device': ['device', 'unknown'],
  'block-device': ['device', 'unknown'],
};

function parseContent(text: string): Content | undefined {
  if (isDigest(text)) return digestContent(text);
  if (text === '-') return { is: 'nothing' };
  if (DEVICE.test(text)) return { is: 'device', number: text };
  if (text.startsWith('@')) {
    const identity = text.slice(1);
    return isIdentity(identity) ? { is: 'identity', identity } : undefined;
  }
  const [, word = '', identity] = UNKNOWN.exec(text) ?? [];
  const reason = REASONS.get(word);
  if (reason === undefined) return undefined;
  if (identity === undefined) return { is: 'unknown', reason };
  return isIdentity(identity) ? { is: 'unknown', reason, identity } : undefined;
}

function isIdentity(text: string): text is StatIdentity {
  return IDENTITY.test(text);
}

function damaged(what: string): AgentdiffError {
  return new AgentdiffError('OBJECT_DAMAGED', `a tree object is damaged: ${what}`);
}
