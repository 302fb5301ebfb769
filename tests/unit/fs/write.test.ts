import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Name } from '../../../src/core/index.ts';
import { Dir, FileMoved, isTemporaryName } from '../../../src/fs/index.ts';
import {
  changeOwnerAndMode,
  createFile,
  ensureDir,
  ensurePath,
  link,
  makeSymlink,
  removeDir,
  removeFile,
  removeTree,
  rename,
  setModified,
  temporaryName,
  writeFileDurably,
} from '../../../src/fs/write.ts';
import { type FsCall, interceptWrites, systemError } from '../../support/fs-calls.ts';
import { temporaryDir } from '../../support/temporary.ts';

const F = 'f' as Name;
const G = 'g' as Name;

function opened(anchoring?: 'handle' | 'path'): { root: string; dir: Dir } {
  const root = temporaryDir();
  const dir = Dir.open(root, anchoring);
  onTestFinished(() => dir.close());
  return { root, dir };
}

function errno(code: string): unknown {
  return expect.objectContaining({ code });
}

describe('writing a file durably', () => {
  it('puts the whole file under its name, the old one until then', () => {
    const { root, dir } = opened();
    writeFileDurably(dir, F, 'old', 0o600);
    writeFileDurably(dir, F, Buffer.from('new'), 0o640);
    expect(fs.readFileSync(path.join(root, 'f'), 'utf8')).toBe('new');
    expect(fs.statSync(path.join(root, 'f')).mode & 0o777).toBe(0o640);
    expect(fs.readdirSync(root)).toEqual(['f']);
  });

  it('syncs content before the name, and the name before it returns', () => {
    const { root, dir } = opened();
    const calls: FsCall[] = [];
    const restore = interceptWrites((call) => calls.push(call));
    writeFileDurably(dir, F, 'x');
    restore();
    const temporary = `${root}/.agentdiff-tmp-X`;
    expect(calls.map(({ name, target }) => [name, target.replace(/tmp-[0-9a-f]+$/, 'tmp-X')])).toEqual([
      ['openSync', temporary],
      ['writeSync', temporary],
      ['fsyncSync', temporary],
      ['renameSync', temporary],
      ['fsyncSync', root],
    ]);
  });

  it.each(['writeSync', 'fsyncSync', 'renameSync'])(
    'leaves the old file and nothing else when %s fails',
    (failing) => {
      const { root, dir } = opened();
      writeFileDurably(dir, F, 'old');
      const restore = interceptWrites(({ name, target }) => {
        if (name === failing && target !== root) throw systemError('ENOSPC');
      });
      expect(() => writeFileDurably(dir, F, 'new')).toThrow(errno('ENOSPC'));
      restore();
      expect(fs.readdirSync(root)).toEqual(['f']);
      expect(fs.readFileSync(path.join(root, 'f'), 'utf8')).toBe('old');
    },
  );

  it('does not write through a link that has the name', () => {
    const { root, dir } = opened();
    fs.writeFileSync(path.join(root, 'victim'), 'safe');
    fs.symlinkSync('victim', path.join(root, 'f'));
    writeFileDurably(dir, F, 'x');
    expect(fs.readFileSync(path.join(root, 'victim'), 'utf8')).toBe('safe');
    expect(fs.lstatSync(path.join(root, 'f')).isFile()).toBe(true);
  });

  it('takes names that leave no room for an ending', () => {
    const { root, dir } = opened();
    const long = 'n'.repeat(255) as Name;
    writeFileDurably(dir, long, 'x');
    expect(fs.readdirSync(root)).toEqual([long]);
  });

  it('knows its temporary names', () => {
    expect(isTemporaryName(temporaryName())).toBe(true);
    expect(isTemporaryName(F)).toBe(false);
    expect(temporaryName()).not.toBe(temporaryName());
  });
});

describe('making something under a name', () => {
  it('never replaces what is there', () => {
    const { root, dir } = opened();
    fs.writeFileSync(path.join(root, 'f'), 'mine');
    fs.writeFileSync(path.join(root, 'g'), 'new');
    expect(() => createFile(dir, F, 0o600)).toThrow(errno('EEXIST'));
    expect(() => link(dir, G, dir, F)).toThrow(errno('EEXIST'));
    expect(() => makeSymlink('t', dir, F)).toThrow(errno('EEXIST'));
    expect(fs.readFileSync(path.join(root, 'f'), 'utf8')).toBe('mine');
  });

  it('does not make the target of a link that has the name', () => {
    const { root, dir } = opened();
    fs.symlinkSync('target', path.join(root, 'f'));
    expect(() => createFile(dir, F, 0o600)).toThrow(errno('EEXIST'));
    expect(fs.existsSync(path.join(root, 'target'))).toBe(false);
  });

  it('links a symlink itself, not what it leads to', () => {
    const { root, dir } = opened();
    makeSymlink('\0t\xff', dir, F);
    link(dir, F, dir, G);
    expect(fs.readlinkSync(path.join(root, 'g'), { encoding: 'buffer' })).toEqual(Buffer.from([0x74, 0xff]));
  });

  it('makes a directory, or takes the one that is there, but no link to one', () => {
    const { root, dir } = opened();
    for (let i = 0; i < 2; i++) ensureDir(dir, F).close();
    expect(fs.statSync(path.join(root, 'f')).mode & 0o777).toBe(0o700);
    fs.symlinkSync('f', path.join(root, 'g'));
    expect(() => ensureDir(dir, G)).toThrow();
  });

  it('writes all of a large piece', () => {
    const { root, dir } = opened();
    const file = createFile(dir, F, 0o600);
    file.write(Buffer.alloc(5 << 20, 'x'));
    file.sync();
    file.close();
    expect(fs.statSync(path.join(root, 'f')).size).toBe(5 << 20);
  });

  it('makes a path, and syncs what holds the new directories', () => {
    const root = temporaryDir();
    const synced: string[] = [];
    const restore = interceptWrites(({ name, target }) => {
      if (name === 'fsyncSync') synced.push(target);
    });
    ensurePath(`${root}/a/b`).close();
    expect(new Set(synced)).toEqual(new Set([root, `${root}/a`]));
    synced.length = 0;
    ensurePath(`${root}/a/b`).close();
    restore();
    expect(synced).toEqual([]);
    expect(fs.statSync(`${root}/a`).mode & 0o777).toBe(0o700);
  });
});

describe('changing a mode', () => {
  it('is refused when the file got a further name meanwhile, which may lie anywhere', () => {
    const { root, dir } = opened();
    fs.writeFileSync(path.join(root, 'f'), '1', { mode: 0o600 });
    const seen = dir.lstat(F);
    fs.linkSync(path.join(root, 'f'), path.join(temporaryDir(), 'elsewhere'));
    expect(() => changeOwnerAndMode(dir, F, seen, { ...seen, mode: 0o666 })).toThrow(FileMoved);
    expect(fs.statSync(path.join(root, 'f')).mode & 0o777).toBe(0o600);
  });

  it('works on every kind that has one, unreadable ones included', () => {
    const { root, dir } = opened();
    fs.writeFileSync(path.join(root, 'f'), '');
    fs.mkdirSync(path.join(root, 'd'));
    execFileSync('mkfifo', [path.join(root, 'p')]);
    for (const name of ['f', 'd', 'p'] as Name[]) {
      for (const mode of [0o000, 0o4755, 0o1777, 0o600]) {
        const seen = dir.lstat(name);
        changeOwnerAndMode(dir, name, seen, { mode, uid: seen.uid, gid: seen.gid });
        expect([name, dir.lstat(name).mode]).toEqual([name, mode]);
      }
    }
  });

  it("never changes a link's target", () => {
    const { root, dir } = opened();
    fs.writeFileSync(path.join(root, 'victim'), '', { mode: 0o600 });
    fs.symlinkSync('victim', path.join(root, 'f'));
    const seen = dir.lstat(F);
    try {
      changeOwnerAndMode(dir, F, seen, { mode: 0o777, uid: seen.uid, gid: seen.gid });
    } catch {
      // Refusing is as good.
    }
    expect(fs.statSync(path.join(root, 'victim')).mode & 0o777).toBe(0o600);
  });

  it('refuses when another entry has the name by now', () => {
    const { root, dir } = opened();
    fs.writeFileSync(path.join(root, 'f'), '');
    fs.writeFileSync(path.join(root, 'victim'), '', { mode: 0o600 });
    const seen = dir.lstat(F);
    for (const replace of [
      () => fs.linkSync(path.join(root, 'victim'), path.join(root, 'f')),
      () => fs.symlinkSync('victim', path.join(root, 'f')),
    ]) {
      fs.renameSync(path.join(root, 'f'), path.join(root, `kept${Math.random()}`));
      replace();
      expect(() => changeOwnerAndMode(dir, F, seen, { mode: 0o777, uid: seen.uid, gid: seen.gid })).toThrow(
        FileMoved,
      );
      expect(fs.statSync(path.join(root, 'victim')).mode & 0o777).toBe(0o600);
    }
  });
});

describe('setting a modification time', () => {
  it.each([0n, 1n, 1_700_000_000_123_456_789n, -5_500_000_000n, 4_102_444_800_999_999_999n])(
    '%s ns, to the microsecond',
    (mtimeNs) => {
      const { root, dir } = opened();
      fs.symlinkSync('nowhere', path.join(root, 'f'));
      setModified(dir, F, mtimeNs);
      const file = createFile(dir, G, 0o600);
      file.setModified(mtimeNs);
      file.close();
      for (const name of [F, G]) {
        const off = dir.lstat(name).mtimeNs - mtimeNs;
        expect(off < 0n ? -off : off).toBeLessThanOrEqual(1000n);
      }
    },
  );
});

describe('removing', () => {
  it('takes a tree, and nothing behind a link', () => {
    const { root, dir } = opened();
    const outside = temporaryDir();
    fs.writeFileSync(path.join(outside, 'keep'), '');
    fs.mkdirSync(path.join(root, 'f/a/b'), { recursive: true });
    fs.symlinkSync(outside, path.join(root, 'f/a/out'));
    fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/f/`), Buffer.from([0xff])]), '');
    removeTree(dir, F);
    removeTree(dir, F);
    expect(fs.readdirSync(root)).toEqual([]);
    fs.symlinkSync(outside, path.join(root, 'f'));
    removeTree(dir, F);
    expect(fs.readdirSync(outside)).toEqual(['keep']);
  });

  it('refuses the wrong kind and a directory that is not empty', () => {
    const { root, dir } = opened();
    fs.mkdirSync(path.join(root, 'f/a'), { recursive: true });
    expect(() => removeFile(dir, F)).toThrow();
    expect(() => removeDir(dir, F)).toThrow(errno('ENOTEMPTY'));
  });
});

it('with path anchoring, changes nothing once the directory was swapped for a link', () => {
  const { root, dir } = opened('path');
  const outside = temporaryDir();
  fs.writeFileSync(path.join(outside, 'f'), 'outside');
  const moved = `${root}.moved`;
  fs.renameSync(root, moved);
  onTestFinished(() => fs.rmSync(moved, { recursive: true, force: true }));
  fs.symlinkSync(outside, root);
  const calls = [
    () => createFile(dir, G, 0o600),
    () => writeFileDurably(dir, F, 'x'),
    () => removeFile(dir, F),
    () => removeTree(dir, F),
    () => rename(dir, F, dir, G),
    () => link(dir, F, dir, G),
    () => makeSymlink('t', dir, G),
    () => setModified(dir, F, 1n),
    () => ensureDir(dir, G),
  ];
  for (const call of calls) expect(call).toThrow(expect.objectContaining({ code: 'ROOT_REPLACED' }));
  expect(fs.readdirSync(outside)).toEqual(['f']);
  expect(fs.readFileSync(path.join(outside, 'f'), 'utf8')).toBe('outside');
  fs.unlinkSync(root);
});
