import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CapsuleReader } from '../../../src/capsule/index.ts';
import { CapsuleWriter } from '../../../src/capsule/write.ts';
import { parseRelPath } from '../../../src/core/index.ts';
import { Dir } from '../../../src/fs/index.ts';
import {
  AT,
  change,
  digest,
  POLICY,
  readMemberText,
  replaceMember,
  RUN_ID,
  sampleChanges,
  sampleDocument,
  state,
  writeSample,
} from '../../support/sample-capsule.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { asOrdinaryUser } from '../../support/user.ts';

const COUNT = 10_000;

/** A capsule whose list of changes is longer than any buffer of the reader. */
function writeLong(): string {
  const directory = temporaryDir();
  const writer = CapsuleWriter.open(Dir.open(directory), { runId: RUN_ID, pid: 1, at: AT });
  const template = sampleChanges().filter(({ path: at }) => at === '__proto__');
  const changes = Array.from({ length: COUNT }, (_, i) => parseRelPath(`${100_000 + i}`)).flatMap((at) =>
    template.map((change) => ({ ...change, path: at })),
  );
  writer.seal(AT, 'run', sampleDocument(writer.writeChanges(changes)), POLICY);
  return directory;
}

describe('judging the documents', () => {
  it('tells every change on the way, and then compares what it read with the manifest', () => {
    const directory = temporaryDir();
    writeSample(directory);
    const reader = CapsuleReader.open(Dir.open(directory));
    const told: string[] = [];
    expect(reader.checkDocuments((change) => told.push(change.path))).toEqual([]);
    expect(told).toEqual([...reader.changes()].map((change) => change.path));
    // Another list of the same form, put there after the files were found intact.
    const text = readMemberText(directory, 'changes.jsonl');
    replaceMember(directory, 'changes.jsonl', text.replaceAll('"rule":"default"', '"rule":"another"'));
    expect(reader.checkDocuments()).toEqual([]);
    expect(reader.checkDocuments(() => {})).toEqual([
      expect.objectContaining({ member: 'changes.jsonl', problem: 'changed' }),
    ]);
  });
});

describe('what came about before the command', () => {
  const side = state('file', digest('x'));
  const early = { recoverable: false, reason: 'before-command' } as const;

  it.each([
    ['left by a run', { after: side }, {}, []],
    ['that is gone: it has no time', { before: side }, {}, ['changes.jsonl']],
    [
      'in a recover: it has no command',
      { after: side },
      { kind: 'recover', recovers: RUN_ID },
      ['changes.jsonl'],
    ],
  ] as const)('is judged: %s', (_, sides, more, expected) => {
    const directory = temporaryDir();
    const writer = CapsuleWriter.open(Dir.open(directory), { runId: RUN_ID, pid: 1, at: AT });
    const { before: _before, after: _after, ...rest } = change('p', early);
    const totals = writer.writeChanges([{ ...rest, ...sides }]);
    writer.seal(AT, 'run', sampleDocument(totals, more), POLICY);
    const problems = CapsuleReader.open(Dir.open(directory)).checkDocuments();
    const found = problems.filter(({ detail }) => detail.includes('before its command'));
    expect(found.map(({ member }) => member)).toEqual(expected);
  });
});

describe('reading a long list', () => {
  it('gives every line once, across the edges of its pieces', () => {
    const directory = writeLong();
    expect(fs.statSync(path.join(directory, 'changes.jsonl')).size).toBeGreaterThan(3 * 1024 * 1024);
    const paths = [...CapsuleReader.open(Dir.open(directory)).changes()].map((change) => change.path);
    expect(paths).toHaveLength(COUNT);
    expect(new Set(paths).size).toBe(COUNT);
  });

  it('is lazy: the first lines come before the end is looked at', () => {
    const directory = writeLong();
    const text = readMemberText(directory, 'changes.jsonl');
    replaceMember(directory, 'changes.jsonl', `${text.slice(0, -10)}broken`);
    const changes = CapsuleReader.open(Dir.open(directory)).changes();
    expect(changes.next().value).toMatchObject({ path: '100000' });
    expect(() => [...changes]).toThrow(expect.objectContaining({ code: 'CAPSULE_DAMAGED' }));
  });

  it('leaves no file open when the caller stops early', () => {
    const directory = writeLong();
    const reader = CapsuleReader.open(Dir.open(directory));
    const before = fs.readdirSync('/proc/self/fd').length;
    for (const _ of reader.changes()) break;
    expect(fs.readdirSync('/proc/self/fd').length).toBe(before);
  });
});

describe('a capsule that may not be read', () => {
  it('is named as unreadable', () => {
    const directory = temporaryDir();
    writeSample(directory);
    fs.chmodSync(path.join(directory, 'policy.json'), 0);
    const reader = CapsuleReader.open(Dir.open(directory));
    asOrdinaryUser([directory], () => {
      expect(reader.checkFiles()).toEqual([{ member: 'policy.json', problem: 'unreadable' }]);
      expect(() => reader.policy()).toThrow(expect.objectContaining({ code: 'CAPSULE_DAMAGED' }));
    });
  });

  it('has a digest only when its manifest can be used', () => {
    const directory = temporaryDir();
    writeSample(directory);
    replaceMember(directory, 'SHA256SUMS', '');
    const reader = CapsuleReader.open(Dir.open(directory));
    for (const read of [() => reader.digest(), () => reader.document(), () => [...reader.events()]]) {
      expect(read).toThrow(
        expect.objectContaining({
          code: 'CAPSULE_DAMAGED',
          data: { member: 'SHA256SUMS', problem: 'nothing-listed' },
        }),
      );
    }
  });
});
