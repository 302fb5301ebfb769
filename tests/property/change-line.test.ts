/** The quick reading of a line of `changes.jsonl` accepts nothing that the full reading refuses, and reads it in no other way. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPlainLine } from '../../src/capsule/change-line.ts';
import { readChangeLine } from '../../src/capsule/lines.ts';
import { AgentdiffError } from '../../src/core/index.ts';

const DIGEST = 'ab'.repeat(32);

/** Mostly what a writer writes, sometimes what is next to it. */
function mostly(good: readonly string[], odd: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
}

const number = mostly(
  ['0', '7', '1000', '999999999999999'],
  ['00', '-0', '-1', '1.0', '1e3', '01', '4294967296', '9007199254740993', '"7"', 'null', '', ' 7', '1.5'],
);
const id = mostly(['0', '1000', '4294967295'], ['4294967296', '999999999999999', '-1', '1e3']);
const digest = mostly(
  [DIGEST, '0'.repeat(64)],
  [DIGEST.toUpperCase(), DIGEST.slice(1), `${DIGEST}0`, '-', ''],
);
const identity = mostly(
  ['1:2:3:4:5', '-1:-2:3:-4:5'],
  ['1:2:3:4', '1:2:-3:4:5', `${'1'.repeat(21)}:2:3:4:5`],
);
const text = mostly(
  ['default', 'regenerable: node_modules', 'é', '\ud83d\ude00', ''],
  ['\\n', '\\u0041', '\\"', '\\\\', '\u0001', '\u007f', '\u2028', '\ufeff', '"', '\\/', '\\ud800'],
);
const path = mostly(
  ['.', 'a', 'a/b', 'src/é', '\ud83d\ude00', '...', '.a', 'a.', 'a/.b', '..a/b'],
  [
    '',
    '..',
    './a',
    'a/.',
    'a/../b',
    '/a',
    'a/',
    'a//b',
    '\\u0000',
    '\ufeff',
    '\u007f',
    '\\ud800',
    'a\\/b',
    '\u2028',
  ],
);
const kind = mostly(['file', 'directory', 'symlink'], ['fifo', 'socket', 'character-device', 'File', '']);

/** Members of an object, in order, some left out, seldom two of them exchanged. */
function object(
  members: readonly fc.Arbitrary<string>[],
  required: readonly boolean[],
): fc.Arbitrary<string> {
  const parts = members.map((member, i) => (required[i] === true ? member : fc.option(member, { nil: '' })));
  return fc.tuple(fc.tuple(...parts), fc.nat(60), fc.nat(members.length)).map(([all, luck, at]) => {
    const list = all.filter((part) => part !== '');
    if (luck === 0 && at > 0 && at < list.length) list.splice(at - 1, 2, list[at] ?? '', list[at - 1] ?? '');
    if (luck === 1) list.push(list[at] ?? '"extra":1');
    if (luck === 2) list.splice(at, 1);
    return `{${list.join(',')}}`;
  });
}

function member(key: string, value: fc.Arbitrary<string>, quoted = true): fc.Arbitrary<string> {
  return value.map((each) => `"${key}":${quoted ? `"${each}"` : each}`);
}

const info = object(
  [
    member('inode', mostly(['1:2', '-1:2'], ['1', '1:2:3', 'a:b'])),
    member('mtimeNs', mostly(['0', '-5', '1796078769689195566'], ['-0', '05', '1.5', `1${'0'.repeat(30)}`])),
    member('nlink', number, false),
  ],
  [true, true, true],
);
const state = object(
  [
    fc.oneof(
      { weight: 5, arbitrary: member('digest', digest) },
      { weight: 1, arbitrary: fc.constant('"device":"8:1"') },
    ),
    member('gid', id, false),
    fc.oneof(
      { weight: 1, arbitrary: member('identity', identity) },
      { weight: 4, arbitrary: fc.constant('') },
    ),
    member('info', info, false),
    member('kind', kind),
    member('mode', mostly(['0644', '7777'], ['644', '08', '06444', '9999'])),
    member('size', mostly(['0', '0', '12'], ['-1', '1e1', '01']), false),
    member('uid', id, false),
    fc.oneof(
      { weight: 1, arbitrary: fc.constant('"unknown":{"reason":"unreadable"}') },
      { weight: 12, arbitrary: fc.constant('') },
    ),
  ],
  [false, true, true, false, true, true, true, true, true],
);
const line = object(
  [
    member('after', state, false),
    member('before', state, false),
    member('decision', mostly(['allow', 'review', 'deny'], ['Allow', ''])),
    member('level', mostly(['content', 'digest', 'stat', 'none'], ['all', ''])),
    member('path', path),
    fc.oneof(
      {
        weight: 1,
        arbitrary: fc.constantFrom('"reason":"not-read"', '"reason":"odd"', '"pathBytes":"/w=="'),
      },
      { weight: 4, arbitrary: fc.constant('') },
    ),
    member('recoverable', mostly(['true', 'true', 'false'], ['"true"', 'null', '1']), false),
    member('rule', text),
  ],
  [false, false, true, true, true, true, true, true],
);

function fullReading(bytes: Buffer): unknown {
  try {
    return readChangeLine(bytes, 1);
  } catch (error) {
    if (error instanceof AgentdiffError) return error.code;
    throw error;
  }
}

function expectSameReading(bytes: Buffer): boolean {
  const plain = readPlainLine(bytes);
  if (plain !== undefined) expect(fullReading(bytes)).toEqual(plain);
  return plain !== undefined;
}

describe('the quick reading of a change', () => {
  it('is the full one, for lines in and beside the format', () => {
    let quick = 0;
    let valid = 0;
    fc.assert(
      fc.property(line, (each) => {
        const bytes = Buffer.from(each);
        if (expectSameReading(bytes)) quick++;
        if (typeof fullReading(bytes) !== 'string') valid++;
      }),
      { numRuns: 20_000 },
    );
    // What passes by neither reading, or always by the slow one, would show nothing.
    expect(quick).toBeGreaterThan(1000);
    expect(quick).toBeGreaterThan(valid / 2);
  });

  it('is the full one after any byte was altered, left out or doubled', () => {
    const mutation = fc.tuple(fc.constantFrom('alter', 'drop', 'double'), fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(line, fc.array(mutation, { minLength: 1, maxLength: 3 }), (each, mutations) => {
        let bytes = Buffer.from(each);
        for (const [how, where, byte] of mutations) {
          const at = where % bytes.length;
          const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at + 1)];
          const middle = how === 'alter' ? [byte] : how === 'drop' ? [] : [bytes[at] ?? 0, bytes[at] ?? 0];
          bytes = Buffer.concat([head, Buffer.from(middle), tail]);
        }
        expectSameReading(bytes);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    [
      `{"before":{"digest":"${DIGEST}","gid":0,"kind":"file","mode":"0644","size":3,"uid":0},"decision":"allow","level":"content","path":"é/b","recoverable":true,"rule":"default"}`,
    ],
    [
      `{"after":{"gid":4294967295,"identity":"1:2:3:4:5","info":{"inode":"1:2","mtimeNs":"-1","nlink":1},"kind":"file","mode":"7777","size":0,"uid":0},"decision":"deny","level":"stat","path":".","reason":"not-read","recoverable":false,"rule":""}`,
    ],
  ])('knows the lines that nearly all are', (each) => {
    expect(expectSameReading(Buffer.from(each))).toBe(true);
  });
});
