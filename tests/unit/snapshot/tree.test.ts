import { describe, expect, it } from 'vitest';
import { digestOf, fromBytes, type Name } from '../../../src/core/index.ts';
import {
  decodeTree,
  encodeTree,
  type State,
  type StatIdentity,
  type TreeEntry,
} from '../../../src/snapshot/index.ts';

const HEADER = 'agentdiff-tree 1\n';
const DIGEST = digestOf('x');
const IDENTITY = '1:2:3:-4:5' as StatIdentity;

function entry(name: string, state: Partial<State>): TreeEntry {
  const base: State = {
    kind: 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: 1,
    content: { is: 'digest', digest: DIGEST },
  };
  return { name: name as Name, state: { ...base, ...state } };
}

function rejects(text: string | Buffer): void {
  expect(() => decodeTree(Buffer.from(text as string))).toThrowError(
    expect.objectContaining({ code: 'OBJECT_DAMAGED' }),
  );
}

describe('encodeTree', () => {
  it('has exactly the documented bytes', () => {
    const bytes = encodeTree([
      entry('b\n', { kind: 'directory', mode: 0o1777, size: 0, uid: 7, gid: 8 }),
      entry('a b', { content: { is: 'identity', identity: IDENTITY } }),
    ]);
    expect(bytes.toString()).toBe(`${HEADER}f 644 0 0 1 @${IDENTITY} a b\0d 1777 7 8 0 ${DIGEST} b\n\0`);
  });

  it('is the version line alone for an empty directory', () => {
    expect(encodeTree([]).toString()).toBe(HEADER);
    expect(decodeTree(encodeTree([]))).toEqual([]);
  });

  it('sorts by the bytes of the names, those that are not UTF-8 included', () => {
    const names = [
      '\u{1f600}',
      '\uff5e',
      'a',
      'B',
      fromBytes(Buffer.from([0xff])),
      fromBytes(Buffer.from([0x61, 0x80])),
    ];
    const sorted = names.map((name) => Buffer.from(fromName(name))).sort(Buffer.compare);
    const decoded = decodeTree(encodeTree(names.map((name) => entry(name, {}))));
    expect(decoded.map(({ name }) => fromName(name))).toEqual(sorted);
  });

  it('brings every kind and every form of content back', () => {
    const entries = [
      entry('__proto__', {}),
      entry('a', { content: { is: 'identity', identity: IDENTITY } }),
      entry('b', { kind: 'symlink', mode: 0o777 }),
      entry('c', { kind: 'fifo', size: 0, content: { is: 'nothing' } }),
      entry('constructor', { kind: 'socket', size: 0, content: { is: 'nothing' } }),
      entry('d', { kind: 'character-device', size: 0, content: { is: 'device', number: '1:5' } }),
      entry('e', { kind: 'block-device', size: 0, content: { is: 'device', number: '259:1048575' } }),
      entry('f', { mode: 0o4755, content: { is: 'unknown', reason: 'unreadable', identity: IDENTITY } }),
      entry('g', {
        kind: 'directory',
        size: 0,
        content: { is: 'unknown', reason: 'too-deep', identity: IDENTITY },
      }),
      entry('h', { kind: 'directory', mode: 0, size: 0, content: { is: 'unknown', reason: 'mount' } }),
      entry('i', { uid: 4294967295, gid: 4294967294, size: Number.MAX_SAFE_INTEGER }),
    ];
    expect(decodeTree(encodeTree(entries))).toEqual(entries);
  });

  it('encodes more than one piece of text', () => {
    const entries = Array.from({ length: 12_000 }, (_, i) => entry(`n${String(i).padStart(6, '0')}`, {}));
    expect(decodeTree(encodeTree(entries))).toEqual(entries);
  });
});

describe('decodeTree', () => {
  const good = `f 644 0 0 1 ${DIGEST} a\0`;

  it('takes a view of a larger buffer', () => {
    const whole = Buffer.from(`xx${HEADER}${good}yy`);
    expect(decodeTree(new Uint8Array(whole.buffer, whole.byteOffset + 2, whole.length - 4))).toHaveLength(1);
  });

  it.each([
    ['another version', good, 'agentdiff-tree 2\n'],
    ['nothing at all', '', ''],
    ['a record without an end', good.slice(0, -1), HEADER],
    ['an empty record', '\0', HEADER],
    ['an unknown kind', good.replace('f', 'x'), HEADER],
    ['a mode with a leading zero', good.replace('644', '0644'), HEADER],
    ['a mode out of range', good.replace('644', '77777'), HEADER],
    ['a number with a leading zero', good.replace(' 1 ', ' 01 '), HEADER],
    ['a size that no number holds exactly', good.replace(' 1 ', ' 9007199254740993 '), HEADER],
    ['upper-case hex', good.replace(DIGEST, DIGEST.toUpperCase()), HEADER],
    ['an unknown reason', good.replace(DIGEST, '?because'), HEADER],
    ['a malformed identity', good.replace(DIGEST, '@1:2:3:4'), HEADER],
    ['a file with a device number', good.replace(DIGEST, '1:5'), HEADER],
    ['a fifo with content', good.replace('f', 'p'), HEADER],
    ['a directory with a stat identity', good.replace('f', 'd').replace(DIGEST, '@1:2:3:4:5'), HEADER],
    ['a name with a slash', good.replace(' a\0', ' a/b\0'), HEADER],
    ['the name ..', good.replace(' a\0', ' ..\0'), HEADER],
    ['an empty name', good.replace(' a\0', ' \0'), HEADER],
    ['the same name twice', good + good, HEADER],
    ['names out of order', good.replace(' a\0', ' b\0') + good, HEADER],
  ])('refuses %s', (_, records, header) => rejects(header + records));

  it('refuses a name in marked form that is no mark for its bytes', () => {
    // A NUL in front of the name ends the record early.
    rejects(`${HEADER}f 644 0 0 1 ${DIGEST} \0a\0`);
  });
});

function fromName(name: string): Buffer {
  return name.startsWith('\0') ? Buffer.from(name.slice(1), 'latin1') : Buffer.from(name);
}
