import * as fs from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Digest, digestOf, type Name } from '../../../src/core/index.ts';
import { Dir } from '../../../src/fs/index.ts';
import { LazyIndex } from '../../../src/store/lazy-index.ts';
import type { Span } from '../../../src/store/pack-index.ts';
import { PackRecords } from '../../../src/store/pack-records.ts';
import { wrapCalls } from '../../support/system-calls.ts';
import { temporaryDir } from '../../support/temporary.ts';

const NAME = '20261130T184726Z-4f9c2a1b-0.idx' as Name;
const PACK = '20261130T184726Z-4f9c2a1b-0.pack';

function entriesOf(count: number): Map<Digest, Span> {
  return new Map(
    Array.from({ length: count }, (_, i) => [digestOf(`object ${i}`), { offset: i, length: 1 }]),
  );
}

/** An index of `entries` on the disk, and the bytes read of it so far. */
function stored(entries: ReadonlyMap<Digest, Span>): { dir: Dir; file: string; read: () => number } {
  const place = temporaryDir();
  fs.writeFileSync(`${place}/${PACK}`, Buffer.alloc(entries.size));
  const records = new PackRecords();
  for (const [digest, { offset, length }] of entries) records.add(digest, offset, length);
  fs.writeFileSync(`${place}/${NAME}`, records.encode(entries.size));
  const dir = Dir.open(place);
  let read = 0;
  const restore = wrapCalls(['readSync'], (_, args) => (read += Number(args[3])));
  onTestFinished(() => {
    restore();
    dir.close();
  });
  return { dir, file: `${place}/${NAME}`, read: () => read };
}

function alter(file: string, at: number): void {
  const bytes = fs.readFileSync(file);
  const index = at < 0 ? bytes.length + at : at;
  bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index);
  fs.writeFileSync(file, bytes);
}

describe('an index that is looked into', () => {
  it('finds what it lists with a small part of it read, and nothing else', () => {
    const entries = entriesOf(50_000);
    const { dir, file, read } = stored(entries);
    const size = fs.statSync(file).size;
    for (let i = 0; i < 50; i++) {
      const before = read();
      const index = new LazyIndex(dir, NAME, { left: 1 << 30 });
      const [digest, span] = [...entries][i * 997] ?? [];
      expect(digest && index.find(digest)).toEqual(span);
      expect(index.find(digestOf(`other ${i}`))).toBeUndefined();
      expect(index.isWhole).toBe(false);
      expect(read() - before).toBeLessThan(size / 10);
    }
  });

  it('is read whole, and compared with its checksum, once the looks have cost as much', () => {
    const entries = entriesOf(20_000);
    const { dir, file, read } = stored(entries);
    const size = fs.statSync(file).size;
    const room = { left: 1 << 30 };
    const index = new LazyIndex(dir, NAME, room);
    for (const [digest, span] of entries) expect(index.find(digest)).toEqual(span);
    expect(index.isWhole).toBe(true);
    expect(read()).toBeLessThan(3 * size);
    expect(room.left).toBe((1 << 30) - size);
  });

  it('is compared piece by piece, and goes on being looked into, where there is no room for it', () => {
    const entries = entriesOf(30_000);
    const { dir, file } = stored(entries);
    const index = new LazyIndex(dir, NAME, { left: 1000 });
    expect(index.verify()).toBe(true);
    for (const digest of [...entries.keys()].slice(0, 3000))
      expect(index.find(digest)).toEqual(entries.get(digest));
    for (const at of [40, -1, -33, 700_000]) {
      alter(file, at);
      expect(new LazyIndex(dir, NAME, { left: 1000 }).verify()).toBe(false);
      expect(new LazyIndex(dir, NAME, { left: 1 << 30 }).verify()).toBe(false);
      alter(file, at);
    }
  });

  it('finds digests that are not evenly spread', () => {
    const entries = new Map(
      Array.from({ length: 5000 }, (_, i) => [
        `${'f'.repeat(56)}${i.toString(16).padStart(8, '0')}` as Digest,
        { offset: i, length: 1 },
      ]),
    );
    const { dir } = stored(entries);
    for (const i of [0, 1, 2500, 4998, 4999]) {
      const index = new LazyIndex(dir, NAME, { left: 1 << 30 });
      const [digest, span] = [...entries][i] ?? [];
      expect(digest && index.find(digest)).toEqual(span);
    }
  });

  it('names no place outside its pack, and is damaged when it says so', () => {
    const entries = entriesOf(2000);
    const { dir, file } = stored(entries);
    const bytes = fs.readFileSync(file);
    for (let at = 32; at < bytes.length - 32; at += 48) bytes.writeUInt8(1, at + 40);
    fs.writeFileSync(file, bytes);
    const index = new LazyIndex(dir, NAME, { left: 1 << 30 });
    const [digest] = entries.keys();
    expect(digest && index.find(digest)).toBeUndefined();
    expect(index.verify()).toBe(false);
  });

  it('ends, whatever its records are', () => {
    const entries = entriesOf(5000);
    const { dir, file } = stored(entries);
    const bytes = fs.readFileSync(file);
    // Half of the records in the wrong order: no search may go round in circles.
    bytes.subarray(32, bytes.length - 32).reverse();
    fs.writeFileSync(file, bytes);
    const index = new LazyIndex(dir, NAME, { left: 1 << 30 });
    for (const digest of [...entries.keys()].slice(0, 500)) index.find(digest);
    expect(index.verify()).toBe(false);
  });
});
