import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '../../src/core/index.ts';
import { listRuns } from '../../src/operations/list.ts';
import { PackIndex } from '../../src/store/pack-index.ts';
import { planGc } from '../../src/operations/gc.ts';
import { activeRun, observed, recovered, type Setting, setting } from '../support/context.ts';
import { callsOf, killed, sample } from '../support/die-at.ts';
import { collected, failingClaims, sealedIds, storeFiles, storePath } from '../support/retention.ts';
import { removeAll } from '../support/temporary.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const LARGE = (1 << 20) + 1;
const PRECIOUS = Buffer.alloc(LARGE, 'precious');
const MOMENTS = 40;

/** Seven runs, one of them interrupted, in a store whose first pack is mostly dead once the old ones are gone, and litter of a killed run. */
function prepared(): Setting {
  const box = setting();
  for (let i = 0; i < 20; i++) fs.writeFileSync(box.at(`same${i}`), `never changes ${i}`);
  fs.writeFileSync(box.at('once'), Buffer.alloc(200_000, 'once'));
  for (let i = 0; i < 4; i++) observed(box, () => edit(box, i));
  fs.rmSync(box.at('once'));
  fs.writeFileSync(box.at('precious'), PRECIOUS);
  const { session, close } = activeRun(box);
  session.snapshotBefore();
  const owner = storePath(box, 'pending', session.runId, 'owner.json');
  fs.writeFileSync(owner, fs.readFileSync(owner, 'utf8').replace(/"startTime":"\d+"/, '"startTime":"1"'));
  close();
  fs.rmSync(box.at('precious'));
  for (let i = 4; i < 6; i++) observed(box, () => edit(box, i));
  fs.writeFileSync(storePath(box, 'packs/20260101T000000Z-00000000-0.pack'), 'left');
  return box;
}

function edit(box: Setting, i: number): void {
  fs.writeFileSync(box.at('small'), `small ${i}`);
  fs.writeFileSync(box.at('large'), Buffer.alloc(LARGE, `large ${i}`));
}

/** The same workspace with a copy of its store. */
function withCopy(box: Setting, name: string): Setting {
  const store = path.join(box.home, name);
  fs.cpSync(box.store, store, { recursive: true, preserveTimestamps: true });
  return { ...box, store, place: { ...box.place, store } };
}

const ARGS = ['gc', '--keep-last', '2', '--yes'];

describe(`a gc that is killed (seed ${SEED})`, () => {
  it('I11 to I14: before any writing call has removed nothing that is kept, and the next one finishes', async () => {
    const box = prepared();
    const kept = sealedIds(box).slice(-2);
    const { plan } = await planGc(box.context, box.place, { keepLast: 2 });
    expect(plan.sweep.rewritten.length).toBeGreaterThan(0);
    expect(plan.sweep.large.length).toBeGreaterThan(0);
    const whole = withCopy(box, 'whole');
    const total = callsOf(whole, ARGS, 'writing');
    expect(total).toBeGreaterThan(20);
    const finished = objectsOf(whole);
    for (const at of sample(total, MOMENTS, SEED)) {
      const copy = withCopy(box, `killed-${at}`);
      try {
        expect(killed(copy, ARGS, 'writing', at)).toBe(-1);
        expectAllKept(copy, kept);
        await expectFinished(copy, kept, finished);
      } catch (error) {
        throw new Error(`killed before call ${at} of ${total}, seed ${SEED}`, { cause: error });
      }
      removeAll(copy.store);
    }
  });

  it('I14: of an interrupted run that is named there is all or nothing to be seen, and the capsules stay whole', () => {
    const box = prepared();
    const kept = sealedIds(box);
    const unsealedOf = (each: Setting): string[] =>
      listRuns(each.context, each.place).runs.flatMap(({ runId, state }) =>
        state === 'sealed' ? [] : [runId],
      );
    const [named = ''] = unsealedOf(box);
    const args = ['gc', '--interrupted', named, '--yes'];
    const total = callsOf(withCopy(box, 'whole-named'), args, 'writing');
    expect(total).toBeGreaterThan(5);
    let gone = 0;
    for (const at of sample(total, MOMENTS / 2, SEED)) {
      const copy = withCopy(box, `named-${at}`);
      const where = `killed before call ${at} of ${total}, seed ${SEED}`;
      expect(killed(copy, args, 'writing', at), where).toBe(-1);
      expect([sealedIds(copy), failingClaims(copy)], where).toEqual([kept, []]);
      if (unsealedOf(copy).length > 0) expectAllKept(copy, kept);
      else gone++;
      removeAll(copy.store);
    }
    expect(gone).toBeGreaterThan(0);
  });
});

function expectAllKept(box: Setting, kept: readonly string[]): void {
  expect(sealedIds(box)).toEqual(expect.arrayContaining([...kept]));
  for (const { state } of listRuns(box.context, box.place).runs)
    expect(['sealed', 'unsealed']).toContain(state);
  expect(failingClaims(box).filter((claim) => kept.some((id) => claim.startsWith(id)))).toEqual([]);
  const digest = digestOf(PRECIOUS);
  expect(
    digestOf(fs.readFileSync(storePath(box, 'large', digest.slice(0, 2), digest))),
    'the interrupted run',
  ).toBe(digest);
}

async function expectFinished(
  box: Setting,
  kept: readonly string[],
  finished: readonly string[],
): Promise<void> {
  await collected(box, { keepLast: 2 });
  expect(sealedIds(box)).toEqual(kept);
  expect(failingClaims(box)).toEqual([]);
  expect(objectsOf(box)).toEqual(finished);
  const leftovers = storeFiles(box).filter((name) => /tmp|-removed|^lock-/.test(name));
  // A temporary file without an owner's name in it stays for a day.
  expect(leftovers.filter((name) => !/^(pending\/)?\.agentdiff-tmp-/.test(name))).toEqual([]);
  observed(box, () => fs.writeFileSync(box.at('small'), 'after the kill'));
  expect(recovered(box).counts).toMatchObject({ restored: 1, refused: 0 });
  expect(failingClaims(box)).toEqual([]);
}

/** Every object that is there, once: a gc that was killed between the new pack and the end of the old ones leaves some twice. */
function objectsOf(box: Setting): string[] {
  const digests = storeFiles(box).flatMap((name) => {
    if (name.startsWith('large/')) return [path.basename(name)];
    if (!name.endsWith('.idx')) return [];
    const index = PackIndex.parse(fs.readFileSync(storePath(box, name)));
    return [...(index?.entries() ?? [])].map(({ digest }) => digest);
  });
  return [...new Set(digests)].sort();
}
