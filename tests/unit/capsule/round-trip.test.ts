import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CapsuleReader } from '../../../src/capsule/index.ts';
import { CapsuleWriter } from '../../../src/capsule/write.ts';
import { digestOf } from '../../../src/core/index.ts';
import { Dir } from '../../../src/fs/index.ts';
import {
  AT,
  POLICY,
  readMemberText,
  RUN_ID,
  sampleChanges,
  sampleDocument,
  writeSample,
} from '../../support/sample-capsule.ts';
import { temporaryDir } from '../../support/temporary.ts';

describe('a capsule that was written', () => {
  it('is intact, consistent, and reads as what was written', () => {
    const directory = temporaryDir();
    const digest = writeSample(directory);
    const reader = CapsuleReader.open(Dir.open(directory));
    expect(reader.checkFiles()).toEqual([]);
    expect(reader.checkDocuments()).toEqual([]);
    expect(reader.digest()).toBe(digest);
    expect(digest).toBe(digestOf(fs.readFileSync(path.join(directory, 'SHA256SUMS'))));
    expect([...reader.changes()]).toEqual(sampleChanges());
    expect(reader.document().counts).toEqual({ created: 2, deleted: 5, modified: 5 });
    expect(reader.policy()).toEqual(POLICY);
    const types = [...reader.events()].map(({ type }) => type);
    expect(types.slice(0, 1).concat(types.slice(-1))).toEqual(['run-started', 'sealing']);
  });

  it('is checked by sha256sum alone', () => {
    const directory = temporaryDir();
    writeSample(directory);
    const output = execFileSync('env', ['sha256sum', '-c', '--strict', 'SHA256SUMS'], {
      cwd: directory,
      encoding: 'utf8',
    });
    expect(output.trim().split('\n')).toHaveLength(4);
  });

  it('has read-only files and nothing else', () => {
    const directory = temporaryDir();
    writeSample(directory);
    const modes = fs
      .readdirSync(directory)
      .map((name) => fs.statSync(path.join(directory, name)).mode & 0o777);
    expect(modes).toEqual([0o400, 0o400, 0o400, 0o400, 0o400]);
  });

  it('holds one canonical text a line', () => {
    const directory = temporaryDir();
    writeSample(directory);
    for (const member of ['capsule.json', 'policy.json', 'changes.jsonl', 'events.jsonl']) {
      const text = readMemberText(directory, member);
      expect(text.endsWith('\n')).toBe(true);
      expect(text.includes('\r') || text.includes(' \n')).toBe(false);
    }
  });
});

describe('the writer', () => {
  it('writes nothing after the seal', () => {
    const directory = temporaryDir();
    const dir = Dir.open(directory);
    const writer = CapsuleWriter.open(dir, { runId: RUN_ID, pid: 1, at: AT });
    const totals = writer.writeChanges(sampleChanges());
    const document = { ...sampleDocument(totals), exit: { started: false } };
    writer.seal(AT, 'run', document, POLICY);
    const before = fs.readdirSync(directory).map((name) => readMemberText(directory, name));
    expect(() => writer.addEvent(AT, { type: 'child-started', pid: 2 })).toThrow(withCode('INTERNAL'));
    expect(() => writer.writeChanges([])).toThrow(withCode('INTERNAL'));
    expect(() => writer.seal(AT, 'run', document, POLICY)).toThrow(withCode('INTERNAL'));
    expect(fs.readdirSync(directory).map((name) => readMemberText(directory, name))).toEqual(before);
  });

  it('refuses a document that names another policy', () => {
    const writer = CapsuleWriter.open(Dir.open(temporaryDir()), { runId: RUN_ID, pid: 1, at: AT });
    const totals = writer.writeChanges([]);
    expect(() => writer.seal(AT, 'run', sampleDocument(totals), { version: 2 })).toThrow(
      withCode('INTERNAL'),
    );
  });

  it('refuses changes out of order, and puts no manifest over them', () => {
    const directory = temporaryDir();
    const writer = CapsuleWriter.open(Dir.open(directory), { runId: RUN_ID, pid: 1, at: AT });
    expect(() => writer.writeChanges(sampleChanges().reverse())).toThrow(withCode('CAPSULE_INVALID'));
    expect(fs.existsSync(path.join(directory, 'SHA256SUMS'))).toBe(false);
  });

  it('lets an error of the changes pass as it is', () => {
    const writer = CapsuleWriter.open(Dir.open(temporaryDir()), { runId: RUN_ID, pid: 1, at: AT });
    const failing = {
      [Symbol.iterator]: () => ({
        next: (): never => {
          throw new RangeError('object gone');
        },
      }),
    };
    expect(() => writer.writeChanges(failing)).toThrow(RangeError);
  });

  it('says SEAL_FAILED when the system refuses', () => {
    const directory = temporaryDir();
    const dir = Dir.open(directory);
    fs.writeFileSync(path.join(directory, 'changes.jsonl'), 'taken');
    const writer = CapsuleWriter.open(dir, { runId: RUN_ID, pid: 1, at: AT });
    expect(() => writer.writeChanges([])).toThrow(withCode('SEAL_FAILED'));
  });

  it('appends each event at once, so that a killed run leaves what it did', () => {
    const directory = temporaryDir();
    const writer = CapsuleWriter.open(Dir.open(directory), { runId: RUN_ID, pid: 1, at: AT });
    writer.addEvent(AT, { type: 'child-started', pid: 2 });
    expect(readMemberText(directory, 'events.jsonl').split('\n')).toHaveLength(3);
  });
});

function withCode(code: string): unknown {
  return expect.objectContaining({ code });
}
