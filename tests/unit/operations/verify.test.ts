import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type Digest, digestOf } from '../../../src/core/index.ts';
import { type CapsuleVerdict, verifyCapsule, verifyCapsules } from '../../../src/operations/verify.ts';
import { observed, recovered, type Setting, setting } from '../../support/context.ts';
import { fingerprint } from '../../support/fingerprint.ts';
import { chainEvents, forgeManifest, readMemberText, replaceMember } from '../../support/sample-capsule.ts';
import { temporaryDir } from '../../support/temporary.ts';

function verify(here: Setting, ref = 'last', expected?: Digest): CapsuleVerdict {
  return verifyCapsule(here.context, here.place, ref, expected);
}

/** The verdict and then each claim with its status, by their codes where it fails. */
function told({ verdict, claims }: CapsuleVerdict): Record<string, string> {
  const entries = claims.map(({ claim, status, findings }): [string, string] => [
    claim,
    status === 'fails' ? [...new Set(findings.map(({ code }) => code))].join(' ') : status,
  ]);
  return { verdict, ...Object.fromEntries(entries) };
}

const GOOD = {
  verdict: 'holds',
  'files-intact': 'holds',
  'schema-valid': 'holds',
  'documents-consistent': 'holds',
  'objects-present': 'holds',
  signed: 'not-checked',
  chained: 'holds',
};
const UNREADABLE = {
  'documents-consistent': 'not-checked',
  'objects-present': 'not-checked',
  chained: 'not-checked',
};

/** Two runs; the second changed one file, deleted one and created one. */
function two(): { here: Setting; first: string; second: string } {
  const here = setting();
  for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), `content of ${name}`);
  const first = observed(here, () => fs.writeFileSync(here.at('x'), ''));
  const second = observed(here, () => {
    fs.writeFileSync(here.at('a'), 'changed');
    fs.rmSync(here.at('b'));
    fs.writeFileSync(here.at('c'), 'created');
  });
  return { here, first: capsuleOf(here, first), second: capsuleOf(here, second) };
}

function capsuleOf({ store }: Setting, runId: string): string {
  const found = fs
    .readdirSync(store, { recursive: true, encoding: 'utf8' })
    .find((name) => name.endsWith(`capsules/${runId}`));
  if (found === undefined) throw new Error(`no capsule of ${runId}`);
  return path.join(store, found);
}

type Json = Record<string, unknown>;

function parse(line: string): Json {
  return JSON.parse(line) as Json;
}

/** Changes lines of a member and makes the checksums right again: what a forger would do. */
function forge(capsule: string, member: string, edit: (lines: Json[]) => Json[]): void {
  const lines = readMemberText(capsule, member).trimEnd().split('\n').map(parse);
  const edited = edit(lines);
  replaceMember(
    capsule,
    member,
    member === 'events.jsonl'
      ? chainEvents(edited)
      : edited.map((line) => `${canonicalJson(line)}\n`).join(''),
  );
  forgeManifest(capsule);
}

describe('the claims about a capsule', () => {
  it('hold one by one for a run and for a recover, and change nothing', () => {
    const { here } = two();
    const everything = (): string[] => fingerprint(path.dirname(here.ws), { times: true });
    const before = everything();
    expect(told(verify(here))).toEqual(GOOD);
    expect(everything()).toEqual(before);
    recovered(here);
    expect(told(verify(here))).toEqual(GOOD);
  });

  it('say of the first capsule that nothing is before it', () => {
    const { here, first } = two();
    expect(told(verify(here, path.basename(first)))).toEqual({ ...GOOD, chained: 'not-checked' });
  });

  it('files-intact fails for a changed, a missing and an added file, and nothing is concluded from the rest', () => {
    const broken: [harm: (capsule: string) => void, word: string][] = [
      [
        (capsule) =>
          replaceMember(
            capsule,
            'changes.jsonl',
            readMemberText(capsule, 'changes.jsonl').replace('default', 'DEFAULT'),
          ),
        'changed',
      ],
      [(capsule) => fs.rmSync(path.join(capsule, 'events.jsonl')), 'missing'],
      [(capsule) => fs.writeFileSync(path.join(capsule, 'more'), ''), 'extra'],
      [(capsule) => fs.rmSync(path.join(capsule, 'SHA256SUMS')), 'missing'],
      [(capsule) => replaceMember(capsule, 'SHA256SUMS', ''), ''],
    ];
    for (const [harm, word] of broken) {
      const { here, second } = two();
      harm(second);
      const verdict = told(verify(here));
      expect(verdict).toMatchObject({ verdict: 'fails', ...UNREADABLE });
      expect(verdict['files-intact']).toContain(word);
    }
  });

  it('schema-valid fails for a field that is not in the format and for a policy that is none', () => {
    const { here, second } = two();
    forge(second, 'capsule.json', ([document = {}]) => [{ ...document, more: true }]);
    expect(told(verify(here))).toMatchObject({
      verdict: 'fails',
      'files-intact': 'holds',
      'schema-valid': 'invalid',
      ...UNREADABLE,
    });
    const other = two();
    forge(other.second, 'policy.json', ([policy = {}]) => [{ ...policy, capabilities: 'all' }]);
    expect(told(verify(other.here))).toMatchObject({ verdict: 'fails', 'files-intact': 'holds' });
  });

  it.each([
    ['an entry left out', (lines: Json[]) => lines.slice(1)],
    ['an entry left out in the middle', (lines: Json[]) => lines.filter((_, i) => i !== 1)],
    ['an entry added', (lines: Json[]) => [...lines, { ...lines[2], path: 'd' }]],
    ['another name', (lines: Json[]) => lines.map((line, i) => (i === 2 ? { ...line, path: 'd' } : line))],
    [
      'another mode before',
      (lines: Json[]) =>
        lines.map((line, i) => (i === 1 ? withSide(line, 'before', { mode: '0777' }) : line)),
    ],
    [
      'other content before',
      (lines: Json[]) =>
        lines.map((line, i) => (i === 1 ? withSide(line, 'before', { digest: digestOf('evil') }) : line)),
    ],
    [
      'another owner after',
      (lines: Json[]) => lines.map((line, i) => (i === 2 ? withSide(line, 'after', { uid: 12345 }) : line)),
    ],
    [
      'another decision',
      (lines: Json[]) => lines.map((line, i) => (i === 0 ? { ...line, decision: 'review' } : line)),
    ],
    [
      'another rule',
      (lines: Json[]) => lines.map((line, i) => (i === 0 ? { ...line, rule: 'policy-file' } : line)),
    ],
  ])('documents-consistent fails for a list of changes with %s, its checksums made right', (_, edit) => {
    const { here, second } = two();
    forge(second, 'changes.jsonl', edit);
    expect(told(verify(here))).toMatchObject({
      verdict: 'fails',
      'files-intact': 'holds',
      'schema-valid': 'holds',
      'documents-consistent': 'inconsistent',
    });
  });

  it('documents-consistent fails for a list that says less of everything, its counts made right too', () => {
    const { here, second } = two();
    forge(second, 'changes.jsonl', (lines) => lines.slice(0, 2));
    forge(second, 'capsule.json', ([document = {}]) => [
      {
        ...document,
        counts: { ...(document['counts'] as Json), created: 0 },
        reversibility: { ...(document['reversibility'] as Json), recoverable: 2 },
      },
    ]);
    expect(told(verify(here))).toMatchObject({
      verdict: 'fails',
      'files-intact': 'holds',
      'schema-valid': 'holds',
      'documents-consistent': 'inconsistent',
    });
  });

  it('documents-consistent fails for another snapshot and for a launch that the policy does not decide so', () => {
    const other = two();
    forge(other.second, 'capsule.json', ([document = {}]) => {
      const snapshots = document['snapshots'] as { before: Json; after: Json };
      return [{ ...document, snapshots: { ...snapshots, before: snapshots.after } }];
    });
    expect(told(verify(other.here))).toMatchObject({
      verdict: 'fails',
      'files-intact': 'holds',
      'documents-consistent': 'inconsistent',
    });
    const { here, second } = two();
    forge(second, 'events.jsonl', (events) =>
      events.map((event) => (event['type'] === 'launch-decided' ? { ...event, rule: 'mine' } : event)),
    );
    forge(second, 'capsule.json', ([document = {}]) => [
      { ...document, launch: { decision: 'allow', rule: 'mine' } },
    ]);
    expect(told(verify(here))).toMatchObject({
      verdict: 'fails',
      'files-intact': 'holds',
      'documents-consistent': 'inconsistent',
    });
  });

  it('objects-present fails where kept content is missing or damaged, and the other claims still hold', () => {
    const { here } = two();
    const packs = fs
      .readdirSync(here.store, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.pack'));
    for (const name of packs) {
      const file = path.join(here.store, name);
      fs.chmodSync(file, 0o600);
      fs.writeFileSync(
        file,
        fs.readFileSync(file, 'latin1').replace('content of b', 'CONTENT of b'),
        'latin1',
      );
    }
    expect(told(verify(here))).toEqual({ ...GOOD, verdict: 'fails', 'objects-present': 'damaged' });
    for (const name of packs) {
      const file = path.join(here.store, name);
      fs.rmSync(file);
      fs.rmSync(file.replace(/pack$/, 'idx'));
    }
    expect(told(verify(here))).toEqual({
      ...GOOD,
      verdict: 'fails',
      'documents-consistent': 'missing',
      'objects-present': 'missing',
    });
  });

  it('chained fails when the capsule before is not the one it was, and is not checked when it is gone', () => {
    const { here, first } = two();
    const sums = readMemberText(first, 'SHA256SUMS');
    replaceMember(
      first,
      'SHA256SUMS',
      sums.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
    );
    expect(told(verify(here))).toEqual({ ...GOOD, verdict: 'fails', chained: 'inconsistent' });
    fs.rmSync(first, { recursive: true });
    expect(told(verify(here))).toEqual({ ...GOOD, chained: 'not-checked' });
  });

  it('expected-digest holds for the digest that was told at the end of the run, and for no other', () => {
    const { here, second } = two();
    const { digest } = verify(here);
    expect(digest).toBe(digestOf(fs.readFileSync(path.join(second, 'SHA256SUMS'))));
    expect(told(verify(here, 'last', digest))).toEqual({ ...GOOD, 'expected-digest': 'holds' });
    expect(told(verify(here, 'last', digestOf('other')))).toEqual({
      ...GOOD,
      verdict: 'fails',
      'expected-digest': 'other-digest',
    });
    // The one claim that a forger who can write the store cannot make hold.
    forge(second, 'capsule.json', ([document = {}]) => [{ ...document, task: 'innocent' }]);
    expect(told(verify(here))).toEqual(GOOD);
    expect(told(verify(here, 'last', digest))).toEqual({
      ...GOOD,
      verdict: 'fails',
      'expected-digest': 'other-digest',
    });
  });
});

function withSide(line: Json, side: 'before' | 'after', more: Json): Json {
  return { ...line, [side]: { ...(line[side] as Json), ...more } };
}

describe('what is verified', () => {
  it('can be named by a run, a path, and a copy elsewhere', () => {
    const { here, second } = two();
    expect(told(verify(here, second))).toEqual(GOOD);
    const relative = path.relative(here.ws, second);
    expect(told(verify(here, relative))).toEqual(GOOD);
    const copy = path.join(here.home, 'copy');
    fs.cpSync(second, copy, { recursive: true });
    expect(told(verify(here, copy))).toMatchObject({
      verdict: 'holds',
      'files-intact': 'holds',
      'schema-valid': 'holds',
    });
  });

  it('is not more than it was when its store is not at hand', () => {
    const { here, second } = two();
    const copy = path.join(here.home, 'copy');
    fs.cpSync(second, copy, { recursive: true });
    const elsewhere = { ...here.place, store: path.join(here.home, 'none') };
    expect(told(verifyCapsule(here.context, elsewhere, copy))).toEqual({
      ...GOOD,
      ...UNREADABLE,
      verdict: 'holds',
    });
  });

  it('is at least one capsule, and exactly one with an expected digest', () => {
    const { here, first, second } = two();
    const usage = expect.objectContaining({ code: 'USAGE' }) as Error;
    expect(() => verifyCapsules(here.context, here.place, [])).toThrowError(usage);
    expect(() => verifyCapsules(here.context, here.place, [first, second], digestOf('x'))).toThrowError(
      usage,
    );
    expect(
      verifyCapsules(here.context, here.place, [first, second]).map(({ ref, verdict }) => [ref, verdict]),
    ).toEqual([
      [first, 'holds'],
      [second, 'holds'],
    ]);
  });

  it('is judged whatever becomes of the others that were named', () => {
    const { here, first, second } = two();
    fs.rmSync(path.join(first, 'events.jsonl'));
    const refs = ['./nowhere', second, 'nothing-like-it', first];
    const found = verifyCapsules(here.context, here.place, refs);
    expect(found.map((one) => [one.ref, 'error' in one ? one.error.code : one.verdict])).toEqual([
      ['./nowhere', 'CAPSULE_NOT_FOUND'],
      [second, 'holds'],
      ['nothing-like-it', 'RUN_UNKNOWN'],
      [first, 'fails'],
    ]);
  });

  const spoilt: [string, string, (store: string) => void][] = [
    ['others may write into', 'STORE_NOT_OWNED', (store) => fs.chmodSync(store, 0o777)],
    [
      'a newer version made',
      'STORE_VERSION',
      (store) => fs.writeFileSync(path.join(store, 'format'), 'agentdiff-store 2\n'),
    ],
    ['has no format', 'STORE_DAMAGED', (store) => fs.rmSync(path.join(store, 'format'))],
    [
      'does not say whose it is',
      'STORE_DAMAGED',
      (store) => {
        for (const name of fs.readdirSync(path.join(store, 'workspaces')))
          fs.writeFileSync(path.join(store, 'workspaces', name, 'workspace.json'), '{}');
      },
    ],
  ];
  it.each(spoilt)('is judged by its path without a store that %s', (_, code, spoil) => {
    const { here, second } = two();
    spoil(here.store);
    const open = (): number => fs.readdirSync('/proc/self/fd').length;
    const before = open();
    const verdict = verify(here, second);
    expect(told(verdict)).toEqual({ ...GOOD, ...UNREADABLE });
    const reasons = verdict.claims.filter(({ claim }) => claim in UNREADABLE).map(({ detail }) => detail);
    for (const reason of reasons) expect(reason).toContain(`[${code}]`);
    expect(open()).toBe(before);
    replaceMember(second, 'changes.jsonl', '');
    expect(told(verify(here, second))).toMatchObject({ verdict: 'fails', 'files-intact': 'cut-short' });
    // A run is named by its store alone.
    if (code !== 'STORE_DAMAGED')
      expect(() => verify(here)).toThrowError(expect.objectContaining({ code }) as Error);
  });

  it('is unsupported, not damaged, when a newer version made it', () => {
    const { here, second } = two();
    replaceMember(second, 'capsule.json', `${canonicalJson({ format: 2, anything: 'else' })}\n`);
    const { verdict, claims, problem } = verify(here);
    expect({ verdict, claims }).toEqual({ verdict: 'unsupported', claims: [] });
    expect(problem).toBeDefined();
  });

  it('must be there', () => {
    const { here } = two();
    fs.writeFileSync(here.at('file'), '');
    for (const ref of ['./nowhere', '/nowhere/at/all', './file', '/dev/null']) {
      expect(() => verify(here, ref), ref).toThrowError(
        expect.objectContaining({ code: 'CAPSULE_NOT_FOUND' }) as Error,
      );
    }
  });
});

describe('a hostile directory', () => {
  const rows: [string, (dir: string) => void][] = [
    ['holds a fifo for each document', (dir) => members(dir, (file) => void spawnSync('mkfifo', [file]))],
    ['holds links to other files', (dir) => members(dir, (file) => fs.symlinkSync('/etc/passwd', file))],
    [
      'holds links to a device without an end',
      (dir) => members(dir, (file) => fs.symlinkSync('/dev/zero', file)),
    ],
    ['holds directories', (dir) => members(dir, (file) => fs.mkdirSync(file))],
    [
      'holds sparse files of many gigabytes',
      (dir) => members(dir, (file) => fs.closeSync(grown(file, 2 ** 36))),
    ],
    ['holds deep nesting', (dir) => members(dir, (file) => fs.writeFileSync(file, '['.repeat(1 << 20)))],
    ['holds zeros', (dir) => members(dir, (file) => fs.writeFileSync(file, Buffer.alloc(1 << 16)))],
    [
      'lists files outside',
      (dir) => fs.writeFileSync(path.join(dir, 'SHA256SUMS'), `${digestOf('')}  ../../etc/passwd\n`),
    ],
  ];
  it.each(rows)('that %s fails, quickly and without being believed', (_, make) => {
    const { here } = two();
    const dir = path.join(temporaryDir(), 'capsule');
    fs.mkdirSync(dir);
    make(dir);
    const verdict = verify(here, dir);
    expect(verdict.verdict).toBe('fails');
    expect(verdict.runId).toBeUndefined();
    expect(verdict.claims.filter(({ status }) => status === 'holds')).toEqual([]);
  });

  it('without a document or a manifest is no capsule, whatever else it holds', () => {
    const { here } = two();
    const dir = temporaryDir();
    fs.writeFileSync(path.join(dir, 'changes.jsonl'), '');
    expect(() => verify(here, dir)).toThrowError(expect.objectContaining({ code: 'CAPSULE_NOT_FOUND' }));
  });
});

function members(dir: string, make: (file: string) => void): void {
  for (const name of ['capsule.json', 'changes.jsonl', 'events.jsonl', 'policy.json', 'SHA256SUMS'])
    make(path.join(dir, name));
}

function grown(file: string, size: number): number {
  const fd = fs.openSync(file, 'w');
  fs.ftruncateSync(fd, size);
  return fd;
}
