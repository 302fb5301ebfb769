import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  compareInWalk,
  fromBytes,
  isName,
  joinPath,
  type Name,
  namesOf,
  type RelPath,
  ROOT_PATH,
  toBytes,
} from '../../src/core/index.ts';

/** Bytes around the slash, two-unit characters, and what is not UTF-8. */
const name = fc
  .array(fc.constantFrom(0x01, 0x2e, 0x30, 0x61, 0x7f, 0xc3, 0xa9, 0xff), { minLength: 1, maxLength: 3 })
  .map((bytes) => fromBytes(Buffer.from(bytes)))
  .chain((text) => fc.constantFrom(text, '\ud83d\ude00', '\uffff', 'a\ud83d\ude00', 'a\uffff'))
  .filter((text): text is Name => isName(text));
const path: fc.Arbitrary<RelPath> = fc
  .array(name, { maxLength: 3 })
  .map((names) => names.reduce<RelPath>(joinPath, ROOT_PATH));

/** The rule itself: name by name, each by its bytes; what ends first comes first. */
function slowly(a: RelPath, b: RelPath): number {
  const [left, right] = [namesOf(a), namesOf(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = Buffer.compare(toBytes(left[i] ?? ''), toBytes(right[i] ?? ''));
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

it('paths are ordered as a walk meets them', () => {
  fc.assert(
    fc.property(path, path, (a, b) => {
      expect(Math.sign(compareInWalk(a, b))).toBe(Math.sign(slowly(a, b)));
      const below = joinPath(a, 'b' as Name);
      expect(compareInWalk(a, below)).toBeLessThan(0);
    }),
    { numRuns: 5000 },
  );
});
