import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, type Name } from '../../../src/core/index.ts';
import { Dir, FileMoved, type Stat } from '../../../src/fs/index.ts';
import { pretendToClone } from '../../support/cloning.ts';
import { type FsCall, interceptWrites, systemError } from '../../support/fs-calls.ts';
import { loopMount, mountableKinds } from '../../support/loop-mount.ts';
import { begun, inStore, openForReading } from '../../support/store.ts';
import { temporaryDir } from '../../support/temporary.ts';

const F = 'f' as Name;
const BYTES = Buffer.alloc((1 << 20) + 1, 'content');

/** A file of more than 1 MiB in a directory of its own. */
function source(parent = temporaryDir(), bytes = BYTES): { file: string; dir: Dir; seen: Stat } {
  const file = path.join(parent, F);
  fs.writeFileSync(file, bytes, { mode: 0o644 });
  const dir = Dir.open(parent);
  onTestFinished(() => dir.close());
  return { file, dir, seen: dir.lstat(F) };
}

function cloning(options?: Parameters<typeof pretendToClone>[0]): void {
  onTestFinished(pretendToClone(options));
}

function filesIn(base: string): string[] {
  return fs
    .readdirSync(inStore(base, 'large'), { recursive: true, encoding: 'utf8' })
    .filter((name) => fs.lstatSync(inStore(base, 'large', name)).isFile());
}

describe('a large file that is put', () => {
  it('is cloned, and found after the commit under the digest of its bytes', () => {
    cloning();
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    const batch = writable.objectBatch(run.id);
    const digest = batch.putFile(dir, F, seen);
    expect(digest).toBe(digestOf(BYTES));
    expect(batch.has(digestOf(BYTES))).toBe(true);
    expect(batch.newBytes).toBe(0);
    batch.commit();
    expect(openForReading(base).objects.get(digestOf(BYTES)).equals(BYTES)).toBe(true);
    expect(writable.store.objects.has(digestOf(BYTES))).toBe(true);
    expect(filesIn(base)).toEqual([`${digestOf(BYTES).slice(0, 2)}/${digestOf(BYTES)}`]);
    expect(fs.statSync(inStore(base, 'large', filesIn(base)[0] ?? '')).mode & 0o7777).toBe(0o400);
  });

  it('I1: is on the disk under a temporary name before its own name appears, and never written by us', () => {
    cloning();
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    const calls: FsCall[] = [];
    const restore = interceptWrites((call) => calls.push(call));
    const batch = writable.objectBatch(run.id);
    const digest = batch.putFile(dir, F, seen) ?? '';
    batch.commit();
    restore();
    const steps = calls.map(({ name, target }) => {
      const place = target.replace(`${inStore(base)}/`, '');
      return `${name} ${place.replace(/-[0-9a-f]{16}\.tmp/, '-X.tmp')}`;
    });
    const temporary = `large/${run.id}-X.tmp`;
    expect(steps).toEqual([
      `copyFileSync ${temporary}`,
      `chmodSync ${temporary}`,
      `fsyncSync ${temporary}`,
      `mkdirSync large/${digest.slice(0, 2)}`,
      `renameSync ${temporary}`,
      `fsyncSync large/${digest.slice(0, 2)}`,
      'fsyncSync large',
    ]);
  });

  it('is stored once, also beside a copy', () => {
    cloning();
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    const batch = writable.objectBatch(run.id);
    batch.put(BYTES);
    batch.putFile(dir, F, seen);
    batch.putFile(dir, F, seen);
    expect(batch.newBytes).toBe(BYTES.length);
    batch.commit();
    expect(filesIn(base)).toHaveLength(1);
  });

  it('has the digest of the clone, whatever the file holds', () => {
    const other = Buffer.alloc(BYTES.length, 'of another moment');
    cloning({ bytes: other });
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    const batch = writable.objectBatch(run.id);
    expect(batch.putFile(dir, F, seen)).toBe(digestOf(other));
    batch.commit();
    expect(openForReading(base).objects.check(digestOf(other))).toBe('present');
  });

  it('is gone when the batch is aborted', () => {
    cloning();
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    const batch = writable.objectBatch(run.id);
    batch.putFile(dir, F, seen);
    expect(filesIn(base)).toHaveLength(1);
    batch.abort();
    expect(filesIn(base)).toEqual([]);
  });

  it.each([
    ['before it was opened', 'open'],
    ['between opening and cloning', 'clone'],
    ['while it was cloned, so that the system refused', 'refused'],
  ] as const)('and that moved %s is no fault of the store', (_, when) => {
    const { base, writable, run } = begun();
    const { file, dir, seen } = source();
    const touch = (): void => fs.utimesSync(file, 1, 1);
    cloning({
      before() {
        if (when !== 'open') touch();
        if (when === 'refused') throw systemError('EACCES');
      },
    });
    const batch = writable.objectBatch(run.id);
    if (when === 'open') touch();
    expect(() => batch.putFile(dir, F, seen)).toThrow(FileMoved);
    expect(filesIn(base)).toEqual([]);
    batch.put(Buffer.from('the batch goes on'));
    batch.commit();
  });

  it('and whose clone has another length has moved', () => {
    cloning({ bytes: BYTES.subarray(1) });
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    expect(() => writable.objectBatch(run.id).putFile(dir, F, seen)).toThrow(FileMoved);
    expect(filesIn(base)).toEqual([]);
  });
});

describe('a file that cannot be cloned', () => {
  it.each([
    ['ENOTSUP', 1],
    ['EOPNOTSUPP', 1],
    ['EXDEV', 1],
    ['ENOSYS', 1],
    // Said of a file that is kept without copy-on-write, or is swap space: another one may be cloned.
    ['EINVAL', 3],
    ['ETXTBSY', 3],
  ])('for %s is left to the caller, and asked for %i times of 3', (errno, times) => {
    let asked = 0;
    cloning({
      before() {
        asked++;
        throw systemError(errno);
      },
    });
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    const batch = writable.objectBatch(run.id);
    for (let i = 0; i < 3; i++) expect(batch.putFile(dir, F, seen)).toBeUndefined();
    expect(asked).toBe(times);
    expect(filesIn(base)).toEqual([]);
    batch.putStream(BYTES.length, (sink) => sink(BYTES));
    batch.commit();
    expect(openForReading(base).objects.check(digestOf(BYTES))).toBe('present');
  });

  it('is asked for by no system that does not resolve names through handles', () => {
    cloning();
    const { writable, run } = begun();
    const { file, seen } = source();
    const dir = Dir.open(path.dirname(file), 'path');
    onTestFinished(() => dir.close());
    expect(writable.objectBatch(run.id).putFile(dir, F, seen)).toBeUndefined();
  });

  it.each([
    ['ENOSPC', 'STORE_FULL'],
    ['EDQUOT', 'STORE_FULL'],
    ['EIO', 'STORE_UNWRITABLE'],
  ])('for %s fails as %s, and is never copied instead', (errno, code) => {
    cloning({
      before() {
        throw systemError(errno);
      },
    });
    const { base, writable, run } = begun();
    const { dir, seen } = source();
    const batch = writable.objectBatch(run.id);
    const failure = expect.objectContaining({ code });
    expect(() => batch.putFile(dir, F, seen)).toThrow(failure);
    expect(() => batch.put(BYTES)).toThrow(failure);
    expect(filesIn(base)).toEqual([]);
  });
});

describe.each(mountableKinds())('on a real %s', (kind) => {
  it('a large file is cloned, which takes no space, and one from elsewhere is not', () => {
    const mount = loopMount(kind);
    const bytes = randomBytes(40 << 20);
    const { file, dir, seen } = source(mount, bytes);
    spawnSync('sync', ['-f', file]);
    const { base, writable, run } = begun(path.join(mount, 'store'));
    const free = (): number => fs.statfsSync(mount).bfree * fs.statfsSync(mount).bsize;
    const before = free();
    const batch = writable.objectBatch(run.id);
    expect(batch.putFile(dir, F, seen)).toBe(digestOf(bytes));
    const elsewhere = source();
    expect(batch.putFile(elsewhere.dir, F, elsewhere.seen)).toBeUndefined();
    batch.commit();
    expect(before - free()).toBeLessThan(bytes.length / 4);
    fs.writeFileSync(file, 'written anew');
    expect(openForReading(base).objects.get(digestOf(bytes)).equals(bytes)).toBe(true);
    writable.close();
  });
});
