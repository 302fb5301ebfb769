import * as fs from 'node:fs';
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type Digest, digestOf, type Name, type RelPath, ROOT_PATH } from '../../../src/core/index.ts';
import {
  diffSnapshots,
  encodeTree,
  type Snapshot,
  type State,
  withParticulars,
} from '../../../src/snapshot/index.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { diff, MemoryIndex, MemoryObjects, scan, summary } from './memory-store.ts';

/** The changes that `edit` makes to a workspace that `make` made. */
function changesOf(make: (root: string) => void, edit: (root: string) => void): string[] {
  const root = temporaryDir();
  make(root);
  const objects = new MemoryObjects();
  const before = scan(root, objects);
  edit(root);
  return summary(diff(objects, before, scan(root, objects)));
}

describe('diffSnapshots', () => {
  it('finds nothing in a workspace that did not change', () => {
    expect(
      changesOf(
        (root) => fs.writeFileSync(`${root}/f`, 'x'),
        () => undefined,
      ),
    ).toEqual([]);
  });

  it('does not compare times', () => {
    const touch = (root: string): void => fs.utimesSync(`${root}/f`, 1, 1);
    expect(changesOf((root) => fs.writeFileSync(`${root}/f`, 'x'), touch)).toEqual([]);
  });

  it('lists files, links, fifos, modes, and empty directories', () => {
    const changes = changesOf(
      (root) => {
        fs.writeFileSync(`${root}/edited`, '1');
        fs.writeFileSync(`${root}/gone`, '1');
        fs.writeFileSync(`${root}/mode`, '1');
        fs.symlinkSync('a', `${root}/link`);
        fs.mkdirSync(`${root}/empty`);
        fs.writeFileSync(`${root}/same`, '1');
      },
      (root) => {
        fs.writeFileSync(`${root}/edited`, '2');
        fs.rmSync(`${root}/gone`);
        fs.chmodSync(`${root}/mode`, 0o4711);
        fs.rmSync(`${root}/link`);
        fs.symlinkSync('b', `${root}/link`);
        fs.rmdirSync(`${root}/empty`);
        execFileSync('mkfifo', [`${root}/pipe`]);
      },
    );
    expect(changes).toEqual([
      'edited: file>file',
      'empty: directory>-',
      'gone: file>-',
      'link: symlink>symlink',
      'mode: file>file',
      'pipe: ->fifo',
    ]);
  });

  it('reports the root’s own mode as a change of the root', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/d`);
    const objects = new MemoryObjects();
    const before = scan(root, objects);
    fs.chmodSync(root, 0o711);
    fs.mkdirSync(`${root}/e`);
    const changes = diff(objects, before, scan(root, objects));
    expect(changes.map(({ path }) => path)).toEqual([ROOT_PATH, 'e']);
    expect([changes[0]?.before?.state.mode, changes[0]?.after?.state.mode]).toEqual([0o700, 0o711]);
    expect(changes[0]?.after?.particulars).toBeDefined();
  });

  it('does not list a directory whose entries alone changed, and lists one whose mode changed', () => {
    const make = (root: string): void => {
      fs.mkdirSync(`${root}/d/e`, { recursive: true });
      fs.writeFileSync(`${root}/d/e/f`, '1');
    };
    expect(changesOf(make, (root) => fs.writeFileSync(`${root}/d/e/f`, '2'))).toEqual(['d/e/f: file>file']);
    expect(changesOf(make, (root) => fs.chmodSync(`${root}/d/e`, 0o711))).toEqual([
      'd/e: directory>directory',
    ]);
  });

  it('lists all of a directory that came or went, a directory before what is in it', () => {
    const make = (root: string): void => {
      fs.mkdirSync(`${root}/a/s`, { recursive: true });
      fs.writeFileSync(`${root}/a/s/f`, '1');
      fs.writeFileSync(`${root}/a.txt`, '1');
    };
    expect(changesOf(make, (root) => fs.renameSync(`${root}/a`, `${root}/z`))).toEqual([
      'a: directory>-',
      'a/s: directory>-',
      'a/s/f: file>-',
      'z: ->directory',
      'z/s: ->directory',
      'z/s/f: ->file',
    ]);
    expect(
      changesOf(make, (root) => (fs.rmSync(`${root}/a`, { recursive: true }), fs.rmSync(`${root}/a.txt`))),
    ).toEqual(['a: directory>-', 'a/s: directory>-', 'a/s/f: file>-', 'a.txt: file>-']);
  });

  it('lists both sides of a change of kind', () => {
    const file = (root: string): void => {
      fs.rmSync(`${root}/c`, { recursive: true, force: true });
      fs.writeFileSync(`${root}/c`, 'c');
    };
    const directory = (root: string): void => {
      fs.rmSync(`${root}/c`, { recursive: true, force: true });
      fs.mkdirSync(`${root}/c`);
      fs.writeFileSync(`${root}/c/local`, 'l');
    };
    expect(changesOf(file, directory)).toEqual(['c: file>directory', 'c/local: ->file']);
    expect(changesOf(directory, file)).toEqual(['c: directory>file', 'c/local: file>-']);
    expect(
      changesOf(directory, (root) => {
        fs.rmSync(`${root}/c`, { recursive: true });
        fs.symlinkSync('/', `${root}/c`);
      }),
    ).toEqual(['c: directory>symlink', 'c/local: file>-']);
  });

  it('reads no object of a subtree that is equal on both sides', () => {
    const root = temporaryDir();
    fs.mkdirSync(`${root}/same/deep`, { recursive: true });
    fs.mkdirSync(`${root}/other`);
    const objects = new MemoryObjects();
    const before = scan(root, objects);
    objects.gets = 0;
    expect(diff(objects, before, scan(root, objects))).toEqual([]);
    expect(objects.gets).toBe(0);
    fs.writeFileSync(`${root}/other/f`, 'x');
    const after = scan(root, objects);
    objects.gets = 0;
    expect(summary(diff(objects, before, after))).toEqual(['other/f: ->file']);
    expect(objects.gets).toBe(4); // root and `other`, before and after
  });

  it('tells by the size that a file at level none was written', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, 'x');
    const objects = new MemoryObjects();
    const levels = () => ({ level: 'none', rule: 'r' }) as const;
    const before = scan(root, objects, { levels });
    fs.appendFileSync(`${root}/f`, 'y');
    expect(summary(diff(objects, before, scan(root, objects, { levels })))).toEqual(['f: file?>file?']);
  });

  it('fails on a tree that is missing or damaged', () => {
    const objects = new MemoryObjects();
    const known = objects.put(encodeTree([]));
    const noTree = objects.put(Buffer.from('no tree'));
    const missing = digestOf('never put');
    expect(() => diff(objects, snapshotOf(known), snapshotOf(missing))).toThrowError(
      expect.objectContaining({ code: 'OBJECT_MISSING' }),
    );
    expect(() => diff(objects, snapshotOf(known), snapshotOf(noTree))).toThrowError(
      expect.objectContaining({ code: 'OBJECT_DAMAGED' }),
    );
  });

  it('goes deeper than the call stack', () => {
    const objects = new MemoryObjects();
    let tree = objects.put(encodeTree([]));
    for (let depth = 0; depth < 12_000; depth++)
      tree = objects.put(encodeTree([directory('d', { is: 'digest', digest: tree })]));
    let count = 0;
    for (const change of diffSnapshots(objects, snapshotOf(objects.put(encodeTree([]))), snapshotOf(tree))) {
      if (change.after !== undefined) count++;
    }
    expect(count).toBe(12_000);
  });
});

describe('diffSnapshots: what one side does not know', () => {
  const known: State['content'] = { is: 'digest', digest: digestOf(encodeTree([file('inside')])) };
  const unknown: State['content'] = { is: 'unknown', reason: 'mount' };
  const identity = (n: number): State['content'] =>
    ({ is: 'unknown', reason: 'unreadable', identity: `1:2:3:4:${n}` }) as State['content'];

  function between(
    before: State['content'] | undefined,
    after: State['content'] | undefined,
    mode = 0o755,
  ): string[] {
    const objects = new MemoryObjects();
    objects.put(encodeTree([file('inside')]));
    const put = (content: State['content'] | undefined, own: number): Snapshot =>
      snapshotOf(objects.put(encodeTree(content === undefined ? [] : [directory('d', content, own)])));
    return summary(diff(objects, put(before, 0o755), put(after, mode)));
  }

  it('never takes unknown for absent', () => {
    expect(between(unknown, known)).toEqual(['d: directory?>directory']);
    expect(between(known, unknown)).toEqual(['d: directory>directory?']);
    expect(between(identity(1), known, 0o711)).toEqual(['d: directory?>directory']);
  });

  it('compares what is known of it', () => {
    expect(between(unknown, unknown)).toEqual([]);
    expect(between(unknown, unknown, 0o711)).toEqual(['d: directory?>directory?']);
    expect(between(identity(1), identity(1))).toEqual([]);
    expect(between(identity(1), identity(2))).toEqual(['d: directory?>directory?']);
  });

  it('lists what came or went as such, without what nobody saw', () => {
    expect(between(undefined, unknown)).toEqual(['d: ->directory?']);
    expect(between(unknown, undefined)).toEqual(['d: directory?>-']);
    expect(between(undefined, known)).toEqual(['d: ->directory', 'd/inside: ->file']);
  });
});

describe('withParticulars', () => {
  it('adds times, link counts and inodes of both sides', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/f`, '1');
    fs.linkSync(`${root}/f`, `${root}/g`);
    const [objects, first, second] = [new MemoryObjects(), new MemoryIndex(), new MemoryIndex()];
    const before = scan(root, objects, { indexOut: first });
    const stat = fs.statSync(`${root}/f`, { bigint: true });
    fs.writeFileSync(`${root}/f`, '2');
    fs.rmSync(`${root}/g`);
    fs.chmodSync(root, 0o711);
    const after = scan(root, objects, { indexOut: second });
    const changes = [...withParticulars(diffSnapshots(objects, before, after), first, second)];
    expect(changes.map(({ path }) => path)).toEqual([ROOT_PATH, 'f', 'g']);
    const inode = `${stat.dev}:${stat.ino}`;
    expect(changes[1]?.before?.particulars).toEqual({ mtimeNs: stat.mtimeNs, nlink: 2, inode });
    expect(changes[1]?.after?.particulars).toMatchObject({ nlink: 1, inode });
    expect(changes[2]).toMatchObject({ before: { particulars: { inode } } });
    expect(changes[2]?.after).toBeUndefined();
    expect(changes[0]?.before?.particulars).toEqual(before.root.particulars);
  });

  it('leaves a side without them when the index does not know the path', () => {
    const objects = new MemoryObjects();
    const after = snapshotOf(objects.put(encodeTree([file('f')])));
    const changes = diffSnapshots(objects, snapshotOf(objects.put(encodeTree([]))), after);
    const [change] = [...withParticulars(changes, new MemoryIndex(), new MemoryIndex())];
    expect(change).toEqual({ path: 'f' as RelPath, after: { state: file('f').state } });
  });
});

function file(name: string): { name: Name; state: State } {
  const content = { is: 'digest', digest: digestOf(name) } as const;
  return { name: name as Name, state: { kind: 'file', mode: 0o644, uid: 0, gid: 0, size: 6, content } };
}

function directory(name: string, content: State['content'], mode = 0o755): { name: Name; state: State } {
  return { name: name as Name, state: { kind: 'directory', mode, uid: 0, gid: 0, size: 0, content } };
}

function snapshotOf(tree: Digest): Snapshot {
  const root = { state: directory('x', { is: 'digest', digest: tree }).state };
  return { tree, root, entries: 0, files: 0, bytes: 0, outward: [], unobserved: [], lowered: [] };
}
