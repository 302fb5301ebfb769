/** A capsule of format 1 that was written once and stays as it is: every later version of the tool reads it. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CapsuleReader, reversibilityOf } from '../../../src/capsule/index.ts';
import { fromBytes } from '../../../src/core/index.ts';
import { Dir } from '../../../src/fs/index.ts';

const directory = fileURLToPath(new URL('../../golden/v1/capsule', import.meta.url));

describe('the capsule of format 1 that is kept', () => {
  it('has not been touched', () => {
    const reader = CapsuleReader.open(Dir.open(directory));
    expect(reader.digest()).toBe('8b61e9c9c5d09324de08c188d4d02867b14a110c0a97462af95aa866200d6a6e');
    expect(fs.readdirSync(directory)).toHaveLength(5);
  });

  it('is intact and consistent', () => {
    const reader = CapsuleReader.open(Dir.open(directory));
    expect(reader.checkFiles()).toEqual([]);
    expect(reader.checkDocuments()).toEqual([]);
  });

  it('reads as the JSON that is in it', () => {
    const reader = CapsuleReader.open(Dir.open(directory));
    const text = (member: string): string => fs.readFileSync(path.join(directory, member), 'utf8');
    expect(reader.document()).toEqual(JSON.parse(text('capsule.json')));
    expect(reader.policy()).toEqual(JSON.parse(text('policy.json')));
    expect([...reader.events()]).toHaveLength(text('events.jsonl').trim().split('\n').length);
    const changes = [...reader.changes()];
    expect(changes).toHaveLength(text('changes.jsonl').trim().split('\n').length);
    expect(changes.map((change) => change.path)).toContain(fromBytes(Buffer.from([0xff, 0x61])));
    expect(reversibilityOf(reader.document()).tier).toBe('partial');
  });
});
