/** Snapshots against the plain slow model, over trees and edits of every kind, whatever the scan is made of. */
import * as fs from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CaptureLevel, LevelRules, Snapshot } from '../../src/snapshot/index.ts';
import { watchLooks } from '../support/fs-calls.ts';
import { identitiesOf, type Model, modelDiff, modelOf } from '../support/model.ts';
import { changesBetween, entriesOf, type Index, Objects, type Overrides, scanOnce } from '../support/scan.ts';
import { removeAll, temporaryDir } from '../support/temporary.ts';
import { backDateAll, makeNursery, type Nursery, performAll, treeEdits } from '../support/tree-edits.ts';

/** Deterministic where it is asked for: a failure prints the seed, `SEED=… npx vitest …` runs it again. */
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
const runs = (numRuns: number): { numRuns: number; seed: number } => ({ numRuns, seed: SEED });

interface Bench {
  readonly nursery: Nursery;
  /** Hands out a directory with a tree whose times lie in the past, and removes it afterwards. */
  readonly withTree: (
    build: Parameters<typeof performAll>[2],
    use: (root: string) => Promise<void>,
  ) => Promise<void>;
}

function bench(): Bench {
  const base = temporaryDir();
  fs.mkdirSync(`${base}/nursery`);
  const nursery = makeNursery(`${base}/nursery`);
  let count = 0;
  return {
    nursery,
    withTree: async (build, use) => {
      const root = `${base}/${count++}`;
      fs.mkdirSync(root);
      try {
        performAll(root, nursery, build);
        backDateAll(root);
        await use(root);
      } finally {
        removeAll(root);
      }
    },
  };
}

/** A change after this has another change time than everything before it, also where that clock moves in steps. */
function untilClockMoves(root: string): void {
  const probe = `${root}-probe`;
  const stamp = (): bigint => {
    fs.writeFileSync(probe, '');
    return fs.lstatSync(probe, { bigint: true }).ctimeNs;
  };
  const first = stamp();
  for (let i = 0; i < 1_000_000 && stamp() === first; i++);
  if (stamp() === first) throw new Error('the clock of the file system stands still');
  fs.unlinkSync(probe);
}

const build = treeEdits({ maxLength: 25 });
const edits = treeEdits({ maxLength: 8 });
const chain = fc.array(edits, { minLength: 5, maxLength: 6 });

describe(`snapshots and the plain model (seed ${SEED})`, () => {
  it('the difference of any two snapshots of a tree is that of the model, and nothing hides in equal subtrees', async () => {
    const { nursery, withTree } = bench();
    await fc.assert(
      fc.asyncProperty(build, chain, async (first, steps) =>
        withTree(first, async (root) => {
          const objects = new Objects();
          const seen: { snapshot: Snapshot; model: Model }[] = [];
          let index: Index | undefined;
          for (const step of [[], ...steps]) {
            performAll(root, nursery, step);
            const model = modelOf(root);
            const scanned = await scanOnce(root, objects, index);
            untilClockMoves(root);
            index = scanned.index;
            expect(entriesOf(objects, scanned.snapshot)).toEqual(model);
            expect(scanned.snapshot.entries).toBe(model.size - 1);
            seen.push({ snapshot: scanned.snapshot, model });
          }
          for (const before of seen) {
            for (const after of seen) {
              const changes = changesBetween(objects, before.snapshot, after.snapshot);
              expectParentsFirst(changes.map(({ path }) => path));
              expect(changes.map(({ path }) => path).sort()).toEqual(
                modelDiff(before.model, after.model).sort(),
              );
              for (const change of changes) {
                expect(change.before).toEqual(before.model.get(change.path));
                expect(change.after).toEqual(after.model.get(change.path));
              }
              const areEqual = before.snapshot.tree === after.snapshot.tree;
              expect(areEqual).toBe(changes.every(({ path }) => path === ''));
            }
          }
        }),
      ),
      runs(60),
    );
  });

  it('two snapshots of an unchanged tree are equal, with and without an index, a store and the same times', async () => {
    const { withTree } = bench();
    await fc.assert(
      fc.asyncProperty(build, async (first) =>
        withTree(first, async (root) => {
          const objects = new Objects();
          const { snapshot, index } = await scanOnce(root, objects);
          const kept = objects.digests();
          expect((await scanOnce(root, objects)).snapshot).toEqual(snapshot);
          const again = await scanOnce(root, objects, index);
          expect(again.snapshot).toEqual(snapshot);
          expect(again.newBytes).toBe(0);
          expect((await scanOnce(root, objects, again.index)).snapshot).toEqual(snapshot);
          backDateAll(root);
          expect((await scanOnce(root, new Objects(), index)).snapshot.tree).toBe(snapshot.tree);
          expect(objects.digests()).toEqual(kept);
        }),
      ),
      runs(60),
    );
  });
});

function expectParentsFirst(paths: readonly string[]): void {
  const seen = new Set<string>();
  for (const path of paths) {
    expect([...seen].filter((earlier) => earlier === path || earlier.startsWith(`${path}/`))).toEqual([]);
    seen.add(path);
  }
}

const LEVELS: readonly CaptureLevel[] = ['content', 'content', 'digest', 'stat', 'none'];

/** What may differ between one scan and the next: a policy that was edited, less room in the store, a mount, a clock. */
const wish = fc.record({
  levelOf: fc.record({
    a: fc.constantFrom(...LEVELS),
    b: fc.constantFrom(...LEVELS),
    rest: fc.constantFrom('content' as const, 'content' as const, 'digest' as const, 'stat' as const),
  }),
  keptFileBytes: fc.constantFrom(0, 5, 1 << 20, 1 << 20),
  hashedFileBytes: fc.constantFrom(2, 100, 1 << 30, 1 << 30),
  newBytes: fc.constantFrom(0, 7, 3500, 1 << 30, 1 << 30),
  maxDepth: fc.constantFrom(1, 2, 1000, 1000),
  mount: fc.constantFrom('', '', 'a', 'b/c'),
  isFresh: fc.boolean(),
});
type Wish = typeof wish extends fc.Arbitrary<infer T> ? T : never;

function overridesOf({ levelOf, mount, isFresh, ...limits }: Wish): Overrides {
  const levels: LevelRules = (path, _kind, _siblings, parent) => {
    if (path === 'a' || path === 'b')
      return { level: path === 'a' ? levelOf.a : levelOf.b, rule: `rule: ${path}` };
    if (path.endsWith('/node_modules')) return { level: 'stat', rule: 'rule: node_modules' };
    if (path.includes('/')) return parent;
    return { level: levelOf.rest, rule: levelOf.rest === 'content' ? 'default' : 'rule: rest' };
  };
  const mounts = new Set(mount === '' ? [] : [mount]);
  // As it is in truth for a tree that was just made: too young to be relied on.
  const startedAtNs = isFresh ? { startedAtNs: BigInt(Date.now()) * 1_000_000n } : {};
  return { levels, levelsId: JSON.stringify(levelOf), limits, mounts, ...startedAtNs };
}

describe(`a scan with the index of the one before (seed ${SEED})`, () => {
  it('finds, keeps and names what a scan without one does, whatever changed in between: tree, limits, levels, store', async () => {
    const { nursery, withTree } = bench();
    const step = fc.record({ edits, wish, lost: fc.array(fc.nat(9999), { maxLength: 2 }) });
    const steps = fc.array(step, { minLength: 6, maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(build, steps, async (first, list) =>
        withTree(first, async (root) => {
          const objects = new Objects();
          let index: Index | undefined;
          for (const { edits: done, wish: wanted, lost } of list) {
            performAll(root, nursery, done);
            for (const pick of lost) objects.lose(pick);
            const without = objects.copy();
            const expected = await scanOnce(root, without, undefined, overridesOf(wanted));
            const scanned = await scanOnce(root, objects, index, overridesOf(wanted));
            untilClockMoves(root);
            expect(scanned.snapshot).toEqual(expected.snapshot);
            expect(objects.digests()).toEqual(without.digests());
            expect(scanned.newBytes).toBe(expected.newBytes);
            index = scanned.index;
          }
        }),
      ),
      runs(100),
    );
  });

  it('opens the files that moved since, no other, and looks at each of the others once', async () => {
    const { nursery, withTree } = bench();
    await fc.assert(
      fc.asyncProperty(build, chain, async (first, steps) =>
        withTree(first, async (root) => {
          const objects = new Objects();
          let index: Index | undefined;
          let known = new Map<string, string>();
          for (const step of [[], [], ...steps, []]) {
            performAll(root, nursery, step);
            const now = identitiesOf(root);
            const files = [...modelOf(root)].flatMap(([path, { kind }]) => (kind === 'file' ? [path] : []));
            const looks = watchLooks(root);
            const scanned = await scanOnce(root, objects, index);
            looks.stop();
            untilClockMoves(root);
            const moved = files.filter((path) => now.get(path) !== known.get(path));
            expect(looks.opened.toSorted()).toEqual(moved.toSorted());
            // What did not move is looked at once; a closer look at what moved, and a comparison of directories afterwards, are fine.
            const unmoved = files.filter((path) => now.get(path) === known.get(path));
            for (const path of unmoved)
              expect(looks.lstats.filter((other) => other === path).length, path).toBeLessThanOrEqual(1);
            // A second time as bytes, where a name is not UTF-8 or looks so.
            for (const path of looks.listed)
              expect(looks.listed.filter((other) => other === path).length).toBeLessThanOrEqual(2);
            index = scanned.index;
            known = now;
          }
        }),
      ),
      runs(60),
    );
  });
});

it(`directories that did not move since are not listed again, and the others are (seed ${SEED})`, async () => {
  const { nursery, withTree } = bench();
  await fc.assert(
    fc.asyncProperty(build, chain, async (first, steps) =>
      withTree(first, async (root) => {
        const objects = new Objects();
        let index: Index | undefined;
        let known = new Map<string, string>();
        for (const step of [[], ...steps, []]) {
          performAll(root, nursery, step);
          const now = identitiesOf(root);
          const directories = [...modelOf(root)].flatMap(([at, { kind }]) =>
            kind === 'directory' ? [at] : [],
          );
          const looks = watchLooks(root);
          const scanned = await scanOnce(root, objects, index);
          looks.stop();
          untilClockMoves(root);
          const moved = directories.filter((at) => now.get(at) !== known.get(at));
          const listed = new Set(looks.listed);
          expect(moved.filter((at) => !listed.has(at))).toEqual([]);
          // A directory around one that moved may be gone through again; what has nothing new below it may not.
          const isAbove = (at: string): boolean =>
            [...now].some(
              ([path, is]) => (at === '' || path.startsWith(`${at}/`)) && known.get(path) !== is,
            ) || [...known.keys()].some((path) => (at === '' || path.startsWith(`${at}/`)) && !now.has(path));
          // Paths that are not plain text may be gone through each time.
          const again = [...listed].filter((at) => !moved.includes(at) && !isAbove(at));
          expect(again.filter((at) => Buffer.from(at, 'latin1').every((byte) => byte < 0x80))).toEqual([]);
          index = scanned.index;
          known = now;
        }
      }),
    ),
    runs(60),
  );
});
