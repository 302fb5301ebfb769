import * as fs from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareBytes,
  digestOf,
  errnoOf,
  fromBytes,
  isName,
  type Name,
  toBytes,
} from '../../src/core/index.ts';
import {
  type Content,
  decodeTree,
  encodeTree,
  type State,
  type StatIdentity,
  type TreeEntry,
} from '../../src/snapshot/index.ts';
import { diff, listing, MemoryIndex, MemoryObjects, scan } from '../unit/snapshot/memory-store.ts';
import { temporaryDir } from '../support/temporary.ts';

/** Few names, so that edits meet what is there; some of them awkward. */
const SOME_NAMES = ['a', 'a.b', 'b', '__proto__', '\n', 'é', '\ufffd'].map((name) => Buffer.from(name));
const name = fc.constantFrom(...SOME_NAMES, Buffer.from([0xff]), Buffer.from([0x61, 0x80]));
const place = fc.array(name, { minLength: 1, maxLength: 3 });

type Edit =
  | { do: 'file' | 'link'; at: Buffer[]; content: string }
  | { do: 'directory' | 'remove'; at: Buffer[] }
  | { do: 'mode'; at: Buffer[]; mode: number }
  | { do: 'move'; at: Buffer[]; to: Buffer[] };

const content = fc.constantFrom('', 'x', 'y', 'longer');
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ do: fc.constantFrom('file' as const, 'link' as const), at: place, content }),
  fc.record({ do: fc.constantFrom('directory' as const, 'remove' as const), at: place }),
  fc.record({ do: fc.constant('mode' as const), at: place, mode: fc.constantFrom(0o700, 0o4755, 0o1777) }),
  fc.record({ do: fc.constant('move' as const), at: place, to: place }),
);

function join(root: string, at: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(root), ...at.flatMap((part) => [Buffer.from('/'), part])]);
}

/** Does what can be done of an edit; what the file system refuses is no edit. */
function apply(root: string, change: Edit): void {
  const path = join(root, change.at);
  try {
    if (change.do === 'file') fs.writeFileSync(path, change.content);
    else if (change.do === 'link') fs.symlinkSync(`to-${change.content}`, path);
    else if (change.do === 'directory') fs.mkdirSync(path, { recursive: true });
    else if (change.do === 'remove') fs.rmSync(path, { recursive: true, force: true });
    else if (change.do === 'mode') fs.chmodSync(path, change.mode);
    else if (change.do === 'move') fs.renameSync(path, join(root, change.to));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** The slow, plain way: every entry of a tree, read by path, as one line of text. */
function model(root: Buffer, prefix: Buffer = Buffer.alloc(0)): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of fs.readdirSync(root, { encoding: 'buffer' })) {
    const path = Buffer.concat([root, Buffer.from('/'), entry]);
    const relative = prefix.length === 0 ? entry : Buffer.concat([prefix, Buffer.from('/'), entry]);
    const stat = fs.lstatSync(path);
    const own = `${stat.mode & 0o7777} ${stat.uid} ${stat.gid}`;
    if (stat.isDirectory()) {
      found.set(fromBytes(relative), `d ${own}`);
      for (const [at, line] of model(path, relative)) found.set(at, line);
    } else if (stat.isSymbolicLink()) {
      found.set(fromBytes(relative), `l ${own} ${digestOf(fs.readlinkSync(path, { encoding: 'buffer' }))}`);
    } else found.set(fromBytes(relative), `f ${own} ${digestOf(fs.readFileSync(path))}`);
  }
  return found;
}

function line({ kind, mode, uid, gid, content: is }: State): string {
  const own = `${kind[0] === 's' ? 'l' : kind[0]} ${mode} ${uid} ${gid}`;
  return kind === 'directory' || is.is !== 'digest' ? own : `${own} ${is.digest}`;
}

describe('scanWorkspace and diffSnapshots', () => {
  it('agree with a plain model on any tree and any edits', () => {
    const base = temporaryDir();
    let runs = 0;
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 15 }), fc.array(edit, { maxLength: 10 }), (first, second) => {
        const root = `${base}/${runs++}`;
        fs.mkdirSync(root);
        const objects = new MemoryObjects();
        const index = new MemoryIndex();
        for (const change of first) apply(root, change);
        const modelBefore = model(Buffer.from(root));
        const before = scan(root, objects, { indexOut: index });
        expect(toLines(listing(objects, before.tree))).toEqual(modelBefore);
        expect(scan(root, objects)).toEqual(before);
        expect(scan(root, objects, { index })).toEqual(before);
        expect(before.entries).toBe(modelBefore.size);

        for (const change of second) apply(root, change);
        const modelAfter = model(Buffer.from(root));
        const after = scan(root, objects);
        expect(scan(root, objects, { index }).tree).toBe(after.tree);
        const changes = diff(objects, before, after);
        const paths = changes.map(({ path }) => path as string);
        const expected = [...new Set([...modelBefore.keys(), ...modelAfter.keys()])].filter(
          (path) => modelBefore.get(path) !== modelAfter.get(path),
        );
        expect(paths.toSorted(compareBytes)).toEqual(expected.toSorted(compareBytes));
        for (const { path, before: was, after: is } of changes) {
          expect(was && line(was.state)).toBe(modelBefore.get(path));
          expect(is && line(is.state)).toBe(modelAfter.get(path));
        }
        expect(diff(objects, after, before).map(({ path }) => path)).toEqual(paths);
        expectParentsFirst(paths);
      }),
      { numRuns: 150 },
    );
  });
});

function toLines(states: ReadonlyMap<string, State>): Map<string, string> {
  return new Map([...states].map(([path, state]) => [path, line(state)]));
}

function expectParentsFirst(paths: readonly string[]): void {
  const seen = new Set<string>();
  for (const path of paths) {
    for (const later of seen)
      expect(toBytes(later).indexOf(Buffer.concat([toBytes(path), Buffer.from('/')]))).not.toBe(0);
    seen.add(path);
  }
}

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
