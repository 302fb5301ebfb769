import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { compareBytes, digestOf, isRunId, type Name } from '../../src/core/index.ts';
import { readSmallFile } from '../../src/fs/index.ts';
import { Store, workspaceId, type WorkspaceStore } from '../../src/store/index.ts';
import { openWorkspaceForWriting } from '../../src/store/write.ts';
import { CAPSULE, CLONED, FIRST, INTENT, PLACE, SECOND } from '../fixtures/store-victim.ts';
import { removeAll, temporaryDir } from '../support/temporary.ts';

const ID = workspaceId(PLACE.root);
const SEED = Number(process.env['SEED'] ?? Date.now() % 100_000);

/** Victims at a time. */
const AT_ONCE = 3;

let code: string;

beforeAll(() => {
  const { outputFiles } = buildSync({
    entryPoints: [path.join(import.meta.dirname, '../fixtures/store-victim.ts')],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
  });
  code = outputFiles[0]?.text ?? '';
});

/** Runs the victim; the promises that it told before it ended. */
async function victim(
  dir: string,
  base: string,
  killAt: number,
  torn: number,
): Promise<{ told: Map<string, string>; killed: boolean }> {
  const script = path.join(dir, 'victim.mjs');
  if (!fs.existsSync(script)) fs.writeFileSync(script, code);
  const result = await promisify(execFile)(process.execPath, [
    script,
    base,
    String(killAt),
    String(torn),
  ]).then(
    ({ stdout }) => ({ stdout, signal: undefined }),
    (error: { stdout: string; signal: string | undefined; stderr: string }) => error,
  );
  if (result.signal !== undefined) expect(result.signal).toBe('SIGKILL');
  const lines = result.stdout
    .split('\n')
    .map((line): [string, string] => [line.split(' ')[0] ?? '', line.split(' ')[1] ?? '']);
  return { told: new Map(lines), killed: result.signal !== undefined };
}

/** Whatever happened: everything visible is whole, and everything promised is there. */
function check(base: string, told: ReadonlyMap<string, string>): void {
  const store = Store.open(base);
  const reader = store.workspace(ID);
  try {
    checkObjects(reader, told);
    checkRuns(reader, told);
    expect([0, 1001]).toContain(reader.statIndex().counts.rows);
  } finally {
    reader.close();
    store.close();
  }
}

function checkObjects(reader: WorkspaceStore, told: ReadonlyMap<string, string>): void {
  for (const [promise, blobs] of [['first', FIRST] as const, ['second', [...SECOND, CLONED]] as const]) {
    const found = blobs.map((bytes) => reader.objects.check(digestOf(bytes)));
    if (told.has(promise)) expect(found).toEqual(blobs.map(() => 'present'));
    expect(found).not.toContain('damaged');
  }
}

function checkRuns(reader: WorkspaceStore, told: ReadonlyMap<string, string>): void {
  const [sealed, pending] = [reader.sealed(), reader.pending()];
  const id = told.get('run');
  if (told.has('intent') && !told.has('sealed')) expect([...sealed, ...pending]).toContain(id);
  if (told.has('sealed')) expect(sealed).toEqual([id]);
  for (const run of sealed) {
    const capsule = reader.openCapsule(run);
    expect(
      capsule?.names().map((name) => [name, capsule && readSmallFile(capsule, name, 1 << 20).toString()]),
    ).toEqual([...CAPSULE]);
    capsule?.close();
    checkObjects(
      reader,
      new Map([
        ['first', ''],
        ['second', ''],
      ]),
    );
  }
  for (const run of pending) {
    const dir = reader.openPending(run);
    if (dir?.tryLstat('intent.json' as Name) !== undefined) {
      expect(readSmallFile(dir, 'intent.json' as Name, 1 << 20).toString()).toBe(INTENT);
      checkObjects(reader, new Map([['first', '']]));
    } else if (run === id) expect(told.has('intent')).toBe(false);
    dir?.close();
  }
}

/** The next run removes what the dead one left, and works. */
function reopen(base: string, told: ReadonlyMap<string, string>): void {
  const writable = openWorkspaceForWriting(base, { id: ID, ...PLACE }, { now: Date.now() });
  try {
    const names = fs.readdirSync(path.join(base, 'workspaces', ID), { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => /^(packs|large)\/.*\.tmp$/.test(name))).toEqual([]);
    const stems = (ending: string): string[] =>
      names.filter((name) => name.endsWith(ending)).map((name) => name.slice(0, -ending.length));
    expect(stems('.pack').sort()).toEqual(stems('.idx').sort());
    const pending = names.filter((name) => /^pending\/[^/]*$/.test(name)).map((name) => path.basename(name));
    expect(pending.filter((name) => isRunId(name) && !names.includes(`pending/${name}/intent.json`))).toEqual(
      [],
    );
    check(base, told);
    const run = writable.newRun(Date.now());
    const batch = writable.objectBatch(run.id);
    for (const bytes of [...FIRST, ...SECOND, CLONED]) batch.put(bytes);
    batch.commit();
    check(
      base,
      new Map(
        [...told, ['first', ''], ['second', '']].filter(([key]) => key !== 'sealed') as [string, string][],
      ),
    );
    run.abandon();
  } finally {
    writable.close();
  }
}

describe('a run that is killed', () => {
  it(`I6: before any writing call leaves nothing, or whole things, visible (seed ${SEED})`, async () => {
    const dir = temporaryDir();
    const whole = await victim(dir, path.join(dir, 'whole'), -1, 1);
    expect(whole.killed).toBe(false);
    check(path.join(dir, 'whole'), whole.told);
    const calls = Number(whole.told.get('calls'));
    expect(calls).toBeGreaterThan(50);
    // A linear congruential generator is enough to vary where a write is torn.
    let random = SEED;
    const torn = Array.from(
      { length: calls },
      () => 1 + ((random = (random * 1_103_515_245 + 12_345) % 2 ** 31) % 7),
    );
    for (let first = 0; first < calls; first += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, calls - first) }, (_, i) => first + i);
      await Promise.all(batch.map((killAt) => killed(dir, killAt, torn[killAt] ?? 1)));
    }
  }, 300_000);

  async function killed(dir: string, killAt: number, torn: number): Promise<void> {
    const base = path.join(dir, String(killAt));
    const result = await victim(dir, base, killAt, torn);
    try {
      expect(result.killed).toBe(true);
      check(base, result.told);
      reopen(base, result.told);
    } catch (error) {
      throw new Error(`killed before call ${killAt}, seed ${SEED}`, { cause: error });
    }
    removeAll(base);
  }
});

describe('two processes', () => {
  it('that store the same objects at the same time both succeed', async () => {
    const dir = temporaryDir();
    for (let round = 0; round < 5; round++) {
      const base = path.join(dir, String(round));
      const both = await Promise.all([victim(dir, base, -1, 1), victim(dir, base, -1, 1)]);
      expect(both.map(({ told }) => told.has('sealed'))).toEqual([true, true]);
      const store = Store.open(base);
      const reader = store.workspace(ID);
      expect(reader.sealed()).toEqual(both.map(({ told }) => told.get('run') ?? '').sort(compareBytes));
      checkObjects(
        reader,
        new Map([
          ['first', ''],
          ['second', ''],
        ]),
      );
      reader.close();
      store.close();
    }
  });
});
