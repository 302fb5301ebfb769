import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/core/index.ts';
import { type FsCall, interceptWrites, systemError } from '../../support/fs-calls.ts';
import { begun, inStore, NOW, openForReading, openForWriting } from '../../support/store.ts';

const LARGE = Buffer.alloc((1 << 20) + 1, 'large');

/** Everything below packs/ and large/, directories left out. */
function files(base: string): string[] {
  return ['packs', 'large'].flatMap((folder) =>
    fs
      .readdirSync(inStore(base, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => fs.lstatSync(inStore(base, folder, name)).isFile())
      .map((name) => `${folder}/${name}`),
  );
}

describe('a batch', () => {
  it('shows its objects to readers at the commit, not before', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const digests = [batch.put(Buffer.from('small')), batch.put(LARGE)];
    expect(digests.map((digest) => batch.has(digest))).toEqual([true, true]);
    expect(digests.map((digest) => openForReading(base).objects.has(digest))).toEqual([false, false]);
    batch.commit();
    expect(digests.map((digest) => openForReading(base).objects.check(digest))).toEqual([
      'present',
      'present',
    ]);
    expect(digests.map((digest) => writable.store.objects.has(digest))).toEqual([true, true]);
    expect(files(base)).toHaveLength(3);
  });

  it('puts small objects into one pack and an index, large ones into files of their own', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const atLimit = batch.put(Buffer.alloc(1 << 20));
    batch.put(Buffer.from('a'));
    const over = batch.put(LARGE);
    batch.commit();
    expect(files(base).sort()).toEqual(
      [`large/${over.slice(0, 2)}/${over}`, `packs/${run.id}-0.idx`, `packs/${run.id}-0.pack`].sort(),
    );
    expect(openForReading(base).objects.get(atLimit)).toHaveLength(1 << 20);
  });

  it('counts and writes only what is new', () => {
    const { writable, run } = begun();
    const first = writable.objectBatch(run.id);
    for (let i = 0; i < 2; i++) {
      first.put(Buffer.from('12345'));
      first.put(LARGE);
      first.putStream(5, (sink) => sink(Buffer.from('12345')));
      first.putStream(LARGE.length, (sink) => sink(LARGE));
    }
    expect(first.newBytes).toBe(5 + LARGE.length);
    first.commit();
    const second = writable.objectBatch(run.id);
    second.put(Buffer.from('12345'));
    second.put(LARGE);
    expect(second.newBytes).toBe(0);
    second.put(Buffer.from('123'));
    expect(second.newBytes).toBe(3);
    second.abort();
  });

  it('leaves nothing when nothing was put, or nothing new', () => {
    const { base, writable, run } = begun();
    writable.objectBatch(run.id).commit();
    expect(files(base)).toEqual([]);
    const batch = writable.objectBatch(run.id);
    batch.put(LARGE);
    batch.commit();
    const again = writable.objectBatch(run.id);
    again.put(LARGE);
    again.commit();
    expect(files(base)).toHaveLength(1);
  });

  it('keeps the empty object', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const digests = [batch.put(Buffer.alloc(0)), batch.putStream(0, () => {})];
    batch.commit();
    expect(digests).toEqual([digestOf(''), digestOf('')]);
    expect(openForReading(base).objects.get(digestOf(''))).toHaveLength(0);
  });

  it('does not depend on the caller leaving the bytes alone', () => {
    const { writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const scratch = Buffer.from('first');
    const digest = batch.put(scratch);
    const streamed = batch.putStream(10, (sink) => {
      sink(scratch.fill('a'));
      sink(scratch.fill('b'));
    });
    batch.commit();
    expect(writable.store.objects.get(digest).toString()).toBe('first');
    expect(writable.store.objects.get(streamed).toString()).toBe('aaaaabbbbb');
  });

  it('takes the digest of bytes that were hashed before, and stores them once', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const bytes = Buffer.from('hashed elsewhere');
    batch.putHashed(digestOf(bytes), bytes);
    batch.putHashed(digestOf(bytes), bytes);
    expect(batch.put(bytes)).toBe(digestOf(bytes));
    expect(batch.newBytes).toBe(bytes.length);
    batch.commit();
    expect(openForReading(base).objects.get(digestOf(bytes))).toEqual(bytes);
  });

  it('hands nothing out under a digest that was not that of the bytes', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    batch.putHashed(digestOf('other'), Buffer.from('bytes'));
    batch.commit();
    const { objects } = openForReading(base);
    expect(objects.check(digestOf('other'))).toBe('damaged');
    expect(() => objects.get(digestOf('other'))).toThrow(expect.objectContaining({ code: 'OBJECT_DAMAGED' }));
  });

  it('hashes large objects itself', () => {
    const { writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    expect(() => batch.putHashed(digestOf(LARGE), LARGE)).toThrow(
      expect.objectContaining({ code: 'INTERNAL' }),
    );
    batch.abort();
  });

  it('writes more than one write buffer in order', () => {
    const { writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const blobs = Array.from({ length: 12 }, (_, i) => Buffer.alloc(1_000_000 + i, String(i)));
    const digests = blobs.map((blob) => batch.put(blob));
    batch.commit();
    digests.forEach((digest, i) =>
      expect(writable.store.objects.get(digest).equals(blobs[i] ?? LARGE)).toBe(true),
    );
  });

  it('leaves nothing behind when it is aborted, whatever was put', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    for (let i = 0; i < 8; i++) batch.put(Buffer.alloc(1 << 20, String(i)));
    batch.put(LARGE);
    expect(files(base)).not.toEqual([]);
    batch.abort();
    batch.abort();
    expect(files(base)).toEqual([]);
    expect(() => batch.put(LARGE)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });

  it('does nothing at an abort after the commit', () => {
    const { writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const digests = [batch.put(Buffer.from('x')), batch.put(LARGE)];
    batch.commit();
    batch.abort();
    expect(digests.map((digest) => writable.store.objects.check(digest))).toEqual(['present', 'present']);
  });

  it.each([10, LARGE.length])('passes on what the producer of %i bytes throws, and goes on', (size) => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const error = new Error('the file moved');
    expect(() =>
      batch.putStream(size, (sink) => {
        sink(Buffer.from('12345'));
        throw error;
      }),
    ).toThrow(error);
    expect(files(base)).toEqual([]);
    const digest = batch.put(Buffer.from('after'));
    batch.commit();
    expect(writable.store.objects.get(digest).toString()).toBe('after');
  });

  it.each([
    [10, 9],
    [10, 11],
    [LARGE.length, 9],
  ])('refuses a producer that announced %i bytes and gives %i', (announced, given) => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    expect(() => batch.putStream(announced, (sink) => sink(Buffer.alloc(given)))).toThrow(
      expect.objectContaining({ code: 'INTERNAL' }),
    );
    batch.abort();
    expect(files(base)).toEqual([]);
  });

  it('numbers the packs of one run', () => {
    const { base, writable, run } = begun();
    for (const text of ['a', 'b', 'c']) {
      const batch = writable.objectBatch(run.id);
      batch.put(Buffer.from(text));
      batch.commit();
    }
    const names = fs.readdirSync(inStore(base, 'packs')).filter((name) => name.endsWith('.idx'));
    expect(names.sort()).toEqual([0, 1, 2].map((number) => `${run.id}-${number}.idx`));
  });

  it('shares the store with another one that puts the same objects at the same time', () => {
    const { base, writable, run } = begun();
    const other = openForWriting(base);
    const batches = [writable.objectBatch(run.id), other.objectBatch(other.newRun(NOW).id)];
    const digests = ['a', 'b', LARGE].map(
      (bytes) => batches.map((batch) => batch.put(Buffer.from(bytes)))[0],
    );
    for (const batch of batches) batch.commit();
    const { objects } = openForReading(base);
    expect(digests.map((digest) => digest && objects.check(digest))).toEqual([
      'present',
      'present',
      'present',
    ]);
  });
});

describe('the order of writes', () => {
  it('I1, I2: contents, then their names, then the index, then its name; each on the disk before the next', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    batch.put(Buffer.from('small'));
    const large = batch.put(LARGE);
    const calls: FsCall[] = [];
    const restore = interceptWrites((call) => calls.push(call));
    batch.commit();
    restore();
    const prefix = `${inStore(base)}/`;
    const steps = calls
      .map(
        ({ name, target }) => `${name} ${target.replace(prefix, '').replace(/-[0-9a-f]{16}\.tmp/, '-X.tmp')}`,
      )
      .filter((step) => !step.startsWith('openSync') && !step.startsWith('mkdirSync'));
    const pack = `packs/${run.id}-0`;
    const folder = `large/${large.slice(0, 2)}`;
    expect(steps).toEqual([
      `fsyncSync large/${run.id}-X.tmp`,
      `renameSync large/${run.id}-X.tmp`,
      `fsyncSync ${folder}`,
      'fsyncSync large',
      `writeSync ${pack}.pack`,
      `fsyncSync ${pack}.pack`,
      'fsyncSync packs',
      `writeSync ${pack}.idx.tmp`,
      `fsyncSync ${pack}.idx.tmp`,
      `renameSync ${pack}.idx.tmp`,
      'fsyncSync packs',
    ]);
  });
});

describe('a store that fails', () => {
  /** Puts and commits with the n-th writing call failing; the number of calls when none failed. */
  function attempt(failAt: number, errno: string): { base: string; failed: unknown; calls: number } {
    const { base, writable, run } = begun();
    let calls = 0;
    const restore = interceptWrites(({ name }) => {
      // Removing frees space and works on a full disk.
      if (name === 'unlinkSync') return;
      if (calls++ === failAt) throw systemError(errno);
    });
    const batch = writable.objectBatch(run.id);
    let failed: unknown;
    try {
      for (let i = 0; i < 6; i++) batch.put(Buffer.alloc(1_000_000, String(i)));
      batch.put(LARGE);
      batch.commit();
    } catch (error) {
      failed = error;
    }
    restore();
    return { base, failed, calls };
  }

  it.each([
    ['ENOSPC', 'STORE_FULL'],
    ['EDQUOT', 'STORE_FULL'],
    ['EIO', 'STORE_UNWRITABLE'],
  ])('%s at any call is %s and leaves nothing half-written', (errno, code) => {
    const { calls } = attempt(-1, errno);
    expect(calls).toBeGreaterThan(10);
    for (let n = 0; n < calls; n++) {
      const { base, failed } = attempt(n, errno);
      expect(failed).toMatchObject({ code });
      const left = files(base);
      expect(left.filter((name) => name.endsWith('.tmp'))).toEqual([]);
      expect(left.filter((name) => name.endsWith('.pack')).length).toBe(
        left.filter((name) => name.endsWith('.idx')).length,
      );
      const { objects } = openForReading(base);
      for (const digest of [digestOf(LARGE), digestOf(Buffer.alloc(1_000_000, '0'))]) {
        expect(objects.check(digest)).not.toBe('damaged');
      }
    }
  });

  it('fails again at every later call, also when a producer swallowed the failure', () => {
    const { writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const restore = interceptWrites(({ name }) => {
      if (name === 'writeSync') throw systemError('ENOSPC');
    });
    const full = expect.objectContaining({ code: 'STORE_FULL' });
    expect(() =>
      batch.putStream(LARGE.length, (sink) => {
        try {
          sink(LARGE);
        } catch {
          // As a careless caller would.
        }
      }),
    ).toThrow(full);
    restore();
    expect(() => batch.put(Buffer.from('x'))).toThrow(full);
    expect(() => batch.commit()).toThrow(full);
  });
});
