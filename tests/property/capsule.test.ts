import * as fs from 'node:fs';
import * as path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CapsuleReader,
  type ChangeRecord,
  fromAbsolutePathDocument,
  fromChangeDocument,
  fromSnapshotDocument,
  toAbsolutePathDocument,
  toChangeDocument,
  toSnapshotDocument,
} from '../../src/capsule/index.ts';
import { CapsuleWriter } from '../../src/capsule/write.ts';
import {
  AgentdiffError,
  canonicalJson,
  type Digest,
  fromBytes,
  isName,
  joinPath,
  type Name,
  type RelPath,
  ROOT_PATH,
  toBytes,
} from '../../src/core/index.ts';
import { Dir } from '../../src/fs/index.ts';
import type { Content, Observed, State, StatIdentity } from '../../src/snapshot/index.ts';
import {
  AT,
  chainEvents,
  forgeManifest,
  POLICY,
  readMemberText,
  replaceMember,
  RUN_ID,
  sampleDocument,
  writeSample,
} from '../support/sample-capsule.ts';
import { temporaryDir } from '../support/temporary.ts';

const name: fc.Arbitrary<Name> = fc
  .oneof(
    fc.uint8Array({ minLength: 1, maxLength: 6 }).map((bytes) => fromBytes(bytes)),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }).map((text) => fromBytes(Buffer.from(text))),
    fc.constantFrom('__proto__', 'constructor', '\ud83d\ude00', '\uffff', '\n', '-'),
  )
  .filter(
    (text): text is Name => !toBytes(text).includes(0) && fromBytes(toBytes(text)) === text && isName(text),
  );
const relPath: fc.Arbitrary<RelPath> = fc
  .array(name, { minLength: 1, maxLength: 4 })
  .map((names) => names.reduce(joinPath, ROOT_PATH));
const digest = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex') as Digest);
const big = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const time = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n });
const identity = fc
  .tuple(big, big, fc.maxSafeNat(), time, time)
  .map((parts) => parts.join(':') as StatIdentity);
const unknown: fc.Arbitrary<Content> = fc.record(
  {
    is: fc.constant('unknown' as const),
    reason: fc.constantFrom('unreadable', 'unstable', 'mount', 'store', 'too-deep', 'excluded', 'failed'),
    identity,
  },
  { requiredKeys: ['is', 'reason'] },
);
const hashed: fc.Arbitrary<Content> = fc.record({ is: fc.constant('digest' as const), digest });
const looked: fc.Arbitrary<Content> = fc.record({ is: fc.constant('identity' as const), identity });
const device: fc.Arbitrary<Content> = fc.record({
  is: fc.constant('device' as const),
  number: fc.tuple(fc.nat(4095), fc.nat(1048575)).map((parts) => parts.join(':')),
});
const nothing: fc.Arbitrary<Content> = fc.constant({ is: 'nothing' as const });
const CONTENTS = {
  file: fc.oneof(hashed, looked, unknown),
  directory: fc.oneof(hashed, unknown),
  symlink: fc.oneof(hashed, unknown),
  fifo: fc.oneof(nothing, unknown),
  socket: fc.oneof(nothing, unknown),
  'character-device': fc.oneof(device, unknown),
  'block-device': fc.oneof(device, unknown),
} as const;
const id = fc.nat(0xffffffff >>> 1);
const state: fc.Arbitrary<State> = fc
  .constantFrom(...(Object.keys(CONTENTS) as (keyof typeof CONTENTS)[]))
  .chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      mode: fc.nat(0o7777),
      uid: id,
      gid: id,
      size: kind === 'file' || kind === 'symlink' ? fc.maxSafeNat() : fc.constant(0),
      content: CONTENTS[kind],
    }),
  );
const observed: fc.Arbitrary<Observed> = fc.record(
  {
    state,
    particulars: fc.record({
      mtimeNs: time,
      nlink: fc.nat(),
      inode: fc.tuple(big, big).map((parts) => parts.join(':')),
    }),
  },
  { requiredKeys: ['state'] },
);
const verdict = fc
  .tuple(
    fc.constantFrom(
      'content-not-kept' as const,
      'not-read' as const,
      'unreadable' as const,
      'unstable' as const,
      'unknown-before' as const,
      'unknown-after' as const,
      'unsupported-kind' as const,
    ),
    fc.boolean(),
  )
  .map(([reason, recoverable]) => (recoverable ? { recoverable } : { recoverable, reason }));
const record: fc.Arbitrary<ChangeRecord> = fc
  .tuple(
    relPath,
    fc.record({ before: observed, after: observed }, { requiredKeys: [] }),
    fc.constantFrom(
      'content' as const,
      'digest' as const,
      'stat' as const,
      'structure' as const,
      'none' as const,
    ),
    fc.constantFrom('allow' as const, 'review' as const, 'deny' as const),
    fc.string({ maxLength: 10 }),
    verdict,
  )
  .filter(([, sides]) => sides.before !== undefined || sides.after !== undefined)
  .map(([at, sides, level, decision, rule, rest]) => ({
    path: at,
    ...sides,
    level,
    decision,
    rule,
    ...rest,
  }));

describe('conversions between memory and documents', () => {
  it('a change comes back as it was, through the bytes', () => {
    fc.assert(
      fc.property(record, (change) => {
        const text = JSON.stringify(toChangeDocument(change));
        // The writer's shortcut.
        expect(text).toBe(canonicalJson(toChangeDocument(change)));
        const document = JSON.parse(text) as ReturnType<typeof toChangeDocument>;
        expect(fromChangeDocument(document)).toEqual(change);
        expect(canonicalJson(toChangeDocument(fromChangeDocument(document)))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('what the writer takes, the reader gives back', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 5 }), (changes) => {
        const directory = temporaryDir();
        const writer = CapsuleWriter.open(Dir.open(directory), { runId: RUN_ID, pid: 1, at: AT });
        let totals;
        try {
          totals = writer.writeChanges(changes);
        } catch (error) {
          // Lists that break a rule of the format are the writer's to refuse.
          if (error instanceof AgentdiffError && error.code === 'CAPSULE_INVALID') return;
          throw error;
        }
        writer.seal(AT, 'run', sampleDocument(totals), POLICY);
        expect([...CapsuleReader.open(Dir.open(directory)).changes()]).toEqual(changes);
      }),
      { numRuns: 40 },
    );
  });

  it('an absolute path comes back as it was', () => {
    const absolute = fc.array(name, { maxLength: 4 }).map((names) => {
      const below = names.reduce(joinPath, ROOT_PATH);
      return fromBytes(Buffer.concat([Buffer.from('/'), toBytes(below)]));
    });
    fc.assert(
      fc.property(absolute, (at) => {
        expect(fromAbsolutePathDocument(toAbsolutePathDocument(at))).toBe(at);
      }),
    );
  });

  it('a snapshot keeps its tree and its root', () => {
    fc.assert(
      fc.property(digest, fc.nat(0o7777), id, id, (tree, mode, uid, gid) => {
        const content: Content = { is: 'digest', digest: tree };
        const root: Observed = { state: { kind: 'directory', mode, uid, gid, size: 0, content } };
        const document = toSnapshotDocument({ tree, root, entries: 1, files: 1, bytes: 1 });
        expect(fromSnapshotDocument(document)).toEqual({ tree, root });
      }),
    );
  });
});

/**
 * What a forger who makes every checksum anew can leave out of `capsule.json` unseen: it says less then, and nothing in the capsule says it twice.
 * The list is here so that it does not grow unnoticed.
 */
const SAYS_LESS =
  /^(task|previous|argv\.\d|overlapping\.\d|cwd\.pathBytes|coverage\.lowered\.\d|times\.child(EndedAt|DurationMs))$/;

type Json = Record<string, unknown>;

describe('leaving something out of a capsule that holds', () => {
  it.each(['SHA256SUMS', 'capsule.json', 'changes.jsonl', 'events.jsonl', 'policy.json'])(
    'the file %s',
    (member) => {
      for (const isForged of [false, true]) {
        const directory = temporaryDir();
        writeSample(directory);
        fs.rmSync(path.join(directory, member));
        if (isForged && member !== 'SHA256SUMS') forgeManifest(directory);
        expect(problemsOf(directory)).not.toEqual([]);
      }
    },
  );

  it('any field of capsule.json, with every checksum made anew', () => {
    const directory = temporaryDir();
    writeSample(directory);
    const whole = JSON.parse(readMemberText(directory, 'capsule.json')) as Json;
    const fields = fieldsOf(whole);
    expect(fields.length).toBeGreaterThan(50);
    for (const field of fields) {
      if (SAYS_LESS.test(field.join('.'))) continue;
      replaceMember(directory, 'capsule.json', `${canonicalJson(without(whole, field))}\n`);
      forgeManifest(directory);
      expect([field, ...problemsOf(directory)]).not.toEqual([field]);
    }
  });

  it('any field of any event, with the chain and every checksum made anew', () => {
    const directory = temporaryDir();
    writeSample(directory);
    const all = parsedLines(directory, 'events.jsonl');
    for (const [i, event] of all.entries()) {
      for (const field of fieldsOf(event).filter(([key]) => key !== 'prev')) {
        const changed = all.with(i, without(event, field));
        replaceMember(directory, 'events.jsonl', chainEvents(changed));
        forgeManifest(directory);
        expect([i, field, ...problemsOf(directory)]).not.toEqual([i, field]);
      }
    }
  });

  it('any field of any change but the particulars', () => {
    const directory = temporaryDir();
    writeSample(directory);
    const all = parsedLines(directory, 'changes.jsonl');
    for (const [i, change] of all.entries()) {
      for (const field of fieldsOf(change)) {
        // Another name, or a side that says less exactly, is for the comparison with the snapshots to find.
        if (field[0] === 'pathBytes') continue;
        if (field[1] === 'info' && field.length === 2) continue;
        if (field[1] === 'unknown' && field[2] === 'identity') continue;
        const list = all.with(i, without(change, field)).map((json) => `${canonicalJson(json)}\n`);
        replaceMember(directory, 'changes.jsonl', list.join(''));
        forgeManifest(directory);
        expect([i, field, ...problemsOf(directory)]).not.toEqual([i, field]);
      }
    }
  });

  it('any line of a list', () => {
    for (const member of ['changes.jsonl', 'events.jsonl']) {
      const directory = temporaryDir();
      writeSample(directory);
      const all = parsedLines(directory, member);
      for (const [i] of all.entries()) {
        const list = all.toSpliced(i, 1);
        const text =
          member === 'events.jsonl'
            ? chainEvents(list)
            : list.map((json) => `${canonicalJson(json)}\n`).join('');
        replaceMember(directory, member, text);
        forgeManifest(directory);
        expect([member, i, ...problemsOf(directory)]).not.toEqual([member, i]);
      }
    }
  });
});

function problemsOf(directory: string): string[] {
  const dir = Dir.open(directory);
  try {
    const reader = CapsuleReader.open(dir);
    return [...reader.checkFiles(), ...reader.checkDocuments()].map(
      ({ member, problem }) => `${member}: ${problem}`,
    );
  } finally {
    dir.close();
  }
}

function parsedLines(directory: string, member: string): Json[] {
  return readMemberText(directory, member)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json);
}

/** Every place in a document, as the keys that lead there. */
function fieldsOf(value: unknown, above: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    [...above, key],
    ...fieldsOf(inner, [...above, key]),
  ]);
}

function without(value: Json, [key = '', ...below]: readonly string[]): Json {
  if (Array.isArray(value)) {
    const list = value as unknown[];
    const changed =
      below.length === 0
        ? list.toSpliced(Number(key), 1)
        : list.with(Number(key), without(list[Number(key)] as Json, below));
    return changed as unknown as Json;
  }
  const entries = Object.entries(value).flatMap(([name, inner]) => {
    if (name !== key) return [[name, inner]];
    return below.length === 0 ? [] : [[name, without(inner as Json, below)]];
  });
  return Object.fromEntries(entries) as Json;
}
