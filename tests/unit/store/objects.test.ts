import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '../../../src/core/index.ts';
import type { ObjectReader } from '../../../src/store/index.ts';
import { begun, freshBase, inStore, NOW, openForReading, openForWriting } from '../../support/store.ts';

const LARGE = Buffer.alloc((1 << 20) + 1, 'large');
const SMALL = Buffer.from('small');
const ABSENT = digestOf('absent');

/** A store with one small and one large object, closed again. */
function stored(): { base: string; small: Digest; large: Digest } {
  const { base, writable, run } = begun();
  const batch = writable.objectBatch(run.id);
  const [small, large] = [batch.put(SMALL), batch.put(LARGE)];
  batch.put(Buffer.from('neighbour'));
  batch.commit();
  return { base, small, large };
}

function streamed(objects: ObjectReader, digest: Digest): Buffer {
  const pieces: Buffer[] = [];
  objects.stream(digest, (piece) => pieces.push(Buffer.from(piece)));
  return Buffer.concat(pieces);
}

function onlyFile(base: string, folder: string, ending: string): string {
  const names = fs.readdirSync(inStore(base, folder), { recursive: true, encoding: 'utf8' });
  const [name] = names.filter((each) => each.endsWith(ending));
  expect(name).toBeDefined();
  return inStore(base, folder, name ?? '');
}

function alter(file: string, change: (bytes: Buffer) => Buffer): void {
  const bytes = fs.readFileSync(file);
  fs.chmodSync(file, 0o600);
  fs.writeFileSync(file, change(bytes));
}

function flip(at: number): (bytes: Buffer) => Buffer {
  return (bytes) => {
    const index = at < 0 ? bytes.length + at : at;
    bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index);
    return bytes;
  };
}

const damaged = expect.objectContaining({ code: 'OBJECT_DAMAGED' });
const missing = expect.objectContaining({ code: 'OBJECT_MISSING' });
const unknown = expect.objectContaining({ code: 'STORE_DAMAGED' });

describe('reading objects', () => {
  it('gives back what was put, whole and in pieces', () => {
    const { base, small, large } = stored();
    const { objects } = openForReading(base);
    expect(objects.get(small)).toEqual(SMALL);
    expect(objects.get(large).equals(LARGE)).toBe(true);
    expect(streamed(objects, small)).toEqual(SMALL);
    expect(streamed(objects, large).equals(LARGE)).toBe(true);
    expect([objects.check(small), objects.check(large)]).toEqual(['present', 'present']);
    expect([objects.has(small), objects.has(large)]).toEqual([true, true]);
  });

  it('tells what is not there', () => {
    for (const base of [freshBase(), stored().base]) {
      const { objects } = openForReading(base);
      expect(objects.has(ABSENT)).toBe(false);
      expect(objects.check(ABSENT)).toBe('missing');
      expect(() => objects.get(ABSENT)).toThrow(missing);
      expect(() => streamed(objects, ABSENT)).toThrow(missing);
    }
  });

  it('refuses an object longer than the caller allows, before it reads it', () => {
    const { base, small, large } = stored();
    const { objects } = openForReading(base);
    expect(() => objects.get(small, SMALL.length - 1)).toThrow(damaged);
    expect(() => objects.get(large, 1 << 20)).toThrow(damaged);
    expect(objects.get(small, SMALL.length)).toEqual(SMALL);
  });

  it('finds what was stored after it was opened', () => {
    const { base } = stored();
    const { objects } = openForReading(base);
    const [later, laterLarge] = [Buffer.from('later'), Buffer.alloc(2 << 20, 'later')];
    expect([objects.has(digestOf(later)), objects.has(digestOf(laterLarge))]).toEqual([false, false]);
    const writable = openForWriting(base);
    const batch = writable.objectBatch(writable.newRun(NOW).id);
    batch.put(later);
    batch.put(laterLarge);
    batch.commit();
    expect(objects.get(digestOf(later))).toEqual(later);
    expect(objects.check(digestOf(laterLarge))).toBe('present');
  });

  it.each(['asked before', 'not asked before'])('finds what moved to another pack meanwhile: %s', (when) => {
    const { base, small } = stored();
    const { objects } = openForReading(base);
    const moved = Buffer.from('moved');
    const writable = openForWriting(base);
    const first = writable.objectBatch(writable.newRun(NOW).id);
    const digest = first.put(moved);
    first.commit();
    expect(objects.has(small)).toBe(true);
    if (when === 'asked before') expect(objects.has(digest)).toBe(true);
    // Another process that does not see the first batch's object as kept: what remains of a pack is written anew, and the pack goes.
    const packs = inStore(base, 'packs');
    const old = fs.readdirSync(packs).filter((name) => name.endsWith('.idx'));
    const other = openForWriting(base);
    const second = other.objectBatch(other.newRun(NOW).id);
    for (const name of old) fs.renameSync(`${packs}/${name}`, `${packs}/${name}.hidden`);
    second.put(moved);
    second.put(SMALL);
    second.commit();
    for (const name of old) {
      fs.unlinkSync(`${packs}/${name}.hidden`);
      fs.unlinkSync(`${packs}/${name.replace('.idx', '.pack')}`);
    }
    expect(objects.get(digest)).toEqual(moved);
    expect(objects.checkEach([digest, small, ABSENT])).toEqual(['present', 'present', 'missing']);
    expect(objects.has(ABSENT)).toBe(false);
  });

  it('passes on what the receiver of the pieces throws', () => {
    const { base, small } = stored();
    const { objects } = openForReading(base);
    const error = new Error('receiver');
    expect(() =>
      objects.stream(small, () => {
        throw error;
      }),
    ).toThrow(error);
    expect(objects.get(small)).toEqual(SMALL);
  });
});

describe('a damaged object', () => {
  it.each([
    ['a flipped bit in a pack', 'packs', '.pack', flip(0), 'small'],
    ['a flipped bit in a large object', 'large', '', flip(-1), 'large'],
    ['a large object cut off', 'large', '', (bytes: Buffer) => bytes.subarray(1), 'large'],
    [
      'a large object with more bytes',
      'large',
      '',
      (bytes: Buffer) => Buffer.concat([bytes, SMALL]),
      'large',
    ],
    ['an emptied large object', 'large', '', () => Buffer.alloc(0), 'large'],
  ] as const)('is never handed out: %s', (_, folder, ending, change, which) => {
    const store = stored();
    alter(onlyFile(store.base, folder, ending === '' ? store.large : ending), change);
    const { objects } = openForReading(store.base);
    const digest = store[which];
    expect(objects.check(digest)).toBe('damaged');
    expect(() => objects.get(digest)).toThrow(damaged);
    expect(() => streamed(objects, digest)).toThrow(damaged);
    expect(objects.check(which === 'small' ? store.large : store.small)).toBe('present');
  });

  it('is not read through a link, nor from a FIFO or a directory', () => {
    for (const replace of [
      (file: string) => fs.symlinkSync(`${file}.kept`, file),
      (file: string) => fs.mkdirSync(file),
      (file: string) => execFileSync('mkfifo', [file]),
    ]) {
      const { base, large } = stored();
      const file = onlyFile(base, 'large', large);
      fs.renameSync(file, `${file}.kept`);
      replace(file);
      const { objects } = openForReading(base);
      expect(objects.check(large)).toBe('damaged');
      expect(() => objects.get(large)).toThrow(damaged);
    }
  });

  it('is missing, not damaged, when its file is gone', () => {
    const { base, large } = stored();
    fs.unlinkSync(onlyFile(base, 'large', large));
    expect(openForReading(base).objects.check(large)).toBe('missing');
  });

  it('is read from another copy when there is one', () => {
    const { base, writable, run } = begun();
    // Two batches that do not see each other, as of two processes.
    const batches = [writable.objectBatch(run.id), writable.objectBatch(run.id)];
    const digests = batches.map((batch) => batch.put(SMALL));
    for (const batch of batches) batch.commit();
    const [digest] = digests;
    if (digest === undefined) throw new Error('two batches');
    for (const number of [0, 1]) {
      const file = inStore(base, 'packs', `${run.id}-${number}.pack`);
      alter(file, flip(0));
      const { objects } = openForReading(base);
      expect(objects.get(digest)).toEqual(SMALL);
      expect(streamed(objects, digest)).toEqual(SMALL);
      alter(file, flip(0));
    }
  });
});

describe('a damaged pack index', () => {
  it.each([
    ['a flipped bit in its head', flip(20)],
    ['a flipped bit in a record', flip(40)],
    ['cut off', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['emptied', () => Buffer.alloc(0)],
    [
      'another version',
      (bytes: Buffer) => Buffer.concat([Buffer.from('agentdiff-idx 2\n'), bytes.subarray(16)]),
    ],
  ] as const)('leaves open what it lists, and never says "absent": %s', (_, change) => {
    const { base, small, large } = stored();
    alter(onlyFile(base, 'packs', '.idx'), change);
    const { objects } = openForReading(base);
    for (const digest of [small, ABSENT]) {
      expect(() => objects.has(digest)).toThrow(unknown);
      expect(() => objects.get(digest)).toThrow(unknown);
      expect(() => streamed(objects, digest)).toThrow(unknown);
      expect(objects.check(digest)).toBe('damaged');
    }
    expect(objects.check(large)).toBe('present');
  });

  it('still leads to what it lists, since every object is compared with its digest, and never says "absent"', () => {
    const { base, small } = stored();
    alter(onlyFile(base, 'packs', '.idx'), flip(-1));
    const { objects } = openForReading(base);
    expect(objects.get(small)).toEqual(SMALL);
    expect(() => objects.has(ABSENT)).toThrow(unknown);
    expect(() => objects.get(ABSENT)).toThrow(unknown);
    expect(objects.check(ABSENT)).toBe('damaged');
    expect(objects.checkEach([ABSENT, small])).toEqual(['damaged', 'present']);
  });

  it.each([
    ['shorter than its index says', (file: string) => fs.truncateSync(file, 1)],
    ['gone', (file: string) => fs.unlinkSync(file)],
  ])('so does a pack that is %s', (_, harm) => {
    const { base, small } = stored();
    harm(onlyFile(base, 'packs', '.pack'));
    expect(() => openForReading(base).objects.has(small)).toThrow(unknown);
  });

  it('is made up for when the object is put again', () => {
    const { base, small } = stored();
    alter(onlyFile(base, 'packs', '.idx'), flip(40));
    const writable = openForWriting(base);
    const batch = writable.objectBatch(writable.newRun(NOW).id);
    expect(batch.has(small)).toBe(false);
    batch.put(SMALL);
    batch.commit();
    expect(openForReading(base).objects.get(small)).toEqual(SMALL);
  });

  it('does not count while it has no pack of a name of ours', () => {
    const { base } = stored();
    fs.writeFileSync(inStore(base, 'packs', 'notes.idx'), 'not ours');
    expect(openForReading(base).objects.has(ABSENT)).toBe(false);
  });
});
