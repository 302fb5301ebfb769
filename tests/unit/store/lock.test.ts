import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { AgentdiffError } from '../../../src/core/index.ts';
import { UNKNOWN_MS } from '../../../src/store/lock.ts';
import { begun, freshBase, inStore, NOW, openForReading, openForWriting } from '../../support/store.ts';
import { temporaryDir } from '../../support/temporary.ts';

interface Owner {
  pid: number;
  startTime: string;
  bootId: string;
  namespace: string;
  operation: string;
}

function locks(base: string): string[] {
  return fs.readdirSync(inStore(base)).filter((name) => name.startsWith('lock-'));
}

/** The lock that is there, as if another process had made it. */
function changeLock(base: string, change: Partial<Owner>, ageMs = 0): void {
  const [name = ''] = locks(base);
  const file = inStore(base, name);
  const owner: Owner = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...owner, ...change }));
  const at = (NOW - ageMs) / 1000;
  fs.utimesSync(file, at, at);
}

function thrownBy(action: () => void): AgentdiffError {
  try {
    action();
  } catch (error) {
    if (error instanceof AgentdiffError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const DEAD: Partial<Owner> = { startTime: '1' };

describe('working on a workspace alone', () => {
  it('is for one at a time, and the other hears who it is', () => {
    const base = freshBase();
    openForWriting(base).lock('gc', NOW);
    const error = thrownBy(() => openForWriting(base).lock('recover', NOW));
    expect(error.code).toBe('STORE_BUSY');
    expect(error.message).toContain(`gc works on this workspace`);
    expect(error.message).toContain(`process ${process.pid}, since ${new Date(NOW).toISOString()}`);
    expect(error.data).toMatchObject({ operation: 'gc', pid: process.pid, alive: true });
    expect(locks(base)).toHaveLength(1);
  });

  it('ends with the closing', () => {
    const base = freshBase();
    const first = openForWriting(base);
    first.lock('gc', NOW);
    first.close();
    expect(locks(base)).toEqual([]);
    openForWriting(base).lock('recover', NOW);
  });

  it('is not kept up by a dead process, whose lock is removed by the next opening', () => {
    const base = freshBase();
    openForWriting(base).lock('gc', NOW);
    changeLock(base, DEAD);
    const second = openForWriting(base);
    expect(locks(base)).toEqual([]);
    second.lock('recover', NOW);
  });

  it.each<[string, Partial<Owner>]>([
    ['boot', { bootId: 'other' }],
    ['pid namespace', { namespace: 'pid:[1]', startTime: '1' }],
  ])('of another %s counts for ten minutes after its last sign of life', (_, owner) => {
    const base = freshBase();
    const second = openForWriting(base);
    openForWriting(base).lock('gc', NOW);
    changeLock(base, owner, UNKNOWN_MS - 1000);
    expect(thrownBy(() => second.lock('recover', NOW))).toMatchObject({
      code: 'STORE_BUSY',
      data: { alive: false },
      hint: expect.stringContaining('10 minutes'),
    });
    changeLock(base, owner, UNKNOWN_MS + 1000);
    second.lock('recover', NOW);
  });

  it('with a stamp from the future does not count for ever', () => {
    const base = freshBase();
    openForWriting(base).lock('gc', NOW);
    changeLock(base, { bootId: 'other' }, -UNKNOWN_MS - 1000);
    openForWriting(base).lock('recover', NOW);
  });

  it('is not taken while its file is half there: a lock has its owner from the first moment', () => {
    const base = freshBase();
    openForWriting(base).lock('gc', NOW);
    const [name = ''] = locks(base);
    expect(JSON.parse(fs.readFileSync(inStore(base, name), 'utf8'))).toMatchObject({
      pid: process.pid,
      operation: 'gc',
    });
  });
});

describe('a run that begins while somebody works on the workspace alone', () => {
  it('is refused after a while, and leaves nothing', () => {
    const base = freshBase();
    openForWriting(base).lock('gc', NOW);
    const writable = openForWriting(base);
    expect(thrownBy(() => writable.newRun(NOW)).code).toBe('STORE_BUSY');
    expect(openForReading(base).pending()).toEqual([]);
  });

  it('is not hindered by its own lock, nor by a dead one', () => {
    const base = freshBase();
    const writable = openForWriting(base);
    writable.lock('recover', NOW);
    expect(writable.newRun(NOW).id).toBeDefined();
    changeLock(base, DEAD);
    expect(begun(base).run.id).toBeDefined();
  });

  it('waits for one that ends soon', async () => {
    const base = freshBase();
    const holder = contender(base, ['hold', '400']);
    for (let i = 0; i < 1000 && (!fs.existsSync(inStore(base)) || locks(base).length === 0); i++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const writable = openForWriting(base);
    expect(writable.newRun(NOW).id).toBeDefined();
    expect(await holder).toBe('held\n');
  });
});

describe('several processes', () => {
  it('never hold the workspace alone at the same time, also when they find the lock of a dead one', async () => {
    const base = freshBase();
    const counter = path.join(temporaryDir(), 'inside');
    for (let round = 0; round < 3; round++) {
      openForWriting(base).lock('gc', NOW);
      for (const name of locks(base)) {
        const file = inStore(base, name);
        const owner: Owner = JSON.parse(fs.readFileSync(file, 'utf8'));
        fs.writeFileSync(file, JSON.stringify({ ...owner, ...DEAD }));
      }
      const answers = await Promise.all(Array.from({ length: 4 }, () => contender(base, ['count', counter])));
      // Each enters and leaves a directory that only one can make; none may have found it there.
      expect(answers.join('')).not.toContain('together');
      expect(answers.join('')).toContain('alone');
    }
  });
});

let code: string | undefined;

/** Another process that takes the lock; what it says of it. */
async function contender(base: string, words: readonly string[]): Promise<string> {
  code ??= buildSync({
    entryPoints: [fileURLToPath(new URL('../../fixtures/lock-contender.ts', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
  }).outputFiles[0]?.text;
  const program = path.join(temporaryDir(), 'contender.mjs');
  fs.writeFileSync(program, code ?? '');
  const { stdout } = await promisify(execFile)(process.execPath, [program, base, ...words]);
  return stdout;
}
