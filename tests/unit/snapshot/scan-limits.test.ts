import * as fs from 'node:fs';
import { execFileSync } from 'node:child_process';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { removeAll, temporaryDir } from '../../support/temporary.ts';
import { hasTool, isRoot } from './memory-store.ts';
import type { Printed } from './scan-program.ts';

const NOBODY = 65_534;

/** What to put before the program, and a place that the unprivileged user can reach. */
let program = '';

beforeAll(() => {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'agentdiff-test-')));
  fs.chmodSync(dir, 0o755);
  program = `${dir}/scan.mjs`;
  buildSync({
    entryPoints: [fileURLToPath(new URL('scan-program.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: program,
  });
  return () => removeAll(dir);
});

function run(wrapper: readonly string[], ...args: string[]): Printed {
  const [command = '', ...rest] = [...wrapper, process.execPath, program, ...args];
  const printed: Printed = JSON.parse(execFileSync(command, rest, { encoding: 'utf8', maxBuffer: 1 << 28 }));
  return printed;
}

const asNobody = ['setpriv', '--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'];
const canDropRights = isRoot() && hasTool('setpriv');

describe.skipIf(!canDropRights)('scanWorkspace as a plain user (needs root and setpriv)', () => {
  function workspace(): string {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'x');
    fs.writeFileSync(`${root}/secret`, 'x', { mode: 0 });
    fs.mkdirSync(`${root}/closed`);
    fs.writeFileSync(`${root}/closed/f`, 'x');
    fs.mkdirSync(`${root}/listed`);
    fs.writeFileSync(`${root}/listed/f`, 'x');
    fs.mkdirSync(`${root}/through`);
    fs.chmodSync(`${root}/closed`, 0);
    fs.chmodSync(`${root}/listed`, 0o444);
    fs.chmodSync(`${root}/through`, 0o111);
    for (const path of ['', '/f', '/secret', '/closed', '/listed', '/through'])
      fs.chownSync(root + path, NOBODY, NOBODY);
    return root;
  }

  it('records what may not be read as unreadable, with its stat identity, and goes on', () => {
    const printed = run(asNobody, workspace());
    const unreadable = { is: 'unknown', reason: 'unreadable', identity: expect.any(String) };
    expect(Object.fromEntries(printed.entries.map(({ path, content }) => [path, content]))).toEqual({
      closed: unreadable,
      f: { is: 'digest', digest: expect.any(String) },
      listed: unreadable,
      secret: unreadable,
      through: unreadable,
    });
    expect(printed.unobserved.map(({ path, reason }) => `${path} ${reason}`)).toEqual([
      'closed unreadable',
      'listed unreadable',
      'secret unreadable',
      'through unreadable',
    ]);
    expect(printed.counts).toEqual({ entries: 5, files: 2 });
    expect(printed.isStable).toBe(true);
  });

  it('fails when the root itself may not be searched', () => {
    const root = workspace();
    fs.chmodSync(root, 0o444);
    expect(run(asNobody, root).error).toBe('ROOT_UNREADABLE');
  });
});

/** Nested directories made and removed without a path that grows with them. */
function nest(root: string, name: string, depth: number): void {
  onTestFinished(() => void execFileSync('rm', ['-rf', `${root}/${name}`]));
  let fd = fs.openSync(root, 'r');
  for (let i = 0; i < depth; i++) {
    fs.mkdirSync(`/proc/self/fd/${fd}/${name}`);
    // Visited before the directory beside it.
    fs.writeFileSync(`/proc/self/fd/${fd}/a`, `${i}`);
    const next = fs.openSync(`/proc/self/fd/${fd}/${name}`, 'r');
    fs.closeSync(fd);
    fd = next;
  }
  fs.closeSync(fd);
}

describe.skipIf(process.platform !== 'linux')('scanWorkspace in deep trees', () => {
  it('reaches what no path can name', () => {
    const root = temporaryDir();
    nest(root, 'x'.repeat(250), 40);
    const printed = run([], root);
    expect(printed.counts).toEqual({ entries: 80, files: 40 });
    expect(printed.unobserved).toEqual([]);
  });

  it('goes as deep as it is told without overflowing', () => {
    const root = temporaryDir();
    nest(root, 'd', 1500);
    const printed = run([], root, '1200');
    expect(printed.unobserved.map(({ reason }) => reason)).toEqual(['too-deep']);
    expect(printed.counts.files).toBe(1201);
  });

  it.skipIf(!hasTool('prlimit'))('holds few files open, however deep it goes', () => {
    const root = temporaryDir();
    nest(root, 'd', 120);
    fs.writeFileSync(`${root}/z`, 'after');
    const printed = run(['prlimit', '--nofile=64:64'], root);
    expect(printed.unobserved).toEqual([]);
    expect(printed.counts).toEqual({ entries: 241, files: 121 });
    expect(printed.isStable).toBe(true);
  });
});
