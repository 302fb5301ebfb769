import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../../src/core/index.ts';
import { DigestSet } from '../../../../src/store/index.ts';

describe('a set of digests', () => {
  it('knows what was added, and nothing else, however much it grew', () => {
    const set = new DigestSet();
    const known = Array.from({ length: 20_000 }, (_, i) => digestOf(`in ${i}`));
    expect(known.map((digest) => set.add(digest)).every(Boolean)).toBe(true);
    expect(known.some((digest) => set.add(digest))).toBe(false);
    expect(set.size).toBe(known.length);
    expect(known.every((digest) => set.has(digest))).toBe(true);
    expect(Array.from({ length: 20_000 }, (_, i) => set.has(digestOf(`out ${i}`))).some(Boolean)).toBe(false);
  });

  it('tells digests apart that begin alike, and has the one of only zeros when it was added', () => {
    const set = new DigestSet();
    const zeros = '0'.repeat(64) as ReturnType<typeof digestOf>;
    const one = `${'0'.repeat(63)}1` as typeof zeros;
    expect([set.has(zeros), set.add(zeros), set.has(zeros), set.has(one), set.add(one)]).toEqual([
      false,
      true,
      true,
      false,
      true,
    ]);
  });
});
