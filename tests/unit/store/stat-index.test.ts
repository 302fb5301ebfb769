import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { digestOf, fromBytes, type RelPath, ROOT_PATH } from '../../../src/core/index.ts';
import type { Stat } from '../../../src/fs/index.ts';
import { type IndexRecord, indexRecord, RACY_NS, StatIndex, statIdentity } from '../../../src/store/index.ts';
import { interceptWrites, systemError } from '../../support/fs-calls.ts';
import { begun, inStore, openForReading } from '../../support/store.ts';

const STARTED = 1_800_000_000_000_000_000n;

function stat(ino: number, over: Partial<Stat> = {}): Stat {
  return {
    kind: 'file',
    mode: 0o4755,
    uid: 0,
    gid: 0,
    size: 12,
    nlink: 2,
    dev: 2049n,
    ino: BigInt(ino),
    rdev: 0n,
    mtimeNs: 1_700_000_000_123_456_789n,
    ctimeNs: 1_700_000_000_987_654_321n,
    ...over,
  };
}

const PATHS = [
  'a',
  'a b',
  'a\nb',
  'dir/ü€😀',
  ' leading',
  'x\ufffdy',
  fromBytes(Buffer.from([0x66, 0xff, 0x20, 0xfe])),
  fromBytes(Buffer.from([0xe9])),
  'é',
  '__proto__',
  ROOT_PATH,
] as RelPath[];

/** Records as plain values. */
function plain(record: IndexRecord | undefined): Record<string, unknown> | undefined {
  if (record === undefined) return undefined;
  const { identity, mode, nlink, mtimeNs, inode, digest, kept } = record;
  return { identity, mode, nlink, mtimeNs, inode, digest, kept };
}

function record(i: number): IndexRecord {
  return indexRecord(
    stat(i),
    i % 3 === 0 ? { kept: false } : { digest: digestOf(String(i)), kept: i % 2 === 0 },
  );
}

function written(paths: readonly RelPath[]): { base: string; index: () => StatIndex } {
  const { base, writable } = begun();
  const writer = writable.indexWriter(STARTED);
  paths.forEach((path, i) => writer.add(path, record(i)));
  writer.commit();
  return { base, index: () => openForReading(base).statIndex() };
}

describe('the stat index', () => {
  it('gives back every record, in any order', () => {
    const { index } = written(PATHS);
    const wanted = PATHS.map((path, i) => [path, i] as const);
    for (const order of [wanted, [...wanted].reverse(), [...wanted, ...wanted]]) {
      const fresh = index();
      expect(fresh.size).toBe(PATHS.length);
      for (const [path, i] of order) expect(plain(fresh.lookup(path))).toEqual(plain(record(i)));
    }
  });

  it('finds its way again after entries that came or went', () => {
    const { index } = written(PATHS);
    const fresh = index();
    expect(fresh.lookup('new' as RelPath)).toBeUndefined();
    for (const i of [2, 3, 7]) {
      expect(fresh.lookup(`gone${i}` as RelPath)).toBeUndefined();
      expect(plain(fresh.lookup(PATHS[i] ?? ROOT_PATH))).toEqual(plain(record(i)));
    }
  });

  it('does not take one path for another that looks alike in another encoding', () => {
    const only = fromBytes(Buffer.from([0xe9])) as RelPath;
    const { index } = written([only]);
    expect(index().lookup('é' as RelPath)).toBeUndefined();
    expect(index().lookup('\ufffd' as RelPath)).toBeUndefined();
    expect(index().lookup(only)).toBeDefined();
  });

  it('holds the values in the documented form', () => {
    const { base } = written(['a b' as RelPath]);
    const text = fs.readFileSync(inStore(base, 'index'), 'latin1');
    const identity = '2049:0:12:1700000000123456789:1700000000987654321';
    const body = `agentdiff-index 1 ${STARTED} 1\n${identity} 4755 2 - - a b\0`;
    expect(text).toBe(`${body}sha256 ${digestOf(Buffer.from(body, 'latin1'))}\n`);
  });

  it('is replaced as a whole, at the commit', () => {
    const { base, writable } = begun();
    const first = writable.indexWriter(STARTED);
    first.add('a' as RelPath, record(1));
    first.commit();
    const second = writable.indexWriter(STARTED);
    second.add('b' as RelPath, record(2));
    const aborted = writable.indexWriter(STARTED);
    aborted.add('c' as RelPath, record(3));
    aborted.abort();
    expect(
      openForReading(base)
        .statIndex()
        .lookup('a' as RelPath),
    ).toBeDefined();
    second.commit();
    const index = openForReading(base).statIndex();
    expect([index.size, index.lookup('a' as RelPath)]).toEqual([1, undefined]);
    expect(fs.readdirSync(inStore(base)).filter((name) => name.startsWith('.'))).toEqual([]);
    expect(() => second.commit()).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });

  it('stays the old one when the new one cannot be written', () => {
    const { base, writable } = begun();
    writable.indexWriter(STARTED).commit();
    for (const failing of ['writeSync', 'renameSync']) {
      const restore = interceptWrites(({ name }) => {
        if (name === failing) throw systemError('ENOSPC');
      });
      const writer = writable.indexWriter(STARTED);
      writer.add('a' as RelPath, record(1));
      expect(() => writer.commit()).toThrow(expect.objectContaining({ code: 'STORE_FULL' }));
      restore();
      expect(fs.readdirSync(inStore(base)).filter((name) => name.startsWith('.'))).toEqual([]);
      expect(openForReading(base).statIndex().size).toBe(0);
    }
  });
});

describe('an index that is not whole', () => {
  const bytes = (): Buffer => fs.readFileSync(inStore(written(PATHS).base, 'index'));

  it('is an empty one, wherever it is cut off', () => {
    const whole = bytes();
    expect(StatIndex.parse(whole).size).toBe(PATHS.length);
    for (let length = 0; length < whole.length; length++) {
      const index = StatIndex.parse(whole.subarray(0, length));
      expect([index.size, index.lookup('a' as RelPath)]).toEqual([0, undefined]);
    }
  });

  it('is an empty one, whichever bit is flipped', () => {
    const whole = bytes();
    for (let at = 0; at < whole.length; at++) {
      const altered = Buffer.from(whole);
      altered.writeUInt8(altered.readUInt8(at) ^ (1 << (at % 8)), at);
      expect(StatIndex.parse(altered).size).toBe(0);
    }
  });

  it.each(['', 'something else\n', 'x'.repeat(1000)])('is an empty one when it says %j', (text) => {
    const { base } = written(PATHS);
    fs.writeFileSync(inStore(base, 'index'), text);
    expect(openForReading(base).statIndex().size).toBe(0);
  });

  it('is an empty one when it is a directory or a link', () => {
    const { base } = written(PATHS);
    const file = inStore(base, 'index');
    fs.renameSync(file, `${file}.kept`);
    fs.symlinkSync('index.kept', file);
    expect(openForReading(base).statIndex().size).toBe(0);
    fs.unlinkSync(file);
    fs.mkdirSync(file);
    expect(openForReading(base).statIndex().size).toBe(0);
  });
});

describe('a record is relied on', () => {
  const path = 'f' as RelPath;

  function trusts(seen: Stat, now: Stat): boolean {
    const { base, writable } = begun();
    const writer = writable.indexWriter(STARTED);
    writer.add(path, indexRecord(seen, { kept: true }));
    writer.commit();
    const index = openForReading(base).statIndex();
    const found = index.lookup(path);
    return found !== undefined && index.trusted(found, now);
  }

  it('while nothing moved', () => {
    expect(trusts(stat(1), stat(1))).toBe(true);
  });

  it.each<[string, Partial<Stat>]>([
    ['device', { dev: 1n }],
    ['inode', { ino: 2n }],
    ['size', { size: 13 }],
    ['mtime', { mtimeNs: 1n }],
    ['ctime, with size and mtime as before', { ctimeNs: 1_700_000_000_987_654_322n }],
  ])('not after a change of %s', (_, change) => {
    expect(trusts(stat(1), stat(1, change))).toBe(false);
  });

  it('not when it was written so late before the scan that a later write could carry the same stamps', () => {
    const [safe, racy] = [STARTED - RACY_NS - 1n, STARTED - RACY_NS].map((ctimeNs) => stat(1, { ctimeNs }));
    if (safe === undefined || racy === undefined) throw new Error('two stats');
    expect(trusts(safe, safe)).toBe(true);
    expect(trusts(racy, racy)).toBe(false);
  });

  it('not when its stamps are of the future', () => {
    const future = stat(1, { ctimeNs: STARTED + 10n ** 18n });
    expect(trusts(future, future)).toBe(false);
  });

  it('and its identity names device, inode, size, mtime and ctime', () => {
    expect(statIdentity(stat(7))).toBe('2049:7:12:1700000000123456789:1700000000987654321');
  });
});

it('finds each of 100,000 records', () => {
  const paths = Array.from({ length: 100_000 }, (_, i) => `dir${i >> 5}/file-${i}.ts` as RelPath);
  const { index } = written(paths);
  const fresh = index();
  expect(paths.every((path) => fresh.lookup(path) !== undefined)).toBe(true);
});
