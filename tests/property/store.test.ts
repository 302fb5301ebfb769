import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AgentdiffError,
  compareBytes,
  type Digest,
  digestOf,
  fromBytes,
  isName,
  joinPath,
  type Name,
  ROOT_PATH,
} from '../../src/core/index.ts';
import { FLAG, Store, type WorkspaceStore } from '../../src/store/index.ts';
import { openWorkspaceForWriting, type WritableWorkspace } from '../../src/store/write.ts';
import { fileStat, indexOf } from '../support/stat-index.ts';
import { inStore, NOW, WORKSPACE } from '../support/store.ts';
import { removeAll } from '../support/temporary.ts';

const LIMIT = 1 << 20;

/** Small ones, empty ones, repeated ones, and sizes around the limit between packs and files of their own. */
const blob = fc.oneof(
  { weight: 6, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  { weight: 1, arbitrary: fc.constant(new Uint8Array()) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT), fc.nat(255))
      .map(([size, fill]) => new Uint8Array(size).fill(fill)),
  },
);

/** Runs `use` on a store of its own, which is gone afterwards. */
function withStore<T>(use: (base: string, writable: WritableWorkspace) => T): T {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'agentdiff-property-')));
  const base = path.join(dir, 'store');
  const writable = openWorkspaceForWriting(base, WORKSPACE, { now: NOW });
  try {
    return use(base, writable);
  } finally {
    writable.close();
    removeAll(dir);
  }
}

function withReader<T>(base: string, use: (reader: WorkspaceStore) => T): T {
  const store = Store.open(base);
  const reader = store.workspace(WORKSPACE.id);
  try {
    return use(reader);
  } finally {
    reader.close();
    store.close();
  }
}

/** In pieces of the given size, as a file is read. */
function inPieces(bytes: Uint8Array, size: number): (sink: (piece: Uint8Array) => void) => void {
  return (sink) => {
    for (let at = 0; at < bytes.length; at += size) sink(bytes.slice(at, at + size));
  };
}

describe('the object store', () => {
  it('gives back every object byte for byte, however it was put', () => {
    const put = fc.record({ bytes: blob, pieces: fc.option(fc.integer({ min: 1000, max: LIMIT })) });
    fc.assert(
      fc.property(fc.array(fc.array(put, { maxLength: 8 }), { maxLength: 3 }), (batches) => {
        withStore((base, writable) => {
          const run = writable.newRun(NOW);
          const stored = new Map<Digest, Uint8Array>();
          for (const puts of batches) {
            const batch = writable.objectBatch(run.id);
            const before = stored.size;
            let fresh = 0;
            for (const { bytes, pieces } of puts) {
              const digest =
                pieces === null ? batch.put(bytes) : batch.putStream(bytes.length, inPieces(bytes, pieces));
              expect(digest).toBe(digestOf(bytes));
              if (!stored.has(digest)) fresh += bytes.length;
              stored.set(digest, bytes);
            }
            expect(batch.newBytes).toBe(fresh);
            batch.commit();
            expect(stored.size).toBeGreaterThanOrEqual(before);
          }
          withReader(base, ({ objects }) => {
            for (const [digest, bytes] of stored) {
              expect(objects.get(digest).equals(bytes)).toBe(true);
              const pieces: Buffer[] = [];
              objects.stream(digest, (piece) => pieces.push(Buffer.from(piece)));
              expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
            }
          });
        });
      }),
      { numRuns: 25 },
    );
  });

  it('never returns altered bytes as content, whichever byte of whichever file is altered', () => {
    const mutation = fc.record({
      file: fc.nat(),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      mask: fc.integer({ min: 1, max: 255 }),
    });
    fc.assert(
      fc.property(
        fc.array(blob, { minLength: 1, maxLength: 6 }),
        fc.array(mutation, { minLength: 10, maxLength: 40 }),
        (blobs, mutations) => {
          withStore((base, writable) => {
            const batch = writable.objectBatch(writable.newRun(NOW).id);
            const stored = new Map(blobs.map((bytes) => [batch.put(bytes), bytes]));
            batch.commit();
            const files = objectFiles(base);
            for (const { file, at, mask } of mutations) {
              const name = files[file % files.length] ?? '';
              withAlteredByte(name, at, mask, () =>
                withReader(base, (reader) => expectIntactOrRefused(reader, stored)),
              );
            }
          });
        },
      ),
      { numRuns: 10 },
    );
  });
});

describe('a store that is asked little', () => {
  const COUNT = 2500;

  /** Many small objects in one pack: its index is too long to be read for one question. */
  function filled(writable: WritableWorkspace): Digest[] {
    const batch = writable.objectBatch(writable.newRun(NOW).id);
    const digests = Array.from({ length: COUNT }, (_, i) => batch.put(Buffer.from(`object ${i}`)));
    batch.commit();
    return digests;
  }

  it('never returns altered bytes, nor calls an object absent, whichever byte of an index or pack is altered', () => {
    const question = fc.record({
      altered: fc.nat(),
      mask: fc.integer({ min: 1, max: 255 }),
      asked: fc.nat(COUNT - 1),
    });
    withStore((base, writable) => {
      const digests = filled(writable);
      fc.assert(
        fc.property(fc.nat(1), question, (kind, { altered, mask, asked }) => {
          const file = objectFiles(base).find((name) => name.endsWith(kind === 0 ? '.idx' : '.pack')) ?? '';
          const size = fs.statSync(file).size;
          const at = (altered % size) / size;
          withAlteredByte(file, at, mask, () => {
            withReader(base, ({ objects }) => {
              for (const i of [asked, (altered * 7) % COUNT]) {
                const digest = digests[i];
                if (digest === undefined) continue;
                expectIntactOrDamaged(objects, digest, `object ${i}`);
              }
              const absent = objects.check(digestOf('absent'));
              expect(absent).toBe(kind === 0 ? 'damaged' : 'missing');
            });
          });
        }),
        { numRuns: 300 },
      );
    });
  });

  it('writes again what an altered index leads astray', () => {
    withStore((base, writable) => {
      const digests = filled(writable);
      const file = objectFiles(base).find((name) => name.endsWith('.idx')) ?? '';
      const bytes = fs.readFileSync(file);
      fc.assert(
        fc.property(
          fc.nat(COUNT - 1),
          fc.nat(47),
          fc.integer({ min: 1, max: 255 }),
          (asked, within, mask) => {
            const digest = digests[asked] ?? digestOf('');
            const record = 32 + [...digests].sort().indexOf(digest) * 48;
            withAlteredByte(file, (record + within + 0.5) / bytes.length, mask, () => {
              const again = openWorkspaceForWriting(base, WORKSPACE, { now: NOW });
              const batch = again.objectBatch(again.newRun(NOW).id);
              expect(batch.has(digest)).toBe(false);
              batch.abort();
              again.close();
            });
          },
        ),
        { numRuns: 60 },
      );
    });
  });
});

function expectIntactOrDamaged(objects: WorkspaceStore['objects'], digest: Digest, content: string): void {
  const status = objects.check(digest);
  expect(['present', 'damaged']).toContain(status);
  if (status === 'present') expect(objects.get(digest).toString()).toBe(content);
  else
    expect(() => objects.get(digest)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^(OBJECT|STORE)_DAMAGED$/) }),
    );
}

function objectFiles(base: string): string[] {
  return ['packs', 'large'].flatMap((folder) =>
    fs
      .readdirSync(inStore(base, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => inStore(base, folder, name))
      .filter((name) => fs.lstatSync(name).isFile() && fs.lstatSync(name).size > 0),
  );
}

function withAlteredByte(file: string, at: number, mask: number, use: () => void): void {
  const handle = (fs.chmodSync(file, 0o600), fs.openSync(file, 'r+'));
  const position = Math.floor(at * fs.fstatSync(handle).size);
  const byte = Buffer.alloc(1);
  fs.readSync(handle, byte, 0, 1, position);
  fs.writeSync(handle, Buffer.of(byte.readUInt8() ^ mask), 0, 1, position);
  use();
  fs.writeSync(handle, byte, 0, 1, position);
  fs.closeSync(handle);
}

function expectIntactOrRefused({ objects }: WorkspaceStore, stored: ReadonlyMap<Digest, Uint8Array>): void {
  let refused = 0;
  for (const [digest, bytes] of stored) {
    try {
      expect(objects.get(digest).equals(bytes)).toBe(true);
      expect(objects.check(digest)).toBe('present');
    } catch (error) {
      if (!(error instanceof AgentdiffError)) throw error;
      // Never "missing": the object is there, it cannot be read.
      expect(['OBJECT_DAMAGED', 'STORE_DAMAGED']).toContain(error.code);
      expect(objects.check(digest)).toBe('damaged');
      refused++;
    }
  }
  const absent = digestOf('was never put');
  const answer = objects.check(absent);
  expect(['missing', 'damaged']).toContain(answer);
  // Some byte was altered, so something must be refused: an object, or to call one absent.
  expect(refused > 0 || answer === 'damaged').toBe(true);
  expect(objects.checkEach([...stored.keys()])).toEqual(
    [...stored.keys()].map((digest) => objects.check(digest)),
  );
}

describe('the stat index', () => {
  const name = fc
    .oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }).map((text) => Buffer.from(text)),
      fc.uint8Array({ minLength: 1, maxLength: 12 }),
    )
    .map((bytes) => fromBytes(bytes))
    .filter((text): text is Name => isName(text));

  it('gives back everything of every entry, and nothing for other paths', () => {
    const inode = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    const time = fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n });
    const facts = fc.record({
      mode: fc.nat(0o7777),
      nlink: fc.nat(),
      size: fc.maxSafeNat(),
      dev: fc.bigInt({ min: 0n, max: 2n ** 63n }),
      ino: inode,
      mtimeNs: time,
      ctimeNs: time,
    });
    const file = fc.record({ name, facts, kept: fc.boolean() });
    const files = fc.uniqueArray(file, { selector: (entry) => entry.name, maxLength: 12 });
    const folders = fc.uniqueArray(fc.record({ name, files }), {
      selector: (entry) => entry.name,
      maxLength: 6,
    });
    fc.assert(
      fc.property(folders, fc.array(fc.tuple(name, name), { maxLength: 20 }), (wanted, questions) => {
        withStore((base, writable) => {
          const sorted = wanted.toSorted((a, b) => compareBytes(a.name, b.name));
          const entries = sorted.map((folder) => ({
            name: folder.name,
            below: folder.files
              .toSorted((a, b) => compareBytes(a.name, b.name))
              .map((entry) => ({ ...entry, stat: fileStat(0, entry.facts), digest: digestOf(entry.name) })),
          }));
          writable.writeStatIndex(indexOf(entries));
          const known = new Map(
            entries.flatMap((folder) =>
              folder.below.map(
                (entry) => [joinPath(joinPath(ROOT_PATH, folder.name), entry.name), entry] as const,
              ),
            ),
          );
          withReader(base, (reader) => {
            const index = reader.statIndex();
            for (const [path, { stat, digest, kept }] of known) {
              const row = index.find(path) ?? -1;
              expect(index.lookup(path)).toEqual({
                mtimeNs: stat.mtimeNs,
                ctimeNs: stat.ctimeNs,
                nlink: stat.nlink,
                inode: `${stat.dev}:${stat.ino}`,
              });
              expect([index.ctimeNs(row), index.digestOf(row), index.has(row, FLAG.kept)]).toEqual([
                stat.ctimeNs,
                digest,
                kept,
              ]);
            }
            for (const [folder, last] of questions) {
              const path = joinPath(joinPath(ROOT_PATH, folder), last);
              expect(index.find(path) === undefined).toBe(!known.has(path));
            }
          });
        });
      }),
      { numRuns: 60 },
    );
  });
});
