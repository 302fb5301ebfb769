import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ScanThreads } from '../../../src/snapshot/index.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { listing, MemoryIndex, MemoryObjects, scan } from './memory-store.ts';

let program = '';
let dir = '';

beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'agentdiff-test-'));
  program = `${dir}/thread.cjs`;
  buildSync({
    entryPoints: [fileURLToPath(new URL('../../../src/snapshot/thread.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: program,
  });
  return () => fs.rmSync(dir, { recursive: true, force: true });
});

function threads(count: number, at = program): ScanThreads {
  const made = new ScanThreads(pathToFileURL(at), count, { looks: 1, files: 1 });
  onTestFinished(() => made.close());
  return made;
}

/** Some hundred small files, large and odd ones among them. */
function workspace(): string {
  const root = temporaryDir();
  for (let i = 0; i < 40; i++) {
    fs.mkdirSync(`${root}/d${i}/e`, { recursive: true });
    for (let j = 0; j < 30; j++) fs.writeFileSync(`${root}/d${i}/f${j}`, `${i} ${j}`.repeat(j * 40));
  }
  fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/d7/`), Buffer.from([0xff])]), 'odd');
  fs.writeFileSync(`${root}/large`, Buffer.alloc(3 << 20, 'l'));
  fs.symlinkSync('../..', `${root}/d3/up`);
  return root;
}

describe.each([1, 3])('a scan with %i threads', (count) => {
  it('finds and keeps what one without finds and keeps, the first time and later', () => {
    const root = workspace();
    const [alone, helped] = [new MemoryObjects(), new MemoryObjects()];
    const [aloneIndex, helpedIndex] = [new MemoryIndex(), new MemoryIndex()];
    const helpers = threads(count);
    const expected = scan(root, alone, { indexOut: aloneIndex });
    expect(scan(root, helped, { indexOut: helpedIndex, threads: helpers })).toEqual(expected);
    expect(helped.newBytes).toBe(alone.newBytes);
    expect([...listing(helped, expected.tree)]).toEqual([...listing(alone, expected.tree)]);
    expect(scan(root, helped, { index: helpedIndex, threads: helpers })).toEqual(expected);

    fs.writeFileSync(`${root}/d9/f3`, 'edited');
    fs.rmSync(`${root}/d20/f7`);
    fs.renameSync(`${root}/d30`, `${root}/moved`);
    fs.chmodSync(`${root}/d4/e`, 0o700);
    const after = scan(root, alone);
    expect(scan(root, helped, { index: helpedIndex, threads: helpers })).toEqual(after);
    expect([...listing(helped, after.tree)]).toEqual([...listing(alone, after.tree)]);
  });

  it('keeps no more than it may', () => {
    const root = workspace();
    const limits = { newBytes: 5000 };
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, { threads: threads(count), limits });
    expect(snapshot.tree).toBe(scan(root, new MemoryObjects()).tree);
    expect(snapshot.lowered.length).toBeGreaterThan(0);
    expect(snapshot.lowered.every(({ rule }) => rule === 'limit: new content of the run')).toBe(true);
  });
});

it('a thread that does not start, or fails, costs time and nothing else', () => {
  const root = workspace();
  const broken = `${dir}/broken.cjs`;
  fs.writeFileSync(broken, 'throw new Error("no")');
  const index = new MemoryIndex();
  const objects = new MemoryObjects();
  const expected = scan(root, new MemoryObjects());
  expect(scan(root, objects, { threads: threads(1, broken), indexOut: index })).toEqual(expected);
  expect(scan(root, objects, { threads: threads(2, `${dir}/missing.cjs`), index })).toEqual(expected);
});

it('an error in a thread is thrown to nobody', async () => {
  const helpers = threads(1, `${dir}/missing.cjs`);
  helpers.prepare(1);
  await new Promise((resolve) => setImmediate(resolve));
  helpers.close();
  expect(helpers.collect()).toEqual([]);
});
