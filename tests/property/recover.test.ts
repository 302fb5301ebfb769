import * as fs from 'node:fs';
import * as path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJsonPath } from '../../src/core/index.ts';
import { planRecover, type StepResult } from '../../src/operations/recover.ts';
import { observed, recovered, requestFor, setting } from '../support/context.ts';
import { type Edit, edits, perform } from '../support/edits.ts';
import { entries, fingerprint } from '../support/fingerprint.ts';
import { removeAll, temporaryDir } from '../support/temporary.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
/** More of them on demand: `EXAMPLES=50 npx vitest …`. */
const EXAMPLES = Number(process.env['EXAMPLES'] ?? 1);

/** Runs `check` in a fresh directory for every example, and removes it at once. */
function everywhere(
  base: string,
  examples: number,
  check: (dir: string, lists: readonly Edit[][]) => void,
  more: readonly string[] = [],
): void {
  const lists = fc.tuple(
    edits({ minLength: 4, maxLength: 25 }, more),
    edits({ minLength: 1, maxLength: 15 }, more),
    edits({ minLength: 0, maxLength: 8 }, more),
  );
  let count = 0;
  fc.assert(
    fc.property(lists, (drawn) => {
      const dir = path.join(base, String(count++));
      fs.mkdirSync(dir);
      try {
        check(dir, drawn);
      } finally {
        removeAll(dir);
      }
    }),
    { seed: SEED, numRuns: examples * EXAMPLES },
  );
}

function keyOf({ path: at }: Pick<StepResult, 'path'>): string {
  const { path: text, pathBytes } = toJsonPath(at);
  return pathBytes === undefined
    ? Buffer.from(text).toString('latin1')
    : Buffer.from(pathBytes, 'base64').toString('latin1');
}

describe('recover', () => {
  it(`puts back everything that a run did (seed ${SEED})`, () => {
    everywhere(temporaryDir(), 60, (dir, [tree = [], did = []]) => {
      const here = setting(dir);
      perform(here.ws, tree);
      const before = fingerprint(here.ws);
      observed(here, () => perform(here.ws, did));
      const { results, exitStatus } = recovered(here);
      expect(results.filter(({ result }) => result === 'refused')).toEqual([]);
      expect(exitStatus).toBe(0);
      expect(fingerprint(here.ws)).toEqual(before);
    });
  });

  it(`leaves each path as it was before the run, or as somebody left it (seed ${SEED})`, () => {
    const seen = new Map<string, number>();
    everywhere(
      temporaryDir(),
      80,
      (dir, [tree = [], did = [], later = []]) => {
        const here = setting(dir);
        perform(here.ws, tree);
        const before = entries(here.ws);
        observed(here, () => perform(here.ws, did));
        perform(here.ws, later);
        const left = entries(here.ws);
        const { results, exitStatus } = recovered(here);
        const now = entries(here.ws);
        const planned = new Map(results.map((result) => [keyOf(result), result]));
        for (const key of new Set([...before.keys(), ...left.keys(), ...now.keys()])) {
          const result = planned.get(key);
          const isAsBefore = now.get(key) === before.get(key);
          const isAsLeft = now.get(key) === left.get(key);
          const told = { key, before: before.get(key), left: left.get(key), now: now.get(key), ...result };
          if (result === undefined || result.result === 'refused')
            expect({ ...told, isAsLeft }).toEqual({ ...told, isAsLeft: true });
          else expect({ ...told, isAsBefore }).toEqual({ ...told, isAsBefore: true });
        }
        for (const { result, code } of results) {
          expect(result === 'refused').toBe(code !== undefined);
          seen.set(code ?? result, (seen.get(code ?? result) ?? 0) + 1);
        }
        expect(exitStatus).toBe(results.some(({ result }) => result === 'refused') ? 3 : 0);
        const again = planRecover(here.context, requestFor(here));
        expect(again.steps.filter(({ verdict }) => verdict === 'apply')).toEqual([]);
        recovered(here);
        expect(entries(here.ws)).toEqual(now);
      },
      ['node_modules'],
    );
    // A property that only ever met the easy cases would say little.
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining(['restored', 'removed', 'already-right', 'changed-since']),
    );
  });
});
