import { createHash } from 'node:crypto';
import * as fs from 'node:fs';

/** One entry as the plain slow way finds it; everything that a snapshot compares. */
export interface ModelEntry {
  readonly kind: 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'character-device' | 'block-device';
  /** `0..0o7777` */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** file: bytes; symlink: bytes of the target; else 0 */
  readonly size: number;
  /** file: SHA-256 of its bytes, symlink: of its target's bytes; device: `major:minor`; else empty */
  readonly content: string;
}

/** Every entry of a tree by its path, bytes as latin1 text; the root under the empty one. */
export type Model = ReadonlyMap<string, ModelEntry>;

/**
 * Walks a real directory with nothing but lstat, readdir, readFile and readlink by joined path: what a snapshot is held against, so it knows no
 * index, no levels and no order of its own. Paths longer than the system takes are not for it.
 */
export function modelOf(root: string): Model {
  const found = new Map<string, ModelEntry>();
  eachEntry(root, (path, absolute, stat) => found.set(path, entryOf(absolute, stat)));
  return found;
}

/** `dev:ino:size:mtime:ctime` of every entry by path: what tells that an entry was left alone. */
export function identitiesOf(root: string): Map<string, string> {
  const text = ({ dev, ino, size, mtimeNs, ctimeNs }: fs.BigIntStats): string =>
    [dev, ino, size, mtimeNs, ctimeNs].join(':');
  const found = new Map<string, string>();
  eachEntry(root, (path, _, stat) => found.set(path, text(stat)));
  return found;
}

/** The paths whose entries differ, in no order that means anything. */
export function modelDiff(before: Model, after: Model): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => JSON.stringify(before.get(path)) !== JSON.stringify(after.get(path)));
}

type See = (path: string, absolute: Buffer, stat: fs.BigIntStats) => void;

function eachEntry(root: string, see: See): void {
  see('', Buffer.from(root), fs.lstatSync(root, { bigint: true }));
  visit(Buffer.from(root), '', see);
}

function visit(dir: Buffer, prefix: string, see: See): void {
  for (const name of fs.readdirSync(dir, { encoding: 'buffer' })) {
    const absolute = Buffer.concat([dir, Buffer.from('/'), name]);
    const stat = fs.lstatSync(absolute, { bigint: true });
    const path = prefix + name.toString('latin1');
    see(path, absolute, stat);
    if (stat.isDirectory()) visit(absolute, `${path}/`, see);
  }
}

function entryOf(absolute: Buffer, stat: fs.BigIntStats): ModelEntry {
  const own = { mode: Number(stat.mode) & 0o7777, uid: Number(stat.uid), gid: Number(stat.gid) };
  if (stat.isFile()) {
    const bytes = fs.readFileSync(absolute);
    return { kind: 'file', ...own, size: bytes.length, content: sha256(bytes) };
  }
  if (stat.isSymbolicLink()) {
    const target = fs.readlinkSync(absolute, { encoding: 'buffer' });
    return { kind: 'symlink', ...own, size: target.length, content: sha256(target) };
  }
  if (stat.isDirectory()) return { kind: 'directory', ...own, size: 0, content: '' };
  if (stat.isFIFO()) return { kind: 'fifo', ...own, size: 0, content: '' };
  if (stat.isSocket()) return { kind: 'socket', ...own, size: 0, content: '' };
  const kind = stat.isCharacterDevice() ? 'character-device' : 'block-device';
  // Small numbers only, where the encoding is this simple.
  return { kind, ...own, size: 0, content: `${stat.rdev >> 8n}:${stat.rdev & 0xffn}` };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
