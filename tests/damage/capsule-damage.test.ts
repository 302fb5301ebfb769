import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CapsuleReader } from '../../src/capsule/index.ts';
import { AgentdiffError } from '../../src/core/index.ts';
import { Dir } from '../../src/fs/index.ts';
import { forgeManifest, replaceMember, writeSample } from '../support/sample-capsule.ts';
import { temporaryDir } from '../support/temporary.ts';
import { type Damage, document, FILE_DAMAGE, FORGERY, type Json, MANIFEST_DAMAGE } from './catalogue.ts';

describe('damage to a capsule', () => {
  it.each(FILE_DAMAGE)('files: $name', expectProblems);
  it.each(MANIFEST_DAMAGE)('manifest: $name', expectProblems);
  it.each(FORGERY)('forgery: $name', expectProblems);

  it('has at least 60 rows', () => {
    expect(FILE_DAMAGE.length + MANIFEST_DAMAGE.length + FORGERY.length).toBeGreaterThan(60);
  });

  it('does not reach the prototypes', () => {
    expect(({} as Json)['force']).toBeUndefined();
  });
});

/** Everything that reads a document compares its bytes, not only `verify`. */
describe('a byte flipped in any member', () => {
  const rows: [string, (reader: CapsuleReader) => unknown][] = [
    ['capsule.json', (reader) => reader.document()],
    ['policy.json', (reader) => reader.policy()],
    ['changes.jsonl', (reader) => [...reader.changes()]],
    ['events.jsonl', (reader) => [...reader.events()]],
  ];
  it.each(rows)('is found when %s is read', (member, read) => {
    const directory = temporaryDir();
    writeSample(directory);
    const bytes = fs.readFileSync(path.join(directory, member));
    // In a string's letters, so that the document stays valid and only its digest tells; of the events the last, which no line names.
    const harmed = bytes
      .toString()
      .replace(member === 'events.jsonl' ? /27\.179Z/ : /default|tidy/, '27.178Z');
    replaceMember(directory, member, harmed);
    const code = codeOf(() => read(CapsuleReader.open(Dir.open(directory))));
    expect(code).toBe('CAPSULE_DAMAGED');
    expect(codeOf(() => read(CapsuleReader.open(Dir.open(directory), { unchecked: true })))).toBe('');
  });
});

describe('a capsule of a newer format', () => {
  it.each([2, 3, 999])('format %i is told apart from damage', (format) => {
    const directory = temporaryDir();
    writeSample(directory);
    document(directory, (json) => ({ format, shape: 'unheard of', runId: json['runId'] }));
    fs.writeFileSync(path.join(directory, 'ports.json'), '');
    expect(codeOf(() => CapsuleReader.open(Dir.open(directory)))).toBe('CAPSULE_VERSION');
  });

  it.each([0, -1, 1.5, '2', null, true])('format %j is no format at all', (format) => {
    const directory = temporaryDir();
    writeSample(directory);
    document(directory, (json) => ({ ...json, format }));
    forgeManifest(directory);
    const reader = CapsuleReader.open(Dir.open(directory));
    expect(reader.checkDocuments().map(({ member, problem }) => `${member}: ${problem}`)).toEqual([
      'capsule.json: invalid',
    ]);
  });
});

function expectProblems({ harm, files = [], documents = [] }: Damage): void {
  const directory = path.join(temporaryDir(), 'capsule');
  writeSample(directory);
  harm(directory);
  const reader = CapsuleReader.open(Dir.open(directory));
  expect(reader.checkFiles().map(({ member, problem }) => `${member}: ${problem}`)).toEqual(files);
  const found = reader.checkDocuments().map(({ member, problem }) => `${member}: ${problem}`);
  expect([...new Set(found)].sort()).toEqual([...documents].sort());
}

function codeOf(action: () => unknown): string {
  try {
    action();
    return '';
  } catch (error) {
    return error instanceof AgentdiffError ? error.code : String(error);
  }
}
