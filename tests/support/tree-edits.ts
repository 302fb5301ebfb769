import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as fc from 'fast-check';

/**
 * One thing that somebody does to a tree of any kinds of entries. Entries are picked by number from those that are there, so that an edit meets
 * something; what the system refuses does nothing.
 */
export interface TreeEdit {
  readonly do: (typeof DEEDS)[number];
  /** The entry concerned, and the other one where there are two. */
  readonly pick: number;
  readonly other: number;
  /** A name for what is made or moved, as latin1 text of its bytes. */
  readonly name: string;
  readonly content: string;
  readonly mode: number;
  readonly owner: number;
  readonly group: number;
  /** Afterwards the directory gets its old modification time back. */
  readonly hidden: boolean;
}

const DEEDS = [
  'file',
  'directory',
  'symlink',
  'fifo',
  'socket',
  'device',
  'write',
  'write-same-times',
  'append',
  'remove',
  'move',
  'swap',
  'link',
  'chmod',
  'chown',
  'back-date',
  'future-date',
  'copy-over',
  'make-anew',
] as const;

const MORE_OFTEN = [
  'file',
  'file',
  'directory',
  'directory',
  'move',
  'write-same-times',
  'copy-over',
] as const;

const NAMES = [
  'a',
  'b',
  'c',
  'node_modules',
  '.hidden',
  '-rf',
  '__proto__',
  'new\nline',
  ' ',
  '\xff\xfe',
  '\xc3',
  'caf\xc3\xa9',
  'cafe\xcc\x81',
  '\xef\xbf\xbd',
  'n'.repeat(255),
];
const CONTENTS = ['', 'one', 'two', 'six', 'longer than three', 'x'.repeat(3000), 'y'.repeat(3000)];
const isPrivileged = process.getuid?.() === 0;
const MODES = [0o644, 0o600, 0o755, 0o700, 0o4755, 0o2755, 0o1777, 0o000, 0o444];
const PAST = 1_577_836_800;
const FUTURE = 4_070_908_800;

/** @param length how many edits */
export function treeEdits(length: { minLength?: number; maxLength: number }): fc.Arbitrary<TreeEdit[]> {
  return fc.array(
    fc.record({
      do: fc.constantFrom(...DEEDS, ...MORE_OFTEN),
      pick: fc.nat(999),
      other: fc.nat(999),
      name: fc.constantFrom(...NAMES, 'a', 'a', 'b', 'b', 'c'),
      content: fc.constantFrom(...CONTENTS),
      mode: fc.constantFrom(...MODES),
      owner: fc.constantFrom(0, 1, 65_534),
      group: fc.constantFrom(0, 1, 65_534),
      hidden: fc.boolean(),
    }),
    length,
  );
}

/** Entries that take a program to make are made once, beside the tree, and linked into it. */
export interface Nursery {
  readonly fifo: string;
  readonly socket: string;
  /** None without the right to make one. */
  readonly devices: readonly string[];
}

/** @param dir an empty directory on the file system of the trees */
export function makeNursery(dir: string): Nursery {
  const script = `import os,stat,sys
os.mkfifo(sys.argv[1]+'/fifo', 0o640)
os.mknod(sys.argv[1]+'/socket', stat.S_IFSOCK|0o600)
if os.geteuid()==0:
  for name, kind, number in (('c3', stat.S_IFCHR, 3), ('c5', stat.S_IFCHR, 5), ('b3', stat.S_IFBLK, 3)):
    os.mknod(sys.argv[1]+'/'+name, kind|0o600, os.makedev(1, number))`;
  execFileSync('python3', ['-c', script, dir]);
  const devices = ['c3', 'c5', 'b3'].map((name) => `${dir}/${name}`).filter((at) => fs.existsSync(at));
  return { fifo: `${dir}/fifo`, socket: `${dir}/socket`, devices };
}

/** Does all of them below `root`, which stays a directory. */
export function performAll(root: string, nursery: Nursery, edits: readonly TreeEdit[]): void {
  for (const edit of edits) {
    const tree = treeOf(root);
    const at = pickOf(tree.entries, edit.pick);
    const parent = edit.do in MAKING ? pickOf(tree.directories, edit.pick) : at && parentOf(at);
    const times = parent && fs.lstatSync(parent);
    try {
      perform(edit, tree, nursery);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
    if (edit.hidden && parent && times && fs.existsSync(parent))
      fs.lutimesSync(parent, times.atime, times.mtime);
  }
}

/** Gives every entry a time in whole seconds of the past: such a time can be put back exactly. */
export function backDateAll(root: string): void {
  const { entries, directories } = treeOf(root);
  for (const at of [...entries, ...directories]) fs.lutimesSync(at, PAST, PAST);
}

const MAKING: Readonly<Partial<Record<TreeEdit['do'], true>>> = {
  file: true,
  directory: true,
  symlink: true,
  fifo: true,
  socket: true,
  device: true,
};

interface Tree {
  readonly root: Buffer;
  /** All but the root, parents first. */
  readonly entries: readonly Buffer[];
  /** The root among them. */
  readonly directories: readonly Buffer[];
}

function perform(edit: TreeEdit, tree: Tree, nursery: Nursery): void {
  if (edit.do in MAKING) return make(edit, tree, nursery);
  if (isOwn(edit.do)) return editOwn(edit, pickOf([tree.root, ...tree.entries], edit.pick) ?? tree.root);
  const at = pickOf(tree.entries, edit.pick);
  if (at === undefined) return;
  const stat = fs.lstatSync(at);
  const other = pickOf(tree.entries, edit.other) ?? at;
  const place = inside(pickOf(tree.directories, edit.other), edit.name);
  const hasRoom = (from: Buffer, to: Buffer): boolean => longestBelow(tree, from) + to.length < MAX_PATH;
  if (edit.do === 'remove') fs.rmSync(at, { recursive: true });
  else if (edit.do === 'make-anew') makeAnew(at, stat);
  else if (edit.do === 'move' && hasRoom(at, place)) moveOver(at, place);
  else if (edit.do === 'swap' && hasRoom(at, other) && hasRoom(other, at)) swap(at, other);
  else if (edit.do === 'link' && !stat.isDirectory()) fs.linkSync(at, place);
  else if (stat.isFile()) editFile(edit, at, stat);
}

const OWN = ['chmod', 'chown', 'back-date', 'future-date'] as const;

function isOwn(deed: TreeEdit['do']): deed is (typeof OWN)[number] {
  return OWN.some((own) => own === deed);
}

/** What the entry itself, which may be the root, has of metadata. */
function editOwn(edit: TreeEdit, at: Buffer): void {
  const stat = fs.lstatSync(at);
  if (edit.do === 'back-date') return fs.lutimesSync(at, PAST, PAST);
  if (edit.do === 'future-date') return fs.lutimesSync(at, FUTURE, FUTURE);
  if (edit.do === 'chown') return isPrivileged ? fs.lchownSync(at, edit.owner, edit.group) : undefined;
  if (!stat.isSymbolicLink()) fs.chmodSync(at, allowed(edit.mode, stat.isDirectory()));
}

function make(edit: TreeEdit, tree: Tree, nursery: Nursery): void {
  const at = inside(pickOf(tree.directories, edit.pick), edit.name);
  const ready = { fifo: nursery.fifo, socket: nursery.socket, device: pickOf(nursery.devices, edit.other) };
  if (edit.do === 'device' && ready.device === undefined) return;
  fs.rmSync(at, { recursive: true, force: true });
  if (edit.do === 'file') fs.writeFileSync(at, edit.content);
  else if (edit.do === 'directory') fs.mkdirSync(at);
  else if (edit.do === 'symlink') return fs.symlinkSync(edit.content.slice(0, 200) || '../../..', at);
  else return fs.linkSync(ready[edit.do as keyof typeof ready] ?? '', at);
  fs.chmodSync(at, allowed(edit.mode, edit.do === 'directory'));
}

function editFile(edit: TreeEdit, at: Buffer, stat: fs.Stats): void {
  if (edit.do === 'write') return fs.writeFileSync(at, edit.content);
  if (edit.do === 'append') return fs.appendFileSync(at, edit.content);
  const altered = fs.readFileSync(at).map((byte) => byte ^ 1);
  if (edit.do === 'write-same-times') {
    fs.writeFileSync(at, altered);
    return fs.utimesSync(at, stat.atime, stat.mtime);
  }
  if (edit.do !== 'copy-over') return;
  // As `cp -a` puts another file of the same size, times and mode in its place.
  const copy = Buffer.concat([at.subarray(0, at.lastIndexOf('/') + 1), Buffer.from('copy')]);
  fs.writeFileSync(copy, altered);
  fs.chmodSync(copy, stat.mode);
  fs.utimesSync(copy, stat.atime, stat.mtime);
  fs.renameSync(copy, at);
}

/** The same again with another inode, or with the very number that became free. */
function makeAnew(at: Buffer, stat: fs.Stats): void {
  const copy = Buffer.concat([parentOf(at), Buffer.from('/anew')]);
  fs.cpSync(at.toString(), copy.toString(), {
    recursive: true,
    preserveTimestamps: true,
    verbatimSymlinks: true,
  });
  fs.rmSync(at, { recursive: true });
  fs.renameSync(copy, at);
  if (!stat.isSymbolicLink()) fs.chmodSync(at, stat.mode & 0o7777);
}

function moveOver(from: Buffer, to: Buffer): void {
  if (isWithin(to, from) || isWithin(from, to)) return;
  if (fs.lstatSync(to, { throwIfNoEntry: false })?.isDirectory()) fs.rmSync(to, { recursive: true });
  fs.renameSync(from, to);
}

function swap(a: Buffer, b: Buffer): void {
  if (isWithin(a, b) || isWithin(b, a)) return;
  const aside = Buffer.concat([parentOf(a), Buffer.from('/aside')]);
  fs.renameSync(a, aside);
  fs.renameSync(b, a);
  fs.renameSync(aside, b);
}

/** Without privilege a test would lock itself out. */
function allowed(mode: number, isDirectory: boolean): number {
  if (isPrivileged) return mode;
  return mode | (isDirectory ? 0o700 : 0o600);
}

function isWithin(path: Buffer, ancestor: Buffer): boolean {
  return path.equals(ancestor) || path.indexOf(Buffer.concat([ancestor, Buffer.from('/')])) === 0;
}

function parentOf(path: Buffer): Buffer {
  return path.subarray(0, path.lastIndexOf('/'));
}

function inside(dir: Buffer | undefined, name: string): Buffer {
  return Buffer.concat([dir ?? Buffer.alloc(0), Buffer.from('/'), Buffer.from(name, 'latin1')]);
}

function pickOf<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(list.length, 1)];
}

/** Bytes; the model goes by joined paths, which the system takes up to 4096. */
const MAX_PATH = 3500;

/** How much longer than the entry's own path the longest path below it is. */
function longestBelow({ entries }: Tree, at: Buffer): number {
  return Math.max(0, ...entries.filter((each) => isWithin(each, at)).map((each) => each.length - at.length));
}

function treeOf(root: string): Tree {
  const entries: Buffer[] = [];
  const directories: Buffer[] = [Buffer.from(root)];
  for (let i = 0; i < directories.length; i++) {
    const dir = directories[i] ?? Buffer.alloc(0);
    for (const name of fs.readdirSync(dir, { encoding: 'buffer' }).sort(Buffer.compare)) {
      const at = inside(dir, name.toString('latin1'));
      entries.push(at);
      if (fs.lstatSync(at).isDirectory() && at.length < MAX_PATH - 300) directories.push(at);
    }
  }
  return { root: Buffer.from(root), entries, directories };
}
