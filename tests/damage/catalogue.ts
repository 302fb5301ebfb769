/** A catalogue of ways to break a capsule, each with what a reader must say of it. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { canonicalJson, digestOf } from '../../src/core/index.ts';
import { chainEvents, forgeManifest, readMemberText, replaceMember } from '../support/sample-capsule.ts';

export type Json = Record<string, unknown>;

export interface Damage {
  readonly name: string;
  readonly harm: (directory: string) => void;
  /** `member: problem`, all of them, as `checkFiles` must say. */
  readonly files?: readonly string[];
  /** The same of `checkDocuments`. */
  readonly documents?: readonly string[];
}

/** What a child, an accident or a copy can do to files. */
export const FILE_DAMAGE: readonly Damage[] = [
  ...['capsule.json', 'changes.jsonl', 'events.jsonl', 'policy.json'].map((member) => ({
    name: `${member} removed`,
    harm: (directory: string): void => fs.rmSync(path.join(directory, member)),
    files: [`${member}: missing`],
    documents: [`${member}: missing`],
  })),
  {
    name: 'manifest removed',
    harm: (d) => fs.rmSync(path.join(d, 'SHA256SUMS')),
    files: ['SHA256SUMS: missing'],
  },
  {
    name: 'a byte of a value edited',
    harm: (d) => edit(d, 'capsule.json', (text) => text.replace('tidy up', 'tidy uq')),
    files: ['capsule.json: changed'],
  },
  {
    name: 'a bit that makes it no UTF-8',
    harm: (d) => replaceMember(d, 'policy.json', flipped(fs.readFileSync(path.join(d, 'policy.json')), 3)),
    files: ['policy.json: changed'],
    documents: ['policy.json: invalid'],
  },
  {
    name: 'extra file',
    harm: (d) => fs.writeFileSync(path.join(d, 'notes.txt'), ''),
    files: ['notes.txt: extra'],
  },
  { name: 'extra directory', harm: (d) => fs.mkdirSync(path.join(d, 'sub')), files: ['sub: extra'] },
  {
    name: 'extra file with an untidy name',
    harm: (d) => fs.writeFileSync(path.join(d, 'a\n\u001b[2K'), ''),
    files: ['a\n\u001b[2K: extra'],
  },
  {
    name: 'member replaced by a link to an equal copy',
    harm: (d) => linkToCopy(d, 'changes.jsonl'),
    files: ['changes.jsonl: not-a-file'],
    documents: ['changes.jsonl: not-a-file'],
  },
  {
    name: 'manifest replaced by a link to an equal copy',
    harm: (d) => linkToCopy(d, 'SHA256SUMS'),
    files: ['SHA256SUMS: not-a-file'],
  },
  {
    name: 'member replaced by a directory',
    harm: (d) => {
      fs.rmSync(path.join(d, 'policy.json'));
      fs.mkdirSync(path.join(d, 'policy.json'));
    },
    files: ['policy.json: not-a-file'],
    documents: ['policy.json: not-a-file'],
  },
  {
    name: 'last line cut in the middle',
    harm: (d) => edit(d, 'changes.jsonl', (text) => text.slice(0, -40)),
    files: ['changes.jsonl: cut-short'],
    documents: ['changes.jsonl: cut-short'],
  },
  {
    name: 'last newline cut off',
    harm: (d) => edit(d, 'capsule.json', (text) => text.slice(0, -1)),
    files: ['capsule.json: cut-short'],
    documents: ['capsule.json: cut-short'],
  },
  {
    name: 'list emptied',
    harm: (d) => replaceMember(d, 'changes.jsonl', ''),
    files: ['changes.jsonl: cut-short'],
    documents: ['changes.jsonl: inconsistent'],
  },
  {
    name: 'document emptied',
    harm: (d) => replaceMember(d, 'capsule.json', ''),
    files: ['capsule.json: cut-short'],
    documents: ['capsule.json: cut-short'],
  },
  {
    name: 'whole last line removed',
    harm: (d) => edit(d, 'changes.jsonl', (text) => `${text.split('\n').slice(0, -2).join('\n')}\n`),
    files: ['changes.jsonl: changed'],
    documents: ['changes.jsonl: inconsistent'],
  },
  {
    name: 'two members swapped',
    harm: (d) => swap(d, 'capsule.json', 'policy.json'),
    files: ['capsule.json: changed', 'policy.json: changed'],
    documents: ['capsule.json: invalid'],
  },
  { name: 'modes changed, which means nothing', harm: (d) => chmodAll(d, 0o755) },
  {
    name: 'hard-linked elsewhere, which means nothing',
    harm: (d) => fs.linkSync(path.join(d, 'policy.json'), `${d}.second-name`),
  },
  {
    name: 'document over its limit',
    harm: (d) => grow(d, 'capsule.json', 3 * 1024 ** 3),
    files: ['capsule.json: too-large'],
    documents: ['capsule.json: too-large'],
  },
  {
    name: 'list over its limit',
    harm: (d) => grow(d, 'changes.jsonl', 5 * 1024 ** 3),
    files: ['changes.jsonl: too-large'],
    documents: ['changes.jsonl: too-large'],
  },
  {
    name: 'manifest over its limit',
    harm: (d) => grow(d, 'SHA256SUMS', 1024 * 1024),
    files: ['SHA256SUMS: too-large'],
  },
];

export const MANIFEST_DAMAGE: readonly Damage[] = [
  { name: 'empty', harm: (d) => replaceMember(d, 'SHA256SUMS', ''), files: ['SHA256SUMS: nothing-listed'] },
  {
    name: 'blank',
    harm: (d) => replaceMember(d, 'SHA256SUMS', '\n\n'),
    files: ['SHA256SUMS: nothing-listed'],
  },
  {
    name: 'cut short',
    harm: (d) => edit(d, 'SHA256SUMS', (text) => text.slice(0, -3)),
    files: ['SHA256SUMS: cut-short'],
  },
  {
    name: 'a line removed',
    harm: (d) => edit(d, 'SHA256SUMS', (text) => text.split('\n').slice(1).join('\n')),
    files: ['capsule.json: not-listed'],
  },
  {
    name: 'a line doubled',
    harm: (d) => edit(d, 'SHA256SUMS', (text) => `${text.split('\n')[0]}\n${text}`),
    files: ['SHA256SUMS: malformed'],
  },
  {
    name: 'lines in another order',
    harm: (d) => edit(d, 'SHA256SUMS', (text) => `${text.trim().split('\n').reverse().join('\n')}\n`),
    files: ['SHA256SUMS: malformed'],
  },
  {
    name: 'a name with a path',
    harm: (d) => edit(d, 'SHA256SUMS', (text) => text.replace('policy.json', '../policy.json')),
    files: ['SHA256SUMS: malformed'],
  },
  {
    name: 'an extra file listed',
    harm: (d) => {
      fs.writeFileSync(path.join(d, 'x'), 'x');
      edit(d, 'SHA256SUMS', (text) => `${text}${digestOf('x')}  x\n`);
    },
    files: ['SHA256SUMS: malformed', 'x: extra'],
  },
  {
    name: 'digests in capitals',
    harm: (d) =>
      edit(d, 'SHA256SUMS', (text) =>
        text.replace(/^[0-9a-f]{64}/, (hex) => hex.toUpperCase().replace(/\d/, 'A')),
      ),
    files: ['SHA256SUMS: malformed'],
  },
  {
    name: 'a digest altered',
    harm: (d) => edit(d, 'SHA256SUMS', (text) => text.replace(/^[0-9a-f]{64}/, digestOf('other'))),
    files: ['capsule.json: changed'],
  },
];

/** What a forger can do who recomputes every checksum: the files are intact then, and the documents have to show it. */
export const FORGERY: readonly Damage[] = [
  forged('a key doubled', ['capsule.json: invalid'], (d) =>
    edit(d, 'capsule.json', (text) => text.replace('{', '{"argv":["true"],')),
  ),
  forged('a blank added', ['policy.json: invalid'], (d) =>
    edit(d, 'policy.json', (text) => text.replace(':', ': ')),
  ),
  forged('a byte order mark', ['policy.json: invalid'], (d) =>
    edit(d, 'policy.json', (text) => `\ufeff${text}`),
  ),
  forged('two documents in one file', ['policy.json: invalid'], (d) =>
    edit(d, 'policy.json', (text) => text + text),
  ),
  forged('a lone surrogate', ['capsule.json: invalid'], (d) =>
    edit(d, 'capsule.json', (text) => text.replace('tidy up', '\\ud800')),
  ),
  forged('__proto__ at the top', ['capsule.json: invalid'], (d) =>
    edit(d, 'capsule.json', (text) => text.replace('{', '{"__proto__":{"force":true},')),
  ),
  forged('constructor at the top', ['capsule.json: invalid'], (d) =>
    document(d, (json) => ({ ...json, constructor: { prototype: { dryRun: false } } })),
  ),
  forged('__proto__ in an entry', ['changes.jsonl: invalid'], (d) =>
    edit(d, 'changes.jsonl', (text) => text.replace('{', '{"__proto__":{"force":true},')),
  ),
  forged('an unknown key', ['capsule.json: invalid'], (d) =>
    document(d, (json) => ({ ...json, force: true })),
  ),
  forged('a value of another type', ['capsule.json: invalid'], (d) =>
    document(d, (json) => ({ ...json, outcome: true })),
  ),
  forged('an unknown word', ['capsule.json: invalid'], (d) =>
    document(d, (json) => ({ ...json, outcome: 'splendid' })),
  ),
  forged('a deep document', ['capsule.json: invalid'], (d) =>
    replaceMember(d, 'capsule.json', `${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}\n`),
  ),
  forged('a deep document that never closes', ['policy.json: invalid'], (d) =>
    replaceMember(d, 'policy.json', `${'['.repeat(2_000_000)}\n`),
  ),
  forged('a deep line', ['events.jsonl: invalid'], (d) =>
    edit(d, 'events.jsonl', (text) => `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}\n${text}`),
  ),
  forged('a line without end', ['changes.jsonl: too-large'], (d) =>
    replaceMember(d, 'changes.jsonl', Buffer.alloc(40 * 1024 * 1024, 0x20)),
  ),
  forged('an empty line', ['changes.jsonl: invalid'], (d) => edit(d, 'changes.jsonl', (text) => `\n${text}`)),
  forged('NUL bytes at the end', ['changes.jsonl: cut-short'], (d) =>
    edit(d, 'changes.jsonl', (text) => `${text}\0\0\0`),
  ),
  forged('a policy that is a list', ['policy.json: invalid'], (d) => replaceMember(d, 'policy.json', '[]\n')),
  forged('another policy', ['policy.json: inconsistent'], (d) =>
    replaceMember(d, 'policy.json', '{"version":1}\n'),
  ),
  forged('a change left out', ['changes.jsonl: inconsistent'], (d) => lines(d, (all) => all.slice(0, -1))),
  forged('the change of the root altered', ['changes.jsonl: inconsistent'], (d) =>
    edit(d, 'changes.jsonl', (text) => text.replace('"0750"', '"0777"')),
  ),
  forged('a decision altered in one place', ['events.jsonl: inconsistent'], (d) =>
    document(d, (json) => ({ ...json, launch: { decision: 'review', rule: 'default' } })),
  ),
  forged('a better tier', ['capsule.json: inconsistent'], (d) =>
    document(d, (json) => ({
      ...json,
      reversibility: { ...(json['reversibility'] as Json), tier: 'snapshot' },
    })),
  ),
  forged('a tier of another runtime', ['capsule.json: inconsistent'], (d) =>
    document(d, (json) => ({
      ...json,
      reversibility: { ...(json['reversibility'] as Json), tier: 'contained' },
    })),
  ),
  forged('coverage called complete', ['capsule.json: inconsistent'], (d) =>
    document(d, (json) => ({ ...json, coverage: { ...(json['coverage'] as Json), complete: true } })),
  ),
  forged('unobserved paths left out', ['capsule.json: inconsistent'], (d) =>
    document(d, (json) => {
      const unobserved = { before: [], after: [], beforeTotal: 1, afterTotal: 0 };
      return { ...json, coverage: { ...(json['coverage'] as Json), unobserved } };
    }),
  ),
  forged('code and signal at once', ['capsule.json: inconsistent', 'events.jsonl: inconsistent'], (d) =>
    document(d, (json) => ({
      ...json,
      exit: { started: true, code: 0, signal: 'SIGTERM', signalNumber: 15 },
    })),
  ),
  forged('no word on the end', ['capsule.json: inconsistent', 'events.jsonl: inconsistent'], (d) =>
    document(d, (json) => ({ ...json, exit: { started: true } })),
  ),
  forged('the events of another run', ['events.jsonl: inconsistent'], (d) =>
    document(d, (json) => ({ ...json, runId: '20261130T184726Z-00000000' })),
  ),
  forged('another snapshot', ['changes.jsonl: inconsistent', 'events.jsonl: inconsistent'], (d) =>
    document(d, (json) => {
      const snapshots = json['snapshots'] as Json;
      return {
        ...json,
        snapshots: { ...snapshots, after: { ...(snapshots['after'] as Json), tree: digestOf('other') } },
      };
    }),
  ),
  forged('an event edited', ['events.jsonl: broken-chain'], (d) =>
    edit(d, 'events.jsonl', (text) => text.replace('4712', '4713')),
  ),
  forged('an event left out, the chain not mended', ['events.jsonl: broken-chain'], (d) =>
    edit(d, 'events.jsonl', (text) => text.split('\n').toSpliced(2, 1).join('\n')),
  ),
  forged('an event left out, the chain mended', ['events.jsonl: broken-chain'], (d) =>
    events(d, (all) => all.toSpliced(2, 1)),
  ),
  forged('events swapped', ['events.jsonl: broken-chain'], (d) =>
    edit(d, 'events.jsonl', (text) => {
      const [a = '', b = '', c = '', ...rest] = text.split('\n');
      return [a, c, b, ...rest].join('\n');
    }),
  ),
  forged('the last event left out', ['events.jsonl: broken-chain'], (d) =>
    events(d, (all) => all.slice(0, -1)),
  ),
  forged('an event after the seal', ['events.jsonl: broken-chain'], (d) =>
    events(d, (all) => [...all, { ...all[2], seq: all.length + 1 }]),
  ),
  forged('no event at all', ['events.jsonl: broken-chain'], (d) => replaceMember(d, 'events.jsonl', '')),
  forged('the start of the child left out', ['events.jsonl: inconsistent'], (d) =>
    events(d, (all) =>
      all.filter(({ type }) => type !== 'child-started').map((event, i) => ({ ...event, seq: i + 1 })),
    ),
  ),
];

function forged(name: string, documents: readonly string[], harm: (directory: string) => void): Damage {
  return {
    name,
    documents,
    harm: (directory) => {
      harm(directory);
      forgeManifest(directory);
    },
  };
}

function edit(directory: string, member: string, change: (text: string) => string): void {
  const text = readMemberText(directory, member);
  const changed = change(text);
  expect(changed).not.toBe(text);
  replaceMember(directory, member, changed);
}

/** Alters `capsule.json` and leaves it canonical. */
export function document(directory: string, change: (json: Json) => Json): void {
  const json = JSON.parse(readMemberText(directory, 'capsule.json')) as Json;
  replaceMember(directory, 'capsule.json', `${canonicalJson(change(json))}\n`);
}

function lines(directory: string, change: (lines: string[]) => string[]): void {
  const all = readMemberText(directory, 'changes.jsonl').trimEnd().split('\n');
  replaceMember(directory, 'changes.jsonl', `${change(all).join('\n')}\n`);
}

function events(directory: string, change: (events: Json[]) => Json[]): void {
  const all = readMemberText(directory, 'events.jsonl').trimEnd().split('\n');
  const changed = change(all.map((line) => JSON.parse(line) as Json));
  replaceMember(directory, 'events.jsonl', chainEvents(changed));
}

function linkToCopy(directory: string, member: string): void {
  const file = path.join(directory, member);
  fs.renameSync(file, `${directory}.copy`);
  fs.symlinkSync(`${directory}.copy`, file);
}

function swap(directory: string, a: string, b: string): void {
  const [first, second] = [readMemberText(directory, a), readMemberText(directory, b)];
  replaceMember(directory, a, second);
  replaceMember(directory, b, first);
}

function chmodAll(directory: string, mode: number): void {
  for (const name of fs.readdirSync(directory)) fs.chmodSync(path.join(directory, name), mode);
}

/** A sparse file: no disk is used. */
function grow(directory: string, member: string, size: number): void {
  replaceMember(directory, member, '');
  fs.truncateSync(path.join(directory, member), size);
}

function flipped(bytes: Buffer, at: number): Buffer {
  return Buffer.from(bytes.map((byte, i) => (i === at ? byte ^ 0x80 : byte)));
}
