import * as fs from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Dir, inside } from '../../../src/fs/index.ts';
import { temporaryDir } from '../../support/temporary.ts';

const original = process.cwd();
afterEach(() => {
  vi.restoreAllMocks();
  process.chdir(original);
});

describe('inside', () => {
  function setting(): { root: Dir; elsewhere: string } {
    const base = temporaryDir();
    fs.mkdirSync(`${base}/root`);
    fs.mkdirSync(`${base}/elsewhere`);
    fs.writeFileSync(`${base}/root/f`, 'in the root');
    return { root: Dir.open(`${base}/root`), elsewhere: `${base}/elsewhere` };
  }

  it('resolves paths from the directory, also when it was moved, and is back afterwards', () => {
    const { root, elsewhere } = setting();
    process.chdir(elsewhere);
    fs.renameSync(`${elsewhere}/../root`, `${elsewhere}/moved`);
    expect(inside(root, (prefix) => fs.readFileSync(`${prefix}f`, 'utf8'))).toBe('in the root');
    expect(process.cwd()).toBe(elsewhere);
    root.close();
  });

  it('is back in a directory that was renamed or removed meanwhile, and when it fails', () => {
    const { root, elsewhere } = setting();
    process.chdir(elsewhere);
    const { ino } = fs.statSync('.');
    inside(root, () => fs.renameSync(elsewhere, `${elsewhere}2`));
    expect(fs.statSync('.').ino).toBe(ino);
    expect(() =>
      inside(root, () => {
        fs.rmdirSync(`${elsewhere}2`);
        throw new Error('failed');
      }),
    ).toThrow('failed');
    expect(fs.statSync('.').ino).toBe(ino);
    root.close();
  });

  it('names the handle where the working directory cannot be changed', () => {
    const { root, elsewhere } = setting();
    process.chdir(elsewhere);
    vi.spyOn(process, 'chdir').mockImplementation(() => {
      throw Object.assign(new Error(), { code: 'EACCES' });
    });
    expect(inside(root, (prefix) => fs.readFileSync(`${prefix}f`, 'utf8'))).toBe('in the root');
    expect(fs.realpathSync('.')).toBe(fs.realpathSync(elsewhere));
    root.close();
  });

  it('leaves no file open', () => {
    const { root } = setting();
    const count = (): number => fs.readdirSync('/proc/self/fd').length;
    const before = count();
    for (let i = 0; i < 10; i++) inside(root, () => undefined);
    expect(count()).toBe(before);
    root.close();
  });
});
