import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fromBytes } from '../../../src/core/index.ts';
import {
  effectiveUser,
  freeSpace,
  isAlive,
  isExecutable,
  mountPoints,
  ownArgumentBytes,
  ownWorkingDirectory,
  pathBelow,
  pidNamespace,
  processIdentity,
  realPath,
  statPath,
} from '../../../src/fs/index.ts';
import { temporaryDir } from '../../support/temporary.ts';

/** Makes the system's file say something else until the test ends. */
function pretend(file: string, content: string | undefined): void {
  const real: { readFileSync: (...args: unknown[]) => unknown } = createRequire(import.meta.url)('node:fs');
  const original = real.readFileSync;
  real.readFileSync = (...args) => {
    if (args[0] !== file) return original(...args);
    if (content === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    return typeof args[1] === 'string' ? content : Buffer.from(content, 'latin1');
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    real.readFileSync = original;
    syncBuiltinESMExports();
  });
}

const linux = it.runIf(process.platform === 'linux');

describe('a process', () => {
  it('that runs is alive, by its identity', () => {
    const own = processIdentity(process.pid);
    expect(own).toEqual(processIdentity(process.pid));
    expect(isAlive(own)).toBe(true);
  });

  it('that ended is not', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    const identity = processIdentity(child.pid ?? 0);
    expect(isAlive(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isAlive(identity)).toBe(false);
  });

  linux('that ended is not even while nobody asked for its exit status', async () => {
    const child = spawn('sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 20'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [output] = await once(child.stdout, 'data');
    const pid = Number(String(output));
    const state = (): string => fs.readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0] ?? '';
    while (state() !== 'Z') await new Promise((resolve) => setTimeout(resolve, 5));
    expect(processIdentity(pid).startTime).toBe('');
    expect(isAlive({ ...processIdentity(process.pid), pid })).toBe(false);
  });

  linux('is not the one that has its pid now', () => {
    const own = processIdentity(process.pid);
    expect(isAlive({ ...own, startTime: `${own.startTime}0` })).toBe(false);
    expect(isAlive({ ...own, startTime: '' })).toBe(false);
  });

  linux('of another boot is gone', () => {
    expect(isAlive({ ...processIdentity(process.pid), bootId: 'other' })).toBe(false);
  });

  linux('may have a name that looks like the fields behind it', () => {
    const fields = Array.from({ length: 40 }, (_, i) => String(i + 4));
    pretend('/proc/77/stat', `77 (x) Z 1 (y)) S ${fields.join(' ')}`);
    expect(processIdentity(77).startTime).toBe('22');
  });

  linux('knows its pid namespace and its user', () => {
    expect(pidNamespace()).toMatch(/^pid:\[\d+\]$/);
    expect(effectiveUser()).toBe(process.geteuid?.());
  });
});

describe('mount points', () => {
  linux('are the ones of this process', () => {
    expect(mountPoints()).toContain('/');
    expect(mountPoints()).toContain('/proc');
  });

  linux('are read from the table as bytes, escapes undone', () => {
    const table = [
      '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
      '36 22 8:1 /x /a\\040b\\011c\\012d\\134040e rw - ext4 /dev/sda1 rw',
      '37 22 8:1 / /\xc3\xbc rw master:1 propagate_from:2 - tmpfs none rw',
      '38 22 8:1 / /\xff rw - tmpfs none rw',
      '',
    ].join('\n');
    pretend('/proc/self/mountinfo', table);
    expect(mountPoints()).toEqual(['/', '/a b\tc\nd\\040e', '/ü', fromBytes(Buffer.from('/\xff', 'latin1'))]);
  });

  it('are unknown where there is no table', () => {
    pretend('/proc/self/mountinfo', undefined);
    expect(mountPoints()).toEqual([]);
  });
});

describe('paths', () => {
  it('lie below others by whole names only', () => {
    expect(pathBelow('/a/b/c', '/a')).toBe('b/c');
    expect(pathBelow('/ab', '/a')).toBeUndefined();
    expect(pathBelow('/a', '/a')).toBeUndefined();
    expect(pathBelow('/a', '/')).toBe('a');
    expect(pathBelow('/', '/')).toBeUndefined();
    expect(pathBelow('\0/a/\xff', '/a')).toBe('\0\xff');
    expect(pathBelow('\0/\xff/b', '\0/\xff')).toBe('b');
  });

  it('are resolved byte for byte, or lead nowhere', () => {
    const root = temporaryDir();
    const odd = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x64, 0xff])]);
    fs.mkdirSync(odd);
    fs.symlinkSync(odd, path.join(root, 'link'));
    expect(realPath(path.join(root, 'link'))).toBe(fromBytes(odd));
    expect(realPath(path.join(root, 'none'))).toBeUndefined();
    expect(statPath(path.join(root, 'link'))?.kind).toBe('directory');
    expect(statPath(path.join(root, 'none'))).toBeUndefined();
  });

  it('tell what may be executed: files, not directories', () => {
    const root = temporaryDir();
    fs.writeFileSync(path.join(root, 'x'), '', { mode: 0o755 });
    fs.writeFileSync(path.join(root, 'n'), '', { mode: 0o644 });
    expect(['x', 'n', 'none', '.'].map((each) => isExecutable(path.join(root, each)))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('this process', () => {
  linux('has its arguments, environment and directory as bytes', () => {
    expect(ownArgumentBytes()?.argv.toString('latin1')).toContain('node');
    expect(ownArgumentBytes()?.environment.toString('latin1')).toContain('PATH=');
    expect(ownWorkingDirectory()).toBe(fs.realpathSync(process.cwd()));
  });

  it('knows the space left', () => {
    const { free, total } = freeSpace(temporaryDir());
    expect(free).toBeGreaterThan(0);
    expect(total).toBeGreaterThanOrEqual(free);
  });
});
