import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CapsuleReader } from '../../../src/capsule/index.ts';
import { AgentdiffError, canonicalJson } from '../../../src/core/index.ts';
import { Dir } from '../../../src/fs/index.ts';
import { forgeManifest, replaceMember, writeSample } from '../../support/sample-capsule.ts';
import { temporaryDir } from '../../support/temporary.ts';

type Json = Record<string, unknown>;

const FILE = { kind: 'file', mode: '0644', uid: 0, gid: 0, size: 1, digest: '0'.repeat(64) };
const OTHER = { ...FILE, digest: '1'.repeat(64) };
const DIRECTORY = { ...FILE, kind: 'directory', size: 0 };
const LINK = { ...FILE, kind: 'symlink' };
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');

function entry(at: string | Json, before: Json | undefined, after: Json | undefined, more: Json = {}): Json {
  return {
    ...(typeof at === 'string' ? { path: at } : at),
    ...(before && { before }),
    ...(after && { after }),
    level: 'content',
    decision: 'allow',
    rule: 'default',
    recoverable: true,
    ...more,
  };
}

/** Lists of changes from elsewhere, checksums right; the last column is the entry that must be named. */
const REFUSED: readonly (readonly [name: string, entries: readonly Json[], culprit: string])[] = [
  ...[
    '../../victim',
    '/etc/cron.d/x',
    'a/../../v',
    '',
    'a//b',
    'a/',
    '/',
    '..',
    './a',
    'a/.',
    'a/./b',
    'a\0b',
    '\0a',
    '\0',
  ].map((bad) => [`the path ${JSON.stringify(bad)}`, [entry(bad, FILE, OTHER)], bad] as const),
  ['the root as a file', [entry('.', FILE, OTHER)], '.'],
  ['the root as something new', [entry('.', undefined, DIRECTORY)], '.'],
  ['the root as something gone', [entry('.', DIRECTORY, undefined)], '.'],
  [
    'bytes that climb',
    [entry({ path: '../\ufffd', pathBytes: base64('../\xff') }, FILE, OTHER)],
    '../\ufffd',
  ],
  ['bytes beside another text', [entry({ path: 'safe', pathBytes: base64('\xff') }, FILE, OTHER)], 'safe'],
  ['bytes for valid text', [entry({ path: 'a', pathBytes: base64('a') }, FILE, OTHER)], 'a'],
  ['bytes with NUL', [entry({ path: '\ufffd\0', pathBytes: base64('\xff\0') }, FILE, OTHER)], '\ufffd\0'],
  ['bytes in loose base64', [entry({ path: '\ufffd', pathBytes: '/x==' }, FILE, OTHER)], '\ufffd'],
  ['no bytes', [entry({ path: '', pathBytes: '' }, FILE, OTHER)], ''],
  ['a path twice', [entry('a', FILE, OTHER), entry('a', FILE, undefined)], 'a'],
  ['paths out of order', [entry('b', FILE, OTHER), entry('a', FILE, OTHER)], 'a'],
  ['a path before its directory', [entry('d/x', undefined, FILE), entry('d', undefined, DIRECTORY)], 'd'],
  ['text order instead of walk order', [entry('a-b', FILE, OTHER), entry('a/b', FILE, OTHER)], 'a/b'],
  ['an entry below a new link', [entry('d', DIRECTORY, LINK), entry('d/x', undefined, FILE)], 'd/x'],
  ['an entry below an old link', [entry('d', LINK, DIRECTORY), entry('d/x', FILE, undefined)], 'd/x'],
  ['an entry below a file', [entry('d', FILE, OTHER), entry('d/x', FILE, undefined)], 'd/x'],
  ['a deep entry below a file', [entry('d', FILE, OTHER), entry('d/e/f/x', undefined, FILE)], 'd/e/f/x'],
  ['an entry below something gone', [entry('d', DIRECTORY, undefined), entry('d/x', undefined, FILE)], 'd/x'],
  [
    'an entry below an unknown directory',
    [
      entry(
        'd',
        { ...rest(DIRECTORY), unknown: { reason: 'unreadable' } },
        { ...DIRECTORY, mode: '0700' },
        NOT(),
      ),
      entry('d/x', undefined, FILE),
    ],
    'd/x',
  ],
  ['a change of nothing', [entry('a', undefined, undefined)], 'a'],
  ['two contents', [entry('a', { ...FILE, identity: '1:1:1:1:1' }, OTHER)], 'a'],
  ['a file without content', [entry('a', rest(FILE), OTHER)], 'a'],
  ['a fifo with content', [entry('a', { ...FILE, kind: 'fifo', size: 0 }, OTHER)], 'a'],
  ['a directory with a size', [entry('a', { ...DIRECTORY, size: 4096 }, undefined)], 'a'],
  ['a device with a digest', [entry('a', { ...DIRECTORY, kind: 'block-device' }, undefined)], 'a'],
  [
    'a directory with an identity',
    [entry('a', { ...rest(DIRECTORY), identity: '1:1:1:1:1' }, undefined)],
    'a',
  ],
  ['recoverable with a reason', [entry('a', FILE, OTHER, { reason: 'unstable' })], 'a'],
  ['not recoverable without one', [entry('a', FILE, OTHER, { recoverable: false })], 'a'],
  [
    'recoverable from the unknown',
    [entry('a', { ...rest(FILE), unknown: { reason: 'unreadable' } }, OTHER)],
    'a',
  ],
  [
    'recoverable to replace the unknown',
    [entry('a', FILE, { ...rest(FILE), unknown: { reason: 'mount' } })],
    'a',
  ],
];

/** A function, because the table is read first. */
function NOT(): Json {
  return { recoverable: false, reason: 'unknown-before' };
}

/** The same without its content. */
function rest(state: typeof FILE): Json {
  const { kind, mode, uid, gid, size } = state;
  return { kind, mode, uid, gid, size };
}

describe('a list of changes from elsewhere', () => {
  it.each(REFUSED)('is refused for %s', (_, entries, culprit) => {
    const directory = foreign(entries);
    const reader = CapsuleReader.open(Dir.open(directory));
    const error = thrown(() => [...reader.changes()]);
    expect(['CAPSULE_INVALID', 'PATH_INVALID']).toContain(error?.code);
    expect(error?.data).toMatchObject({ member: 'changes.jsonl', path: culprit, line: entries.length });
    expect(reader.checkDocuments()).toContainEqual(
      expect.objectContaining({ member: 'changes.jsonl', problem: 'invalid' }),
    );
  });

  it('is taken with every name that is only unusual', () => {
    const names = [
      '-rf',
      '...',
      '.git',
      '\u001b[2K',
      '__proto__',
      'a b',
      'a\\b',
      'con',
      'x'.repeat(255),
      '~',
    ];
    const entries = names.sort((a, b) => (a < b ? -1 : 1)).map((name) => entry(name, FILE, OTHER));
    const reader = CapsuleReader.open(Dir.open(foreign(entries)));
    expect([...reader.changes()].map((change) => change.path)).toEqual(names);
  });

  it('is taken with what lies below a directory that came or went', () => {
    const entries = [
      entry('d', FILE, DIRECTORY),
      entry('d/x', undefined, FILE),
      entry('e', DIRECTORY, undefined),
      entry('e/f/x', FILE, undefined),
    ];
    const reader = CapsuleReader.open(Dir.open(foreign(entries)));
    expect([...reader.changes()]).toHaveLength(4);
  });
});

describe('other paths of a capsule from elsewhere', () => {
  it.each([
    [
      'workspace.root',
      (json: Json) => ({ ...json, workspace: { ...(json['workspace'] as Json), root: { path: 'w' } } }),
    ],
    ['cwd', (json: Json) => ({ ...json, cwd: { path: '/a\0b' } })],
    ['cwd in bytes', (json: Json) => ({ ...json, cwd: { path: '/', pathBytes: base64('/') } })],
    [
      'coverage',
      (json: Json) => ({
        ...json,
        coverage: {
          ...(json['coverage'] as Json),
          unobserved: {
            before: [{ path: '../x', reason: 'mount' }],
            after: [],
            beforeTotal: 1,
            afterTotal: 0,
          },
        },
      }),
    ],
  ])('are refused: %s', (_, change) => {
    const directory = foreign([]);
    const json = JSON.parse(fs.readFileSync(path.join(directory, 'capsule.json'), 'utf8')) as Json;
    replaceMember(directory, 'capsule.json', `${canonicalJson(change(json))}\n`);
    forgeManifest(directory);
    const error = thrown(() => CapsuleReader.open(Dir.open(directory)).document());
    expect(['CAPSULE_INVALID', 'PATH_INVALID']).toContain(error?.code);
  });
});

function foreign(entries: readonly Json[]): string {
  const directory = temporaryDir();
  writeSample(directory);
  replaceMember(directory, 'changes.jsonl', entries.map((json) => `${canonicalJson(json)}\n`).join(''));
  forgeManifest(directory);
  return directory;
}

function thrown(action: () => unknown): AgentdiffError | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof AgentdiffError) return error;
    throw error;
  }
  return undefined;
}
