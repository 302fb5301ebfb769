import * as fs from 'node:fs';
import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Name, RelPath } from '../../../src/core/index.ts';
import { Dir } from '../../../src/fs/index.ts';
import { isInState, isRootInState, observe, type Place, type State } from '../../../src/snapshot/index.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { isRoot, MemoryObjects, scan, stateAt } from './memory-store.ts';

afterEach(() => vi.restoreAllMocks());

function open(path: string): Dir {
  const dir = Dir.open(path);
  onTestFinished(() => dir.close());
  return dir;
}

function look(root: Dir, path: string): Place {
  const place = observe(root, path as RelPath);
  if (place.found !== 'blocked') place.parent.close();
  return place;
}

describe('observe', () => {
  it('finds entries and gaps, with a parent that may be closed', () => {
    const path = temporaryDir();
    fs.mkdirSync(`${path}/a/b`, { recursive: true });
    fs.writeFileSync(`${path}/a/b/f`, 'four');
    fs.symlinkSync('f', `${path}/a/b/l`);
    const root = open(path);
    expect(look(root, 'a/b/f')).toMatchObject({ found: 'entry', name: 'f', stat: { kind: 'file', size: 4 } });
    expect(look(root, 'a/b/l')).toMatchObject({ found: 'entry', stat: { kind: 'symlink' } });
    expect(look(root, 'a')).toMatchObject({ found: 'entry', stat: { kind: 'directory' } });
    expect(look(root, 'a/b/none')).toMatchObject({ found: 'absent', name: 'none' });
    expect(root.names()).toEqual(['a']);
  });

  it('follows nothing, and names where the way ends', () => {
    const path = temporaryDir();
    fs.mkdirSync(`${path}/real`);
    fs.writeFileSync(`${path}/real/f`, 'x');
    fs.symlinkSync('real', `${path}/link`);
    const root = open(path);
    expect(look(root, 'link/f')).toEqual({ found: 'blocked', at: 'link', why: 'link' });
    expect(look(root, 'real/f/g/h')).toEqual({ found: 'blocked', at: 'real/f', why: 'not-directory' });
    expect(look(root, 'real/no/g/h')).toEqual({ found: 'blocked', at: 'real/no', why: 'missing' });
  });

  it('says when a directory may not be entered', () => {
    const path = temporaryDir();
    fs.mkdirSync(`${path}/d`);
    const real = Dir.prototype.openDir;
    vi.spyOn(Dir.prototype, 'openDir').mockImplementation(function (this: Dir, name) {
      if (name === 'd') throw Object.assign(new Error(), { code: 'EACCES' });
      return real.call(this, name);
    });
    expect(look(open(path), 'd/f')).toEqual({ found: 'blocked', at: 'd', why: 'unreadable' });
  });

  it('says when the last directory may be opened and not searched', () => {
    const path = temporaryDir();
    fs.mkdirSync(`${path}/d`);
    vi.spyOn(Dir.prototype, 'tryLstat').mockImplementation(() => {
      throw Object.assign(new Error(), { code: 'EACCES' });
    });
    expect(look(open(path), 'd/f')).toEqual({ found: 'blocked', at: 'd/f', why: 'unreadable' });
  });

  it('leaks no handle', () => {
    const path = temporaryDir();
    fs.mkdirSync(`${path}/a/b`, { recursive: true });
    fs.symlinkSync('a', `${path}/l`);
    const root = open(path);
    const count = (): number => fs.readdirSync('/proc/self/fd').length;
    const before = count();
    for (const step of ['a/b', 'a/b/c', 'a/x/y', 'l/b']) look(root, step);
    expect(count()).toBe(before);
  });
});

describe('isInState', () => {
  /** A directory with one entry `x`, and the entry's state as a scan records it. */
  function recorded(make: (path: string) => void): { path: string; dir: Dir; state: State } {
    const path = temporaryDir();
    make(`${path}/x`);
    const objects = new MemoryObjects();
    const state = stateAt(objects, scan(path, objects), 'x');
    if (state === undefined) throw new Error('nothing was made');
    return { path: `${path}/x`, dir: open(path), state };
  }
  const x = 'x' as Name;
  const writeFile = (path: string): void => fs.writeFileSync(path, 'content');

  it('says yes to an entry of every kind that is as recorded', () => {
    const makers: ((path: string) => void)[] = [
      writeFile,
      (path) => fs.writeFileSync(path, Buffer.alloc(3 << 20, 'x')),
      (path) => fs.mkdirSync(path),
      (path) => fs.symlinkSync(Buffer.from([0x61, 0xff]), path),
      (path) => execFileSync('mkfifo', [path]),
      ...(isRoot() ? [(path: string) => void execFileSync('mknod', [path, 'b', '7', '300'])] : []),
    ];
    for (const make of makers) {
      const { dir, state } = recorded(make);
      expect(isInState(dir, x, state)).toBe('yes');
    }
  });

  it('says no to other bytes, also of the same size and mtime', () => {
    const { path, dir, state } = recorded(writeFile);
    const { atime, mtime } = fs.statSync(path);
    fs.writeFileSync(path, 'CONTENT');
    fs.utimesSync(path, atime, mtime);
    expect(isInState(dir, x, state)).toBe('no');
  });

  it('says no to another mode, owner, kind, target or device number', () => {
    const { path, dir, state } = recorded(writeFile);
    expect(isInState(dir, x, { ...state, uid: state.uid + 1 })).toBe('no');
    expect(isInState(dir, x, { ...state, gid: state.gid + 1 })).toBe('no');
    fs.chmodSync(path, 0o4644);
    expect(isInState(dir, x, state)).toBe('no');
    fs.rmSync(path);
    fs.symlinkSync('content', path);
    expect(isInState(dir, x, state)).toBe('no');
    const link = recorded((at) => fs.symlinkSync('one', at));
    fs.rmSync(link.path);
    fs.symlinkSync('two', link.path);
    expect(isInState(link.dir, x, link.state)).toBe('no');
  });

  it.runIf(isRoot())('knows a device by its numbers', () => {
    const node = recorded((at) => void execFileSync('mknod', [at, 'c', '1', '3']));
    expect(isInState(node.dir, x, { ...node.state, content: { is: 'device', number: '1:5' } })).toBe('no');
  });

  it('reads nothing of a file of another size', () => {
    const { path, dir, state } = recorded(writeFile);
    fs.appendFileSync(path, 'x');
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    expect(isInState(dir, x, state)).toBe('no');
    expect(opened).not.toHaveBeenCalled();
  });

  it('compares a directory by its own metadata', () => {
    const { path, dir, state } = recorded((at) => fs.mkdirSync(at));
    fs.writeFileSync(`${path}/new`, 'x');
    expect(isInState(dir, x, state)).toBe('yes');
    fs.chmodSync(path, 0o700);
    expect(isInState(dir, x, { ...state, mode: 0o755 })).toBe('no');
  });

  it('says absent when nothing is there', () => {
    const { path, dir, state } = recorded(writeFile);
    fs.rmSync(path);
    expect(isInState(dir, x, state)).toBe('absent');
  });

  it('compares content that was not read by the stat identity', () => {
    const path = temporaryDir();
    fs.writeFileSync(`${path}/x`, 'content');
    const objects = new MemoryObjects();
    const levels = () => ({ level: 'stat', rule: 'r' }) as const;
    const state = stateAt(objects, scan(path, objects, { levels }), 'x');
    if (state === undefined) throw new Error('nothing was made');
    const dir = open(path);
    expect(isInState(dir, x, state)).toBe('yes');
    expect(
      isInState(dir, x, {
        ...state,
        content: { ...state.content, is: 'unknown', reason: 'unreadable' } as State['content'],
      }),
    ).toBe('yes');
    fs.renameSync(`${path}/x`, `${path}/aside`);
    expect(isInState(dir, 'aside' as Name, state)).toBe('no');
    expect(isInState(dir, 'aside' as Name, state, 'renamed')).toBe('yes');
    fs.writeFileSync(`${path}/aside`, 'CONTENT');
    expect(isInState(dir, 'aside' as Name, state, 'renamed')).toBe('no');
  });

  it('never says yes to a state that does not tell the content', () => {
    for (const make of [writeFile, (path: string) => fs.mkdirSync(path)]) {
      const { dir, state } = recorded(make);
      expect(isInState(dir, x, { ...state, content: { is: 'unknown', reason: 'store' } })).toBe('unknown');
    }
  });

  it('says unreadable, not no, when the content may not be read', () => {
    const { dir, state } = recorded(writeFile);
    vi.spyOn(Dir.prototype, 'openFile').mockImplementation(() => {
      throw Object.assign(new Error(), { code: 'EACCES' });
    });
    expect(isInState(dir, x, state)).toBe('unreadable');
  });

  it('says no to a file that moves while it is read', () => {
    const { path, dir, state } = recorded(writeFile);
    const real = Dir.prototype.openFile;
    vi.spyOn(Dir.prototype, 'openFile').mockImplementation(function (this: Dir, name) {
      fs.appendFileSync(path, '!');
      return real.call(this, name);
    });
    expect(isInState(dir, x, state)).toBe('no');
  });
});

describe('isRootInState', () => {
  it('compares the root’s own metadata', () => {
    const path = temporaryDir();
    const { root } = scan(path, new MemoryObjects());
    const dir = open(path);
    expect(isRootInState(dir, root.state)).toBe(true);
    fs.chmodSync(path, 0o711);
    expect(isRootInState(dir, root.state)).toBe(false);
  });
});
