import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CapsuleReader } from '../../src/capsule/index.ts';
import { type Digest, digestOf, type RunId } from '../../src/core/index.ts';
import { keepBudget } from '../../src/operations/gc/after-run.ts';
import type { RetentionRules } from '../../src/operations/gc.ts';
import { setPin } from '../../src/operations/pin.ts';
import { Store, workspaceId } from '../../src/store/index.ts';
import { openWorkspaceForWriting } from '../../src/store/write.ts';
import { observed, type Setting, setting } from '../support/context.ts';
import { collected, failingClaims, sealedIds } from '../support/retention.ts';
import { removeAll } from '../support/temporary.ts';

const NAMES = ['a', 'b', 'c', 'd/e', 'd/f', 'd/g/h'] as const;
const LARGE = (1 << 20) + 7;

/** What a command does: some files get a content, a small or a large one, or go. */
const edit = fc.record({
  name: fc.constantFrom(...NAMES),
  content: fc.option(fc.record({ fill: fc.nat(9), size: fc.constantFrom(0, 1, 500, 40_000, LARGE) })),
});
const rules: fc.Arbitrary<RetentionRules> = fc.oneof(
  fc.record({ keepLast: fc.nat(4) }),
  fc.record({ maxBytes: fc.nat(4 * LARGE) }),
  fc.record({ keepLast: fc.nat(3), maxBytes: fc.nat(4 * LARGE) }),
  fc.record({ keepWithinMs: fc.constantFrom(0, 1000, 1e9) }),
);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.array(edit, { maxLength: 4 }).map((edits) => ({ do: 'run', edits }) as const) },
  { weight: 2, arbitrary: rules.map((given) => ({ do: 'gc', rules: given }) as const) },
  { weight: 1, arbitrary: fc.nat(4 * LARGE).map((budget) => ({ do: 'after-run', budget }) as const) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(), fc.boolean()).map(([nth, pin]) => ({ do: 'pin', nth, pin }) as const),
  },
);

it('the store gives back exactly what was put in, after any number of runs and retention passes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'agentdiff-property-')));
      try {
        const box = setting(dir);
        const known = new Map<Digest, Buffer>();
        const pinned = new Set<string>();
        for (const each of steps) {
          const newest = sealedIds(box).at(-1);
          await carryOut(box, each, known, pinned);
          const sealed = sealedIds(box);
          // Never the newest, never a pinned one.
          if (each.do !== 'run' && newest !== undefined) expect(sealed).toContain(newest);
          expect(sealed).toEqual(expect.arrayContaining([...pinned]));
          expectAllBack(box, known);
          expect(failingClaims(box)).toEqual([]);
        }
      } finally {
        removeAll(dir);
      }
    }),
    { numRuns: 12 },
  );
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function carryOut(
  box: Setting,
  each: Step,
  known: Map<Digest, Buffer>,
  pinned: Set<string>,
): Promise<void> {
  switch (each.do) {
    case 'run':
      observed(box, () => {
        for (const { name, content } of each.edits) apply(box, name, content, known);
      });
      return;
    case 'gc':
      await collected(box, each.rules);
      return;
    case 'after-run':
      await afterRun(box, each.budget);
      return;
    case 'pin': {
      const sealed = sealedIds(box);
      const id = sealed[each.nth % Math.max(1, sealed.length)];
      if (id === undefined) return;
      setPin(box.context, box.place, id, each.pin);
      if (each.pin) pinned.add(id);
      else pinned.delete(id);
    }
  }
}

function apply(
  box: Setting,
  name: string,
  content: { fill: number; size: number } | null,
  known: Map<Digest, Buffer>,
): void {
  if (content === null) return fs.rmSync(box.at(name), { force: true });
  const bytes = Buffer.alloc(content.size, `${content.fill} of ${name}`);
  known.set(digestOf(bytes), bytes);
  fs.mkdirSync(path.dirname(box.at(name)), { recursive: true });
  fs.writeFileSync(box.at(name), bytes);
}

async function afterRun(box: Setting, budget: number): Promise<void> {
  const root = fs.realpathSync(box.ws);
  const workspace = openWorkspaceForWriting(box.store, { id: workspaceId(root), root }, { now: Date.now() });
  const run = workspace.store.sealed().at(-1);
  const note = run && (await keepBudget(workspace, { run, bytes: 0 }, Date.now(), budget));
  workspace.close();
  expect(note?.kind).not.toBe('failed');
}

/** Every content that a capsule names, before and after, byte for byte. */
function expectAllBack(box: Setting, known: ReadonlyMap<Digest, Buffer>): void {
  if (!fs.existsSync(box.store)) return;
  const store = Store.open(box.store);
  const reader = store.workspace(workspaceId(fs.realpathSync(box.ws)));
  try {
    for (const id of reader.sealed() as RunId[]) {
      const dir = reader.openCapsule(id);
      if (dir === undefined) throw new Error(`the capsule of ${id} is not there`);
      for (const { before, after } of CapsuleReader.open(dir).changes()) {
        for (const side of [before, after]) {
          if (side?.state.kind !== 'file' || side.state.content.is !== 'digest') continue;
          const { digest } = side.state.content;
          expect(reader.objects.get(digest).equals(known.get(digest) ?? Buffer.from('unknown'))).toBe(true);
        }
      }
      dir.close();
    }
  } finally {
    reader.close();
    store.close();
  }
}
