import * as fs from 'node:fs';
import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { digestOf, fromBytes, type RelPath } from '../../../src/core/index.ts';
import { Dir, OpenFile } from '../../../src/fs/index.ts';
import type { LevelRules } from '../../../src/snapshot/index.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { isRoot, listing, MemoryIndex, MemoryObjects, scan, stateAt } from './memory-store.ts';

afterEach(() => vi.restoreAllMocks());

const levelsByName =
  (table: ReadonlyMap<string, 'content' | 'digest' | 'stat' | 'structure' | 'none'>): LevelRules =>
  (path, _kind, _siblings, parent) => {
    const level = table.get(path);
    return level === undefined ? parent : { level, rule: `rule: ${path}` };
  };

describe('scanWorkspace: names and kinds', () => {
  it('records every kind, and opens nothing but regular files', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'hello', { mode: 0o640 });
    fs.chmodSync(`${root}/f`, 0o4750);
    fs.mkdirSync(`${root}/empty`);
    fs.chmodSync(`${root}/empty`, 0o1700);
    fs.symlinkSync('no/where\n', `${root}/dangling`);
    execFileSync('mkfifo', [`${root}/pipe`]);
    if (isRoot()) execFileSync('mknod', [`${root}/null`, 'c', '1', '3']);
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects);
    const at = (path: string) => stateAt(objects, snapshot, path);
    expect(at('f')).toMatchObject({
      kind: 'file',
      mode: 0o4750,
      size: 5,
      content: { digest: digestOf('hello') },
    });
    expect(at('empty')).toMatchObject({ kind: 'directory', mode: 0o1700, size: 0 });
    expect(at('dangling')).toMatchObject({
      kind: 'symlink',
      size: 9,
      content: { digest: digestOf('no/where\n') },
    });
    expect(objects.get(digestOf('no/where\n')).toString()).toBe('no/where\n');
    expect(at('pipe')).toMatchObject({ kind: 'fifo', content: { is: 'nothing' } });
    if (isRoot())
      expect(at('null')).toMatchObject({
        kind: 'character-device',
        content: { is: 'device', number: '1:3' },
      });
    expect(opened.mock.calls).toEqual([['f']]);
    expect(snapshot).toMatchObject({ files: 1, bytes: 5, unobserved: [], lowered: [] });
    expect(snapshot.entries).toBe(isRoot() ? 5 : 4);
  });

  it('keeps names as bytes, whatever they are', () => {
    const root = temporaryDir();
    const names = [
      Buffer.from([0xfe]),
      Buffer.from([0xff]),
      Buffer.from('a\nb'),
      Buffer.from('\ufffd'),
      Buffer.from('__proto__'),
    ];
    for (const name of names) fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), name);
    fs.mkdirSync(Buffer.concat([Buffer.from(`${root}/d`), Buffer.from([0x80])]));
    fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/d`), Buffer.from([0x80]), Buffer.from('/ä')]), 'x');
    const objects = new MemoryObjects();
    const found = listing(objects, scan(root, objects).tree);
    for (const name of names)
      expect(found.get(fromBytes(name) as RelPath)?.content).toMatchObject({ digest: digestOf(name) });
    const below = fromBytes(Buffer.concat([Buffer.from('d'), Buffer.from([0x80]), Buffer.from('/ä')]));
    expect(found.get(below as RelPath)?.content).toMatchObject({ digest: digestOf('x') });
  });

  it('takes links as links: loops, links to directories, links out of the tree', () => {
    const root = temporaryDir();
    const outside = temporaryDir();
    fs.writeFileSync(`${outside}/secret`, 'secret');
    fs.mkdirSync(`${root}/x/y`, { recursive: true });
    fs.symlinkSync('b', `${root}/a`);
    fs.symlinkSync('a', `${root}/b`);
    fs.symlinkSync('.', `${root}/self`);
    fs.symlinkSync('../..', `${root}/x/y/up`);
    fs.symlinkSync(outside, `${root}/out`);
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects);
    expect([...listing(objects, snapshot.tree).keys()].sort()).toEqual([
      'a',
      'b',
      'out',
      'self',
      'x',
      'x/y',
      'x/y/up',
    ]);
    expect(objects.has(digestOf('secret'))).toBe(false);
  });

  it('has the root’s own metadata beside the tree', () => {
    const root = temporaryDir();
    fs.chmodSync(root, 0o751);
    const { root: observed, tree } = scan(root, new MemoryObjects());
    expect(observed.state).toMatchObject({ kind: 'directory', mode: 0o751, content: { digest: tree } });
    expect(observed.particulars?.inode).toBe(`${fs.statSync(root).dev}:${fs.statSync(root).ino}`);
  });

  it('gives the same digest for the same tree elsewhere', () => {
    const [one, two] = [temporaryDir(), temporaryDir()];
    for (const root of [one, two]) {
      fs.mkdirSync(`${root}/d`);
      fs.writeFileSync(`${root}/d/f`, 'x');
    }
    expect(scan(one, new MemoryObjects()).tree).toBe(scan(two, new MemoryObjects()).tree);
  });

  it('reads empty files, files of just the buffer’s size, and longer ones', () => {
    const root = temporaryDir();
    const large = Buffer.alloc((3 << 20) + 17, 'abc');
    fs.writeFileSync(`${root}/large`, large);
    fs.writeFileSync(`${root}/exact`, large.subarray(0, 1 << 20));
    fs.writeFileSync(`${root}/empty`, '');
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects);
    expect(objects.get(digestOf(large)).equals(large)).toBe(true);
    expect(stateAt(objects, snapshot, 'exact')?.content).toMatchObject({
      digest: digestOf(large.subarray(0, 1 << 20)),
    });
    expect(stateAt(objects, snapshot, 'empty')?.content).toMatchObject({ digest: digestOf('') });
  });
});

describe('scanWorkspace: what is left out', () => {
  it('does not enter mount points, files included', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/m/inside`, { recursive: true });
    fs.writeFileSync(`${root}/bound`, 'x');
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, { mounts: new Set(['m', 'bound']) });
    expect(
      [...listing(objects, snapshot.tree)].map(([path, { kind, content }]) => [path, kind, content]),
    ).toEqual([
      ['bound', 'file', { is: 'unknown', reason: 'mount' }],
      ['m', 'directory', { is: 'unknown', reason: 'mount' }],
    ]);
    expect(snapshot.unobserved).toEqual([
      { path: 'bound', reason: 'mount' },
      { path: 'm', reason: 'mount' },
    ]);
  });

  it('names a mount that may not even be asked', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/m`);
    const real = Dir.prototype.tryLstat;
    vi.spyOn(Dir.prototype, 'tryLstat').mockImplementation(function (this: Dir, name) {
      if (name === 'm') throw Object.assign(new Error(), { code: 'EACCES' });
      return real.call(this, name);
    });
    const objects = new MemoryObjects();
    expect(stateAt(objects, scan(root, objects, { mounts: new Set(['m']) }), 'm')).toEqual({
      kind: 'directory',
      mode: 0,
      uid: 0,
      gid: 0,
      size: 0,
      content: { is: 'unknown', reason: 'mount' },
    });
  });

  it('recognises the store by device and inode', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/.store/packs`, { recursive: true });
    const { dev, ino } = fs.statSync(`${root}/.store`, { bigint: true });
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, { exclude: [{ dev, ino }] });
    expect(listing(objects, snapshot.tree).size).toBe(1);
    expect(stateAt(objects, snapshot, '.store')?.content).toEqual({ is: 'unknown', reason: 'store' });
    expect(snapshot.unobserved).toEqual([{ path: '.store', reason: 'store' }]);
  });

  it('does not look at level none, and says so', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/d/e`, { recursive: true });
    fs.writeFileSync(`${root}/f`, 'four');
    const opened = vi.spyOn(Dir.prototype, 'openBelow');
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, {
      levels: levelsByName(
        new Map([
          ['d', 'none'],
          ['f', 'none'],
        ]),
      ),
    });
    expect(stateAt(objects, snapshot, 'd')?.content).toEqual({ is: 'unknown', reason: 'excluded' });
    expect(opened.mock.calls.map(([path]) => path)).toEqual(['']);
    expect(snapshot.unobserved.map(({ path }) => path)).toEqual(['d', 'f']);
    expect(snapshot.lowered).toEqual([
      { path: 'd', level: 'none', rule: 'rule: d', files: 0, bytes: 0 },
      { path: 'f', level: 'none', rule: 'rule: f', files: 1, bytes: 4 },
    ]);
  });

  it('does not walk the store when it takes the place of another directory', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/.store/packs`, { recursive: true });
    fs.mkdirSync(`${root}/d`);
    const { dev, ino } = fs.statSync(`${root}/.store`, { bigint: true });
    const real = Dir.prototype.openBelow;
    vi.spyOn(Dir.prototype, 'openBelow').mockImplementation(function (this: Dir, path, seen) {
      if (path === 'd') {
        fs.rmdirSync(`${root}/d`);
        fs.renameSync(`${root}/.store`, `${root}/d`);
      }
      return real.call(this, path, seen);
    });
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, { exclude: [{ dev, ino }] });
    expect(listing(objects, snapshot.tree).has('d/packs' as RelPath)).toBe(false);
    expect(snapshot.unobserved).toContainEqual({ path: 'd', reason: 'unstable' });
  });

  it('stops at the depth that is allowed', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/1/2/3`, { recursive: true });
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, { limits: { maxDepth: 2 } });
    expect(stateAt(objects, snapshot, '1/2/3')?.content).toMatchObject({
      is: 'unknown',
      reason: 'too-deep',
      identity: expect.any(String),
    });
    expect(snapshot.unobserved).toEqual([{ path: '1/2/3', reason: 'too-deep' }]);
  });
});

describe('scanWorkspace: levels and limits', () => {
  it('stats files at level stat and keeps their trees and links; says it once for the top', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/nm/a/b`, { recursive: true });
    fs.writeFileSync(`${root}/nm/a/b/f`, 'seven!!');
    fs.writeFileSync(`${root}/nm/g`, 'x');
    fs.symlinkSync('g', `${root}/nm/l`);
    fs.writeFileSync(`${root}/nm/keep`, 'kept');
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, {
      levels: levelsByName(
        new Map([
          ['nm', 'stat'],
          ['nm/keep', 'content'],
        ]),
      ),
    });
    const stat = fs.statSync(`${root}/nm/g`, { bigint: true });
    expect(stateAt(objects, snapshot, 'nm/g')?.content).toEqual({
      is: 'identity',
      identity: `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`,
    });
    expect(stateAt(objects, snapshot, 'nm/l')?.content).toMatchObject({ digest: digestOf('g') });
    expect(opened.mock.calls).toEqual([['keep']]);
    expect(snapshot.lowered).toEqual([{ path: 'nm', level: 'stat', rule: 'rule: nm', files: 3, bytes: 12 }]);
  });

  it('hashes without keeping at level digest', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'x');
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, { levels: levelsByName(new Map([['f', 'digest']])) });
    expect(stateAt(objects, snapshot, 'f')?.content).toMatchObject({ digest: digestOf('x') });
    expect(objects.has(digestOf('x'))).toBe(false);
    expect(snapshot.lowered).toEqual([{ path: 'f', level: 'digest', rule: 'rule: f', files: 1, bytes: 1 }]);
  });

  it('tells the rules the names beside an entry and the decision above it', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/target/x`, { recursive: true });
    fs.writeFileSync(`${root}/Cargo.toml`, '');
    const seen: unknown[] = [];
    scan(root, new MemoryObjects(), {
      levels: (path, kind, siblings, parent) => {
        seen.push([path, kind, siblings, parent.level]);
        return path === 'target' ? { level: 'stat', rule: 'r' } : parent;
      },
    });
    expect(seen).toEqual([
      ['Cargo.toml', 'file', ['Cargo.toml', 'target'], 'content'],
      ['target', 'directory', ['Cargo.toml', 'target'], 'content'],
      ['target/x', 'directory', ['x'], 'stat'],
    ]);
  });

  it('lowers long files and names the limit', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/kept`, Buffer.alloc(1024));
    fs.writeFileSync(`${root}/hashed`, Buffer.alloc(1025));
    fs.writeFileSync(`${root}/stat`, Buffer.alloc(2049));
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects, { limits: { keptFileBytes: 1024, hashedFileBytes: 2048 } });
    expect(objects.has(digestOf(Buffer.alloc(1024)))).toBe(true);
    expect(objects.has(digestOf(Buffer.alloc(1025)))).toBe(false);
    expect(stateAt(objects, snapshot, 'stat')?.content.is).toBe('identity');
    expect(snapshot.lowered).toEqual([
      { path: 'hashed', level: 'digest', rule: 'limit: file over 1 KiB', files: 1, bytes: 1025 },
      { path: 'stat', level: 'stat', rule: 'limit: file over 2 KiB', files: 1, bytes: 2049 },
    ]);
  });

  it('does not call a file lowered whose content the store has anyway', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, Buffer.alloc(1025));
    const objects = new MemoryObjects();
    objects.put(Buffer.alloc(1025));
    const index = new MemoryIndex();
    expect(scan(root, objects, { limits: { keptFileBytes: 1024 }, indexOut: index }).lowered).toEqual([]);
    expect(index.isKept('f' as RelPath)).toBe(true);
  });

  it('keeps no more new content than a run may have, and counts only what is new', () => {
    const root = temporaryDir();
    const objects = new MemoryObjects();
    objects.put(Buffer.from('known'));
    objects.newBytes = 0;
    fs.writeFileSync(`${root}/a`, 'known');
    fs.writeFileSync(`${root}/b`, 'twelve bytes');
    fs.writeFileSync(`${root}/c`, 'more');
    fs.writeFileSync(`${root}/d`, 'known');
    const snapshot = scan(root, objects, { limits: { newBytes: 12 } });
    expect(objects.has(digestOf('twelve bytes'))).toBe(true);
    expect(objects.has(digestOf('more'))).toBe(false);
    expect(snapshot.lowered).toEqual([
      { path: 'c', level: 'digest', rule: 'limit: new content of the run', files: 1, bytes: 4 },
    ]);
    expect(stateAt(objects, snapshot, 'c')?.content).toMatchObject({ digest: digestOf('more') });
  });
});

describe('scanWorkspace: the index', () => {
  function workspace(): string {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/d`);
    fs.writeFileSync(`${root}/d/f`, 'one');
    fs.writeFileSync(`${root}/g`, 'two');
    fs.symlinkSync('g', `${root}/l`);
    return root;
  }

  it('opens nothing that an earlier scan knew, and hands its index on', () => {
    const root = workspace();
    const objects = new MemoryObjects();
    const index = new MemoryIndex();
    const first = scan(root, objects, { indexOut: index });
    const opened = [vi.spyOn(Dir.prototype, 'openFile'), vi.spyOn(Dir.prototype, 'openBelow')];
    const again = new MemoryIndex();
    const second = scan(root, objects, { index, indexOut: again });
    for (const calls of opened) expect(calls).not.toHaveBeenCalled();
    expect(second).toEqual(first);
    expect(again.current).toBe(index.current);
  });

  it('observes only the directories in which something moved, and those above', () => {
    const root = temporaryDir();
    for (const at of ['a/b/c', 'a/d', 'e/f']) fs.mkdirSync(`${root}/${at}`, { recursive: true });
    for (const at of ['a/b/c/f', 'a/d/f', 'a/f', 'e/f/f']) fs.writeFileSync(`${root}/${at}`, at);
    const [objects, index] = [new MemoryObjects(), new MemoryIndex()];
    scan(root, objects, { indexOut: index });
    fs.writeFileSync(`${root}/a/b/c/f`, 'edited');
    const [opened, listed, read] = (['openBelow', 'names', 'openFile'] as const).map((name) =>
      vi.spyOn(Dir.prototype, name),
    );
    const after = scan(root, objects, { index });
    expect(opened?.mock.calls.map(([path]) => path)).toEqual(
      expect.arrayContaining(['', 'a', 'a/b', 'a/b/c']),
    );
    expect(opened?.mock.calls.flat()).not.toContain('a/d');
    expect(opened?.mock.calls.flat()).not.toContain('e');
    expect(listed).not.toHaveBeenCalled();
    expect(read?.mock.calls).toEqual([['f']]);
    expect(after).toEqual(scan(root, objects));
  });

  it('lists a directory again when a name came or went, and no other', () => {
    const root = workspace();
    const [objects, index] = [new MemoryObjects(), new MemoryIndex()];
    scan(root, objects, { indexOut: index });
    fs.writeFileSync(`${root}/d/new`, 'new');
    const listed = vi.spyOn(Dir.prototype, 'names');
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    const after = scan(root, objects, { index });
    expect(listed).toHaveBeenCalledTimes(1);
    expect(opened.mock.calls).toEqual([['new']]);
    expect(after).toEqual(scan(root, objects));
  });

  it('lists every directory where the file system’s directory times are not known to be true', () => {
    const root = workspace();
    const [objects, index] = [new MemoryObjects(), new MemoryIndex()];
    scan(root, objects, { indexOut: index });
    const listed = vi.spyOn(Dir.prototype, 'names');
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    scan(root, objects, { index, hasDirectoryTimes: false });
    expect(listed).toHaveBeenCalledTimes(2);
    expect(opened).not.toHaveBeenCalled();
  });

  it('reads every file again where times do not tell, and lists no directory for that', () => {
    const root = workspace();
    const [objects, index] = [new MemoryObjects(), new MemoryIndex()];
    const first = scan(root, objects, { indexOut: index });
    const listed = vi.spyOn(Dir.prototype, 'names');
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    expect(scan(root, objects, { index, hasWriteTimes: false })).toEqual(first);
    expect(opened.mock.calls.flat().toSorted()).toEqual(['f', 'g']);
    expect(listed).not.toHaveBeenCalled();
  });

  it('decides anew under other rules, and reads nothing again for that', () => {
    const root = workspace();
    const [objects, index] = [new MemoryObjects(), new MemoryIndex()];
    scan(root, objects, { indexOut: index });
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    const levels = levelsByName(new Map([['d', 'stat']]));
    const other = scan(root, objects, { index, levels, levelsId: 'other' });
    expect(opened).not.toHaveBeenCalled();
    expect(other).toEqual(scan(root, objects, { levels, levelsId: 'other' }));
  });

  it('knows nothing of another directory at the same place', () => {
    const root = workspace();
    const [objects, index] = [new MemoryObjects(), new MemoryIndex()];
    scan(root, objects, { indexOut: index });
    fs.renameSync(`${root}/d`, `${root}/e`);
    const after = scan(root, objects, { index });
    expect(after).toEqual(scan(root, objects));
    expect(stateAt(objects, after, 'e/f')).toBeDefined();
  });

  it('reads again what the store has lost', () => {
    const root = workspace();
    const objects = new MemoryObjects();
    const index = new MemoryIndex();
    scan(root, objects, { indexOut: index });
    objects.forget(digestOf('two'));
    index.current = index.current.withoutKept();
    scan(root, objects, { index });
    expect(objects.has(digestOf('two'))).toBe(true);
  });

  it('sees an edit that keeps size and mtime', () => {
    const root = workspace();
    fs.utimesSync(`${root}/g`, 1_577_836_800, 1_577_836_800);
    const objects = new MemoryObjects();
    const index = new MemoryIndex();
    scan(root, objects, { indexOut: index });
    fs.writeFileSync(`${root}/g`, 'TWO');
    fs.utimesSync(`${root}/g`, 1_577_836_800, 1_577_836_800);
    const after = scan(root, objects, { index });
    expect(stateAt(objects, after, 'g')?.content).toMatchObject({ digest: digestOf('TWO') });
  });

  it('does not rely on records that are too fresh', () => {
    const root = workspace();
    const objects = new MemoryObjects();
    const index = new MemoryIndex();
    scan(root, objects, { indexOut: index, startedAtNs: BigInt(Date.now()) * 1_000_000n });
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    scan(root, objects, { index });
    expect(opened).toHaveBeenCalledTimes(2);
  });

  it('does not read a file over the limit twice', () => {
    const root = workspace();
    const objects = new MemoryObjects();
    const index = new MemoryIndex();
    const limits = { keptFileBytes: 2 };
    const first = scan(root, objects, { indexOut: index, limits });
    const opened = vi.spyOn(Dir.prototype, 'openFile');
    expect(scan(root, objects, { index, limits })).toEqual(first);
    expect(opened).not.toHaveBeenCalled();
  });
});

describe('scanWorkspace: a workspace that moves meanwhile', () => {
  /** Runs `act` right before the real method is called for `name`. */
  function before(
    method: 'openFile' | 'openBelow' | 'readlink' | 'tryLstat',
    name: string,
    act: (call: number) => void,
  ): void {
    const real = Dir.prototype[method] as (this: Dir, ...given: unknown[]) => unknown;
    let calls = 0;
    vi.spyOn(Dir.prototype, method).mockImplementation(function (this: Dir, ...given: unknown[]) {
      if (given[0] === name) act(calls++);
      return real.call(this, ...given) as never;
    });
  }

  function scanned(root: string): { content: unknown; paths: string[]; unobserved: unknown } {
    const objects = new MemoryObjects();
    const snapshot = scan(root, objects);
    const found = listing(objects, snapshot.tree);
    return { content: found.get('f' as RelPath), paths: [...found.keys()], unobserved: snapshot.unobserved };
  }

  it('takes what vanished after the listing as absent', () => {
    const root = temporaryDir();
    for (const name of ['a', 'b', 'f']) fs.writeFileSync(`${root}/${name}`, name);
    before('tryLstat', 'f', () => fs.rmSync(`${root}/f`, { force: true }));
    before('openFile', 'a', () => fs.rmSync(`${root}/a`, { force: true }));
    expect(scanned(root)).toEqual({ content: undefined, paths: ['b'], unobserved: [] });
  });

  it('takes a directory and a link that vanished as absent', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/d`);
    fs.symlinkSync('x', `${root}/l`);
    before('openBelow', 'd', () => fs.rmSync(`${root}/d`, { recursive: true, force: true }));
    before('readlink', 'l', () => fs.rmSync(`${root}/l`, { force: true }));
    expect(scanned(root)).toMatchObject({ paths: [], unobserved: [] });
  });

  it('reads a file that moved once again', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'old');
    before('openFile', 'f', (call) => call === 0 && fs.writeFileSync(`${root}/f`, 'newer'));
    expect(scanned(root)).toMatchObject({
      content: { size: 5, content: { digest: digestOf('newer') } },
      unobserved: [],
    });
  });

  it('records a file that keeps moving as unstable', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'old');
    before('openFile', 'f', () => fs.appendFileSync(`${root}/f`, 'x'));
    expect(scanned(root)).toMatchObject({
      content: { content: { is: 'unknown', reason: 'unstable', identity: expect.any(String) } },
      unobserved: [{ path: 'f', reason: 'unstable' }],
    });
  });

  it('leaves nothing half-read in the store when a large file moves', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, Buffer.alloc(2 << 20));
    const objects = new MemoryObjects();
    const real = objects.putStream.bind(objects);
    vi.spyOn(objects, 'putStream').mockImplementation((size, produce) =>
      real(size, (sink) => produce((piece) => (fs.appendFileSync(`${root}/f`, 'x'), sink(piece)))),
    );
    const snapshot = scan(root, objects);
    expect(snapshot.unobserved).toEqual([{ path: 'f', reason: 'unstable' }]);
    expect(objects.puts).toBe(1); // the root's tree
  });

  it('does not follow what takes the place of a directory before it is entered', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/f`);
    before('openBelow', 'f', () => {
      fs.rmSync(`${root}/f`, { recursive: true });
      fs.symlinkSync('/', `${root}/f`);
    });
    expect(scanned(root)).toMatchObject({
      content: { content: { is: 'unknown', reason: 'unstable' } },
      paths: ['f'],
      unobserved: [{ path: 'f', reason: 'unstable' }],
    });
  });

  it('does not take another directory for one that was moved away', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/f/inside`, { recursive: true });
    fs.mkdirSync(`${root}/other`);
    before('openBelow', 'f', () => {
      fs.renameSync(`${root}/f`, `${root}/gone`);
      fs.renameSync(`${root}/other`, `${root}/f`);
    });
    expect(scanned(root)).toMatchObject({
      unobserved: expect.arrayContaining([{ path: 'f', reason: 'unstable' }]),
    });
  });

  it('does not mind entries that come and go in a directory', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'x');
    before('openFile', 'f', () => fs.writeFileSync(`${root}/g`, 'later'));
    expect(scanned(root)).toMatchObject({ paths: ['f'], unobserved: [] });
  });

  it('passes failures of the store on', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/small`, 'x');
    fs.writeFileSync(`${root}/z`, Buffer.alloc(2 << 20));
    const failing = new MemoryObjects();
    const failure = Object.assign(new Error(), { code: 'ENOSPC' });
    vi.spyOn(failing, 'putStream').mockImplementation((_size, produce) => {
      produce(() => {
        throw failure;
      });
      return digestOf('');
    });
    expect(() => scan(root, failing)).toThrow(failure);
    vi.spyOn(failing, 'put').mockImplementation(() => {
      throw failure;
    });
    expect(() => scan(root, failing)).toThrow(failure);
  });

  it('leaves no directory open when it fails', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/a/b`, { recursive: true });
    fs.writeFileSync(`${root}/a/b/f`, 'x');
    const failing = new MemoryObjects();
    vi.spyOn(failing, 'put').mockImplementation(() => {
      throw Object.assign(new Error(), { code: 'ENOSPC' });
    });
    const count = (): number => fs.readdirSync('/proc/self/fd').length;
    const open = count();
    expect(() => scan(root, failing)).toThrow();
    expect(count()).toBe(open);
  });

  it('puts a file together that the system hands out in small parts', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'in small parts');
    const real = OpenFile.prototype.read;
    vi.spyOn(OpenFile.prototype, 'read').mockImplementation(function (this: OpenFile, buffer, position) {
      return real.call(this, buffer.subarray(0, 3), position);
    });
    expect(scanned(root)).toMatchObject({ content: { content: { digest: digestOf('in small parts') } } });
  });

  it('measures a link by its target, not by what lstat says of it', () => {
    const root = temporaryDir();
    fs.symlinkSync('target', `${root}/f`);
    const real = Dir.prototype.tryLstat;
    vi.spyOn(Dir.prototype, 'tryLstat').mockImplementation(function (this: Dir, name) {
      const stat = real.call(this, name);
      return stat && { ...stat, size: 0 };
    });
    expect(scanned(root)).toMatchObject({ content: { size: 6 } });
  });

  it('records other failures of the system, and goes on', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/e`, 'e');
    fs.writeFileSync(`${root}/f`, Buffer.alloc(2 << 20));
    before('openFile', 'f', () => {
      throw Object.assign(new Error(), { code: 'EIO' });
    });
    expect(scanned(root)).toMatchObject({
      paths: ['e', 'f'],
      content: { content: { is: 'unknown', reason: 'failed', identity: expect.any(String) } },
      unobserved: [{ path: 'f', reason: 'failed' }],
    });
  });
});
