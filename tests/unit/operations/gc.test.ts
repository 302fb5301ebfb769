import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AgentdiffError, digestOf, type RunId } from '../../../src/core/index.ts';
import { processIdentity } from '../../../src/fs/index.ts';
import { keepBudget } from '../../../src/operations/gc/after-run.ts';
import { applyGc, planGc } from '../../../src/operations/gc.ts';
import { setPin } from '../../../src/operations/pin.ts';
import { workspaceId } from '../../../src/store/index.ts';
import { openWorkspaceForWriting } from '../../../src/store/write.ts';
import { interceptWrites, systemError } from '../../support/fs-calls.ts';
import { activeRun, observed, recovered, scripted, type Setting, setting } from '../../support/context.ts';
import { collected, failingClaims, sealedIds, storeFiles, storePath } from '../../support/retention.ts';

const LARGE = 2 << 20;

/** Runs that each replace a small and a large file, and the contents that each found. */
function withRuns(count: number): { box: Setting; ids: RunId[]; contents: Buffer[] } {
  const box = setting();
  fs.writeFileSync(box.at('same'), 'never changes');
  const contents: Buffer[] = [];
  const ids: RunId[] = [];
  for (let i = 0; i < count; i++) {
    const large = Buffer.alloc(LARGE, `large ${i} `);
    contents.push(large);
    ids.push(
      observed(box, () => {
        fs.writeFileSync(box.at('small'), `small ${i}`);
        fs.writeFileSync(box.at('large'), large);
      }),
    );
  }
  return { box, ids, contents };
}

function hasLarge(box: Setting, content: Buffer): boolean {
  const digest = digestOf(content);
  return fs.existsSync(storePath(box, 'large', digest.slice(0, 2), digest));
}

async function codeOf(action: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    if (error instanceof AgentdiffError) return error.code;
    throw error;
  }
}

describe('a gc', () => {
  it('removes what no rule keeps, and the contents that only that needed; the rest verifies and recovers', async () => {
    const { box, ids, contents } = withRuns(5);
    const { plan, done } = await collected(box, { keepLast: 2 });
    expect(done?.removed).toEqual(ids.slice(0, 3));
    expect(sealedIds(box)).toEqual(ids.slice(3));
    // The capsule of run 3 has what run 2 left as its before-state.
    expect(contents.map((content) => hasLarge(box, content))).toEqual([false, false, true, true, true]);
    expect(plan.sizeBytes - (done?.sizeBytes ?? 0)).toBeGreaterThan(2 * LARGE);
    expect(failingClaims(box)).toEqual([]);
    recovered(box, ids[3]);
    expect(recovered(box, ids[4]).counts.restored).toBeGreaterThan(0);
    expect(fs.readFileSync(box.at('large')).equals(contents[3] as Buffer)).toBe(true);
  });

  it('keeps what the newest run left, so that the next one need not store it again', async () => {
    const { box } = withRuns(3);
    await collected(box, { keepLast: 1 });
    const before = storeFiles(box).filter((name) => /^(packs|large)/.test(name));
    observed(box, () => {});
    expect(storeFiles(box).filter((name) => /^(packs|large)/.test(name))).toEqual(before);
  });

  it('says before what it does then, and changes nothing by saying it', async () => {
    const { box, ids } = withRuns(4);
    const before = storeFiles(box);
    const { plan, done } = await planGc(box.context, box.place, { keepLast: 1 });
    expect([done, storeFiles(box)]).toEqual([undefined, before]);
    expect(plan.capsules.map(({ runId, goes, why }) => [runId, goes, why])).toEqual([
      [ids[0], true, 'not-kept'],
      [ids[1], true, 'not-kept'],
      [ids[2], true, 'not-kept'],
      [ids[3], false, 'newest'],
    ]);
    const applied = await collected(box, { keepLast: 1 });
    expect(applied.done?.removed).toEqual(ids.slice(0, 3));
    // A pack that is written anew gets another index, so some bytes are between them.
    expect(Math.abs((applied.done?.sizeBytes ?? 0) - plan.sizeAfterBytes)).toBeLessThan(64 << 10);
  });

  it('I11, I13: capsules are out of sight, then objects go, of a pack its index first', async () => {
    const { box } = withRuns(4);
    const root = storePath(box);
    const calls: string[] = [];
    const restore = interceptWrites(({ name, target }) => {
      if (target.startsWith(root)) calls.push(`${name} ${path.relative(root, target)}`);
    });
    await collected(box, { keepLast: 1 });
    restore();
    const firstOf = (call: RegExp): number => calls.findIndex((each) => call.test(each));
    const lastOf = (call: RegExp): number => calls.findLastIndex((each) => call.test(each));
    const order = [
      lastOf(/^renameSync capsules\//),
      lastOf(/^fsyncSync capsules$/),
      firstOf(/^unlinkSync (large|packs)\//),
    ];
    expect(order.every((at) => at >= 0)).toBe(true);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    const ends = calls.filter((call) => /^(unlinkSync packs\/.*(idx|pack)|fsyncSync packs)$/.test(call));
    const firstPack = ends.findIndex((call) => call.endsWith('.pack'));
    expect(ends.slice(0, firstPack).some((call) => call.endsWith('.idx'))).toBe(true);
    expect(ends[firstPack - 1]).toBe('fsyncSync packs');
  });

  it('keeps pinned runs, and removes them when they are unpinned', async () => {
    const { box, ids } = withRuns(4);
    setPin(box.context, box.place, ids[1] ?? '', true);
    await collected(box, { keepLast: 0 });
    expect(sealedIds(box)).toEqual([ids[1], ids[3]]);
    expect(failingClaims(box)).toEqual([]);
    setPin(box.context, box.place, ids[1] ?? '', false);
    await collected(box, { keepLast: 0 });
    expect(sealedIds(box)).toEqual([ids[3]]);
  });

  it('never changes a capsule that stays', async () => {
    const { box, ids } = withRuns(3);
    const capsule = storePath(box, 'capsules', ids[2] ?? '');
    const look = (): string[] =>
      fs.readdirSync(capsule).map((name) => `${name} ${digestOf(fs.readFileSync(path.join(capsule, name)))}`);
    const before = look();
    setPin(box.context, box.place, ids[2] ?? '', true);
    await collected(box, { keepLast: 0 });
    expect(look()).toEqual(before);
  });

  it('removes the oldest until the size is right, and no more than needed', async () => {
    const { box, ids } = withRuns(5);
    const size = (await planGc(box.context, box.place, {})).plan.sizeBytes;
    const { done } = await collected(box, { maxBytes: size - LARGE });
    expect(done?.removed).toEqual(ids.slice(0, done?.removed.length));
    expect(done?.removed.length).toBeLessThan(4);
    expect(done?.sizeBytes).toBeLessThanOrEqual(size - LARGE);
    expect(failingClaims(box)).toEqual([]);
  });

  it('does not remove what a keep-rule covers for the sake of the size', async () => {
    const { box, ids } = withRuns(4);
    await collected(box, { maxBytes: 1, keepLast: 3 });
    expect(sealedIds(box)).toEqual(ids.slice(1));
  });

  it('keeps the before-snapshot of an interrupted run, every content of it', async () => {
    const { box } = withRuns(2);
    const content = Buffer.alloc(LARGE, 'precious');
    fs.writeFileSync(box.at('precious'), content);
    const { session, close } = activeRun(box);
    session.snapshotBefore();
    const owner = storePath(box, 'pending', session.runId, 'owner.json');
    fs.writeFileSync(owner, fs.readFileSync(owner, 'utf8').replace(/"startTime":"\d+"/, '"startTime":"1"'));
    close();
    fs.rmSync(box.at('precious'));
    observed(box, () => fs.writeFileSync(box.at('small'), 'later'));
    const { plan, done } = await collected(box, { keepLast: 0 });
    expect(done?.removed.length).toBeGreaterThan(0);
    expect(plan.pending).toEqual([{ runId: session.runId, state: 'unsealed', goes: false }]);
    expect(hasLarge(box, content)).toBe(true);
    expect(fs.existsSync(storePath(box, 'pending', session.runId, 'intent.json'))).toBe(true);
  });

  it.each<[string, (capsule: string) => void, string]>([
    [
      'damaged',
      (capsule) => fs.appendFileSync(path.join(capsule, 'changes.jsonl'), '{}\n'),
      'CAPSULE_DAMAGED',
    ],
    [
      'of a newer format',
      (capsule) => {
        const file = path.join(capsule, 'capsule.json');
        fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"format":1', '"format":9'));
      },
      'CAPSULE_VERSION',
    ],
  ])(
    'keeps a capsule that is %s, says so, and then removes no content at all',
    async (_, damage, problem) => {
      const { box, ids, contents } = withRuns(4);
      damage(storePath(box, 'capsules', ids[1] ?? ''));
      const objects = storeFiles(box).filter((name) => /^(packs|large)/.test(name));
      const { plan, done, exitStatus } = await collected(box, { keepLast: 1 });
      expect(done?.removed).toEqual([ids[0], ids[2]]);
      expect(plan.capsules[1]).toMatchObject({ why: 'unreadable', goes: false, problem });
      expect(plan.unknown).toMatchObject({ runId: ids[1], error: { code: problem } });
      expect(exitStatus).toBe(3);
      expect(storeFiles(box).filter((name) => /^(packs|large)/.test(name))).toEqual(objects);
      expect(contents.every((content) => hasLarge(box, content))).toBe(true);
    },
  );

  it('removes no content when a tree of a kept capsule is missing', async () => {
    const { box, ids } = withRuns(3);
    for (const name of fs
      .readdirSync(storePath(box, 'packs'))
      .filter((each) => each.startsWith(ids[1] ?? '')))
      fs.rmSync(storePath(box, 'packs', name));
    const objects = storeFiles(box).filter((name) => /^(packs|large)/.test(name));
    const { plan, exitStatus } = await collected(box, { keepLast: 2 });
    expect(plan.unknown?.error.code).toBe('OBJECT_MISSING');
    expect(exitStatus).toBe(3);
    expect(storeFiles(box).filter((name) => /^(packs|large)/.test(name))).toEqual(objects);
  });

  it('keeps a pack that holds something damaged', async () => {
    const { box, ids } = withRuns(3);
    const [pack = ''] = fs.readdirSync(storePath(box, 'packs')).filter((name) => name.endsWith('.pack'));
    const file = storePath(box, 'packs', pack);
    const bytes = fs.readFileSync(file);
    // The content that never changes: only reading it tells.
    bytes[bytes.indexOf('never changes')] = 0;
    fs.writeFileSync(file, bytes);
    const { done, exitStatus } = await collected(box, { keepLast: 0, maxBytes: 1 });
    expect(done?.removed).toEqual(ids.slice(0, 2));
    expect([done?.damagedPacks, exitStatus]).toEqual([[pack], 3]);
    expect(fs.readFileSync(file).equals(bytes)).toBe(true);
  });

  it('is refused while a run is active, and the run is not hindered', async () => {
    const { box, ids } = withRuns(3);
    const shown = await planGc(box.context, box.place, { keepLast: 0 });
    const { session, close } = activeRun(box);
    session.snapshotBefore();
    expect(await codeOf(async () => await collected(box, { keepLast: 0 }))).toBe('STORE_BUSY');
    expect(shown.plan.capsules).toHaveLength(3);
    session.abandon();
    close();
    expect(sealedIds(box)).toEqual(ids);
    expect((await collected(box, { keepLast: 0 })).done?.removed).toEqual(ids.slice(0, 2));
  });

  it('removes what killed runs left, also of runs that are gone', async () => {
    const { box } = withRuns(3);
    const litter = [
      'packs/20260101T000000Z-00000000-0.pack',
      'large/20260101T000000Z-00000000-0123456789abcdef.tmp',
    ];
    for (const name of litter) fs.writeFileSync(storePath(box, name), 'left');
    await collected(box, { keepLast: 1 });
    expect(storeFiles(box).filter((name) => litter.includes(name))).toEqual([]);
  });

  it('merges packs when there are many', async () => {
    const box = setting();
    for (let i = 0; i < 34; i++) observed(box, () => fs.writeFileSync(box.at('f'), `content ${i}`));
    const packs = (): number => storeFiles(box).filter((name) => name.endsWith('.pack')).length;
    for (let i = 34; packs() <= 64; i++) observed(box, () => fs.writeFileSync(box.at('f'), `content ${i}`));
    const ids = sealedIds(box);
    await collected(box, {});
    expect(packs()).toBeLessThan(10);
    expect(sealedIds(box)).toEqual(ids);
    expect(failingClaims(box)).toEqual([]);
  });
});

describe('an interrupted run', () => {
  /** A run with a content that only its before-snapshot has. @param end what happened to its process */
  function interrupted(end: 'killed' | 'lives'): {
    box: Setting;
    runId: RunId;
    ids: RunId[];
    content: Buffer;
  } {
    const { box } = withRuns(2);
    const content = Buffer.alloc(LARGE, 'precious');
    fs.writeFileSync(box.at('precious'), content);
    const { session, close } = activeRun(box);
    session.snapshotBefore();
    const owner = storePath(box, 'pending', session.runId, 'owner.json');
    const text = fs.readFileSync(owner, 'utf8');
    if (end === 'killed') fs.writeFileSync(owner, text.replace(/"startTime":"\d+"/, '"startTime":"1"'));
    close();
    fs.rmSync(box.at('precious'));
    observed(box, () => fs.writeFileSync(box.at('small'), 'later'));
    return { box, runId: session.runId, ids: sealedIds(box) as RunId[], content };
  }

  it('goes when it is named, with what only it needed, and nothing else does', async () => {
    const { box, runId, ids, content } = interrupted('killed');
    const shown = await planGc(box.context, box.place, {}, runId);
    expect(shown.plan.pending).toEqual([{ runId, state: 'unsealed', goes: true }]);
    expect([fs.existsSync(storePath(box, 'pending', runId)), hasLarge(box, content)]).toEqual([true, true]);
    const { done } = applyGc(box.context, box.place, shown);
    expect([done?.interrupted, done?.removed, sealedIds(box)]).toEqual([[runId], [], ids]);
    expect([fs.readdirSync(storePath(box, 'pending')), hasLarge(box, content)]).toEqual([[], false]);
    expect(failingClaims(box)).toEqual([]);
    observed(box, () => fs.writeFileSync(box.at('small'), 'after'));
    expect(failingClaims(box)).toEqual([]);
  });

  it('goes also when its intent cannot be read, which keeps every content', async () => {
    const { box, runId, content } = interrupted('killed');
    fs.writeFileSync(storePath(box, 'pending', runId, 'intent.json'), '{');
    expect((await planGc(box.context, box.place, { keepLast: 0 })).plan.unknown).toBeDefined();
    applyGc(box.context, box.place, await planGc(box.context, box.place, {}, runId));
    expect([fs.readdirSync(storePath(box, 'pending')), hasLarge(box, content)]).toEqual([[], false]);
  });

  it('is not taken for one while its process lives, or may live, or while it is pinned; nor is a sealed run', async () => {
    const { box, runId, ids } = interrupted('lives');
    const codeFor = async (ref: string): Promise<string | undefined> =>
      await codeOf(async () => await planGc(box.context, box.place, {}, ref));
    expect(await codeFor(runId)).toBe('RUN_ACTIVE');
    const owner = storePath(box, 'pending', runId, 'owner.json');
    const text = fs.readFileSync(owner, 'utf8');
    fs.writeFileSync(owner, text.replace(/"bootId":"[^"]*"/, '"bootId":"another"'));
    expect(await codeFor(runId)).toBe('RUN_ACTIVE');
    fs.writeFileSync(owner, text.replace(/"startTime":"\d+"/, '"startTime":"1"'));
    expect(await codeFor(runId)).toBeUndefined();
    setPin(box.context, box.place, runId, true);
    expect(await codeFor(runId)).toBe('USAGE');
    expect([await codeFor(ids[0] ?? ''), await codeFor('last')]).toEqual(['USAGE', 'USAGE']);
    expect(await codeFor('2001')).toBe('RUN_UNKNOWN');
  });

  it('stays when it is active again by the time of the removal', async () => {
    const { box, runId } = interrupted('killed');
    const owner = storePath(box, 'pending', runId, 'owner.json');
    const shown = await planGc(box.context, box.place, {}, runId);
    const { startTime } = processIdentity(process.pid);
    fs.writeFileSync(
      owner,
      fs.readFileSync(owner, 'utf8').replace(/"startTime":"1"/, `"startTime":"${startTime}"`),
    );
    expect(await codeOf(async () => applyGc(box.context, box.place, shown))).toBe('STORE_BUSY');
    expect(fs.existsSync(storePath(box, 'pending', runId, 'intent.json'))).toBe(true);
  });
});

describe('after a run', () => {
  /** What a run of so many bytes of objects would have retention do. */
  async function after(box: Setting, budget: number): ReturnType<typeof keepBudget> {
    const root = fs.realpathSync(box.ws);
    const workspace = openWorkspaceForWriting(
      box.store,
      { id: workspaceId(root), root },
      { now: Date.now() },
    );
    try {
      const run = workspace.store.sealed().at(-1) as RunId;
      return await keepBudget(workspace, { run, bytes: 0 }, Date.now(), budget);
    } finally {
      workspace.close();
    }
  }

  it('nothing happens within the budget', async () => {
    const { box } = withRuns(3);
    const before = storeFiles(box).filter((name) => name !== 'size.json');
    expect(await after(box, 1 << 30)).toBeUndefined();
    expect(storeFiles(box).filter((name) => name !== 'size.json')).toEqual(before);
  });

  it('the oldest go when it is passed, never a pinned one or the newest', async () => {
    const { box, ids } = withRuns(5);
    setPin(box.context, box.place, ids[0] ?? '', true);
    const note = await after(box, 4 * LARGE);
    expect(note).toMatchObject({
      kind: 'collected',
      removed: ids.slice(1, 1 + (note?.kind === 'collected' ? note.removed.length : 0)),
    });
    expect(sealedIds(box)).toContain(ids[0]);
    expect(sealedIds(box).at(-1)).toBe(ids[4]);
    expect(failingClaims(box)).toEqual([]);
  });

  it('says how much is left when nothing more may go', async () => {
    const { box, ids } = withRuns(3);
    const note = await after(box, 1);
    expect(note).toMatchObject({ kind: 'collected', removed: ids.slice(0, 2) });
    expect(note?.kind === 'collected' && note.sizeBytes).toBeGreaterThan(LARGE);
  });

  it('nothing happens beside an active run', async () => {
    const { box, ids } = withRuns(3);
    const { session, close } = activeRun(box);
    session.snapshotBefore();
    expect(await after(box, 1)).toBeUndefined();
    expect(sealedIds(box)).toEqual(ids);
    session.abandon();
    close();
  });

  it('many packs are merged, and every content is still there', async () => {
    const { box } = withRuns(1);
    const root = fs.realpathSync(box.ws);
    const workspace = openWorkspaceForWriting(
      box.store,
      { id: workspaceId(root), root },
      { now: Date.now() },
    );
    const [run] = workspace.store.sealed() as [RunId];
    const digests = Array.from({ length: 70 }, (_, i) => {
      const batch = workspace.objectBatch(run);
      const digest = batch.put(Buffer.from(`content ${i}`));
      batch.commit();
      return digest;
    });
    workspace.close();
    expect(await after(box, 1 << 30)).toBeUndefined();
    expect(storeFiles(box).filter((name) => name.endsWith('.pack')).length).toBeLessThan(10);
    const again = openWorkspaceForWriting(box.store, { id: workspaceId(root), root }, { now: Date.now() });
    expect(digests.map((digest) => again.store.objects.check(digest))).toEqual(digests.map(() => 'present'));
    again.close();
    expect(failingClaims(box)).toEqual([]);
  });

  it('a failure is a note and nothing more: the next one tries again', async () => {
    const { box, ids } = withRuns(3);
    const restore = interceptWrites(({ name, target }) => {
      if (name === 'renameSync' && target.includes('/capsules/')) throw systemError('EIO');
    });
    expect(await after(box, 1)).toMatchObject({ kind: 'failed', error: { code: 'STORE_UNWRITABLE' } });
    restore();
    expect(sealedIds(box)).toEqual(ids);
    expect(failingClaims(box)).toEqual([]);
    expect(await after(box, 1)).toMatchObject({ kind: 'collected', removed: ids.slice(0, 2) });
  });

  it('a size that is remembered wrongly is measured before anything goes', async () => {
    const { box } = withRuns(2);
    fs.writeFileSync(storePath(box, 'size.json'), JSON.stringify({ bytes: 2 ** 50, runs: 1 }));
    const report = await scripted(box, 'true');
    expect([report.exitStatus, report.retention, sealedIds(box).length]).toEqual([0, undefined, 3]);
    const { bytes } = JSON.parse(fs.readFileSync(storePath(box, 'size.json'), 'utf8'));
    expect(bytes).toBeLessThan(1 << 30);
  });
});
