import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes, digestOf, fromBytes, isName, type Name } from '../../src/core/index.ts';
import {
  type Content,
  decodeTree,
  encodeTree,
  type State,
  type StatIdentity,
  type TreeEntry,
} from '../../src/snapshot/index.ts';

const entryName = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => fromBytes(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte))))
  .filter((text): text is Name => isName(text));
const identity = fc
  .array(fc.bigInt({ min: 0n, max: 2n ** 62n }), { minLength: 5, maxLength: 5 })
  .map((numbers) => numbers.join(':') as StatIdentity);
const digestContent = fc.string().map((text): Content => ({ is: 'digest', digest: digestOf(text) }));
const unknownContent = fc.oneof(
  fc.constant<Content>({ is: 'unknown', reason: 'mount' }),
  identity.map((id): Content => ({ is: 'unknown', reason: 'unstable', identity: id })),
);
const kindAndContent: fc.Arbitrary<Pick<State, 'kind' | 'content'>> = fc.oneof(
  fc.record({
    kind: fc.constant('file' as const),
    content: fc.oneof(
      digestContent,
      unknownContent,
      identity.map((id): Content => ({ is: 'identity', identity: id })),
    ),
  }),
  fc.record({
    kind: fc.constantFrom('directory' as const, 'symlink' as const),
    content: fc.oneof(digestContent, unknownContent),
  }),
  fc.record({
    kind: fc.constantFrom('fifo' as const, 'socket' as const),
    content: fc.constant<Content>({ is: 'nothing' }),
  }),
  fc.record({
    kind: fc.constantFrom('character-device' as const, 'block-device' as const),
    content: fc
      .tuple(fc.nat(4095), fc.nat(1 << 20))
      .map(([a, b]): Content => ({ is: 'device', number: `${a}:${b}` })),
  }),
);
const state: fc.Arbitrary<State> = fc
  .tuple(kindAndContent, fc.nat(0o7777), fc.nat(2 ** 32 - 1), fc.nat(2 ** 32 - 1), fc.maxSafeNat())
  .map(([known, mode, uid, gid, size]) => ({ ...known, mode, uid, gid, size }));
const tree: fc.Arbitrary<TreeEntry[]> = fc.uniqueArray(fc.record({ name: entryName, state }), {
  selector: (entry) => entry.name,
  maxLength: 8,
});

describe('encodeTree and decodeTree', () => {
  it('are each other’s inverse', () => {
    fc.assert(
      fc.property(tree, (entries) => {
        const sorted = entries.toSorted((a, b) => compareBytes(a.name, b.name));
        expect(decodeTree(encodeTree(entries))).toEqual(sorted);
      }),
    );
  });

  it('have one form: mutated bytes are refused, or are the form of what they say', () => {
    const mutation = fc.record({
      at: fc.nat(),
      byte: fc.nat(255),
      how: fc.constantFrom('set', 'insert', 'cut'),
    });
    fc.assert(
      fc.property(tree, fc.array(mutation, { minLength: 1, maxLength: 3 }), (entries, mutations) => {
        let bytes = encodeTree(entries);
        for (const { at, byte, how } of mutations) {
          const i = at % (bytes.length + 1);
          const tail = bytes.subarray(how === 'insert' ? i : i + 1);
          bytes = Buffer.concat([bytes.subarray(0, i), Buffer.from(how === 'cut' ? [] : [byte]), tail]);
        }
        let decoded: TreeEntry[];
        try {
          decoded = decodeTree(bytes);
        } catch (error) {
          expect(error).toMatchObject({ code: 'OBJECT_DAMAGED' });
          return;
        }
        expect(encodeTree(decoded).equals(bytes)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
