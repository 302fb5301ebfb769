import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '../../../src/core/index.ts';
import { PackIndex, type Span } from '../../../src/store/pack-index.ts';
import { PackRecords } from '../../../src/store/pack-records.ts';

/** Digests that begin alike, and others; more than one chunk of records. */
function entries(): Map<Digest, Span> {
  const digests = Array.from({ length: 20_000 }, (_, i) => digestOf(String(i)));
  const alike = Array.from({ length: 200 }, (_, i) => `00000000${digestOf(`alike ${i}`).slice(8)}` as Digest);
  return new Map([...digests, ...alike].map((digest, i) => [digest, { offset: i * 2 ** 33, length: i }]));
}

describe('the records of a pack', () => {
  it('are known as soon as they were added, and no others', () => {
    const records = new PackRecords();
    for (const [digest, { offset, length }] of entries()) {
      expect(records.has(digest)).toBe(false);
      records.add(digest, offset, length);
      expect(records.has(digest)).toBe(true);
    }
    expect(records.size).toBe(entries().size);
    expect(records.has(digestOf('other'))).toBe(false);
  });

  it('stand in the index in the order of the digests, each with its place', () => {
    const records = new PackRecords();
    const wanted = entries();
    for (const [digest, { offset, length }] of wanted) records.add(digest, offset, length);
    const bytes = records.encode(2 ** 40);
    const index = PackIndex.parse(bytes);
    expect(index?.count).toBe(wanted.size);
    expect(index?.packLength).toBe(2 ** 40);
    for (const [digest, span] of wanted) expect(index?.find(digest)).toEqual(span);
    const stand = Array.from({ length: wanted.size }, (_, i) =>
      bytes.toString('hex', 32 + i * 48, 64 + i * 48),
    );
    expect(stand).toEqual([...wanted.keys()].sort());
  });

  it('may be none', () => {
    const index = PackIndex.parse(new PackRecords().encode(0));
    expect(index?.count).toBe(0);
    expect(index?.find(digestOf(''))).toBeUndefined();
  });
});
