import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { digestOf, fromBytes, type Name, type RelPath, ROOT_PATH } from '../../../src/core/index.ts';
import { FLAG, StatIndex, statIdentity } from '../../../src/store/index.ts';
import { interceptWrites, systemError } from '../../support/fs-calls.ts';
import { fileStat, indexOf, STARTED } from '../../support/stat-index.ts';
import { begun, inStore, openForReading } from '../../support/store.ts';

const NAMES = [
  ' leading',
  '__proto__',
  'a',
  'a b',
  'a\nb',
  fromBytes(Buffer.from([0x66, 0xff, 0x20, 0xfe])),
  'x\ufffdy',
  '\u00e9',
  '\u{1f600}',
  fromBytes(Buffer.from([0xe9])),
].toSorted((a, b) => Buffer.compare(bytesOf(a), bytesOf(b))) as Name[];

function bytesOf(name: string): Buffer {
  return name.startsWith('\0') ? Buffer.from(name.slice(1), 'latin1') : Buffer.from(name);
}

const sample = (): StatIndex =>
  indexOf([
    { name: 'dir' as Name, below: NAMES.map((name) => ({ name, digest: digestOf(name), kept: true })) },
    { name: 'empty' as Name, below: [] },
    ...['f0', 'f1', 'f2'].map((name) => ({ name: name as Name })),
  ]);

function parse(bytes: Buffer): StatIndex {
  const shared = new SharedArrayBuffer(bytes.length);
  bytes.copy(Buffer.from(shared));
  return StatIndex.parse(shared);
}

function stored(index = sample()): { base: string; read: () => StatIndex } {
  const { base, writable } = begun();
  writable.writeStatIndex(index);
  return { base, read: () => openForReading(base).statIndex() };
}

describe('the stat index', () => {
  it('gives back what was put in', () => {
    const index = stored().read();
    expect(index.counts.rows).toBe(1 + 5 + NAMES.length);
    expect(index.namesOf(0)).toEqual(['dir', 'empty', 'f0', 'f1', 'f2']);
    expect([index.pathOf(1), index.pathOf(2)]).toEqual(['dir', 'empty']);
    expect(index.namesOf(1)).toEqual(NAMES);
    expect(index.namesOf(2)).toEqual([]);
    for (const [at, name] of NAMES.entries()) {
      const path = `dir/${name}` as RelPath;
      const whole = name.startsWith('\0')
        ? (fromBytes(Buffer.concat([Buffer.from('dir/'), bytesOf(name)])) as RelPath)
        : path;
      const row = index.find(whole);
      expect(row).toBeDefined();
      expect(index.digestOf(row ?? 0)).toBe(digestOf(name));
      expect(index.has(row ?? 0, FLAG.kept)).toBe(true);
      const { mtimeNs, ctimeNs, dev, ino, nlink } = fileStat(at);
      expect(index.lookup(whole)).toEqual({ mtimeNs, ctimeNs, nlink, inode: `${dev}:${ino}` });
    }
  });

  it('does not know what is not there, whatever it looks like', () => {
    const index = stored().read();
    const looksAlike = fromBytes(Buffer.from([0x64, 0x69, 0x72, 0x2f, 0xc3])) as RelPath;
    for (const path of ['dir/new', 'new', 'f0/x', 'empty/x', 'dir/a/b', 'dir/\ufffd', 'g'] as RelPath[])
      expect(index.find(path)).toBeUndefined();
    expect(index.find(looksAlike)).toBeUndefined();
    expect(index.find(ROOT_PATH)).toBe(0);
    expect(StatIndex.empty().find(ROOT_PATH)).toBeUndefined();
  });

  it.each([
    ['small and large inodes', { ino: 2n ** 64n - 1n }],
    ['inodes that are no exact number', { ino: 2n ** 53n + 1n }],
    ['times before 1970', { mtimeNs: -1n, ctimeNs: -1_000_000_001n }],
    [
      'times at the edge of a second',
      { mtimeNs: 1_699_999_999_999_999_999n, ctimeNs: 1_700_000_000_000_000_000n },
    ],
    ['times far off', { mtimeNs: 9_999_999_999_999_999_999n, ctimeNs: 253_402_300_799_999_999_999n }],
    ['large sizes and devices', { size: Number.MAX_SAFE_INTEGER, dev: 2n ** 63n + 1n }],
  ])('keeps %s exactly', (_, over) => {
    const seen = fileStat(7, over);
    const index = stored(indexOf([{ name: 'f' as Name, stat: seen }])).read();
    const row = index.find('f' as RelPath) ?? -1;
    expect([
      index.device(row),
      index.ino(row),
      index.mtimeNs(row),
      index.ctimeNs(row),
      index.columns.size[row],
    ]).toEqual([seen.dev, seen.ino, seen.mtimeNs, seen.ctimeNs, seen.size]);
  });

  it('marks what was touched so late that a later write could carry the same stamps, and what is of the future', () => {
    const at = (ctimeNs: bigint): boolean =>
      indexOf([{ name: 'f' as Name, stat: fileStat(1, { ctimeNs }) }]).has(1, FLAG.racy);
    expect([STARTED - 2_000_000_001n, STARTED - 2_000_000_000n, STARTED + 10n ** 18n].map(at)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('is replaced as a whole', () => {
    const { base, writable } = begun();
    writable.writeStatIndex(indexOf([{ name: 'a' as Name }]));
    writable.writeStatIndex(indexOf([{ name: 'b' as Name }]));
    const index = openForReading(base).statIndex();
    expect([index.find('a' as RelPath), index.find('b' as RelPath)]).toEqual([undefined, 1]);
    expect(fs.readdirSync(inStore(base)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('stays the old one when the new one cannot be written', () => {
    const { base, writable } = begun();
    writable.writeStatIndex(indexOf([]));
    for (const failing of ['writeSync', 'renameSync']) {
      const restore = interceptWrites(({ name }) => {
        if (name === failing) throw systemError('ENOSPC');
      });
      expect(() => writable.writeStatIndex(sample())).toThrow(
        expect.objectContaining({ code: 'STORE_FULL' }),
      );
      restore();
      expect(fs.readdirSync(inStore(base)).filter((name) => name.startsWith('.'))).toEqual([]);
      expect(openForReading(base).statIndex().counts.rows).toBe(1);
    }
  });

  it('does not claim that anything is kept when a pack is gone that was there, or is not as long as it was', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    batch.put(Buffer.from('content'));
    batch.commit();
    writable.writeStatIndex(sample());
    const isKept = (): boolean => {
      const index = openForReading(base).statIndex();
      return index.has(index.find('dir/a' as RelPath) ?? 0, FLAG.kept);
    };
    expect(isKept()).toBe(true);
    const more = writable.objectBatch(run.id);
    more.put(Buffer.from('more'));
    more.commit();
    expect(isKept()).toBe(true);
    const [first = ''] = fs.readdirSync(inStore(base, 'packs')).sort();
    fs.appendFileSync(inStore(base, 'packs', first), 'x');
    expect(isKept()).toBe(false);
    fs.rmSync(inStore(base, 'packs', first));
    expect(isKept()).toBe(false);
    expect(openForReading(base).statIndex().notes.rulesId).toBe('');
  });
});

describe('an index that is not whole', () => {
  it('is an empty one, wherever it is cut off', () => {
    const whole = sample().encode([]);
    expect(parse(whole).counts.rows).toBe(1 + 5 + NAMES.length);
    for (let length = 0; length < whole.length; length++)
      expect(parse(whole.subarray(0, length)).counts.rows).toBe(0);
  });

  it('is an empty one, whichever bit is flipped', () => {
    const whole = sample().encode([]);
    for (let at = 0; at < whole.length; at++) {
      const altered = Buffer.from(whole);
      altered.writeUInt8(altered.readUInt8(at) ^ (1 << (at % 8)), at);
      expect(parse(altered).counts.rows).toBe(0);
    }
  });

  it.each(['', 'something else\n', 'agentdiff-index 1 5 0\nsha256 0\n', 'x'.repeat(1000)])(
    'is an empty one when it says %j',
    (text) => {
      const { base, read } = stored();
      fs.writeFileSync(inStore(base, 'index'), text);
      expect(read().counts.rows).toBe(0);
    },
  );

  it('is an empty one when it is a directory or a link', () => {
    const { base, read } = stored();
    const file = inStore(base, 'index');
    fs.renameSync(file, `${file}.kept`);
    fs.symlinkSync('index.kept', file);
    expect(read().counts.rows).toBe(0);
    fs.unlinkSync(file);
    fs.mkdirSync(file);
    expect(read().counts.rows).toBe(0);
  });
});

it('names device, inode, size, mtime and ctime in an identity', () => {
  expect(statIdentity(fileStat(7))).toBe('2049:7:12:1700000000123456789:1700000000987654321');
});

it('finds each of 100,000 entries', () => {
  const entries = Array.from({ length: 100 }, (_, i) => ({
    name: `dir${1000 + i}` as Name,
    below: Array.from({ length: 1000 }, (_nothing, j) => ({ name: `file${1000 + j}.ts` as Name })),
  }));
  const index = stored(indexOf(entries)).read();
  const paths = entries.flatMap(({ name, below }) => below.map((file) => `${name}/${file.name}` as RelPath));
  expect(paths.every((path) => index.lookup(path) !== undefined)).toBe(true);
});
