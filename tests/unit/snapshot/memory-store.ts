import * as fs from 'node:fs';
import {
  AgentdiffError,
  type Digest,
  digestOf,
  joinPath,
  type Name,
  type RelPath,
  ROOT_PATH,
} from '../../../src/core/index.ts';
import { Dir, type Stat } from '../../../src/fs/index.ts';
import {
  type Change,
  type CaptureLimits,
  decodeTree,
  diffSnapshots,
  type ScanOptions,
  scanWorkspace,
  type Snapshot,
  type State,
} from '../../../src/snapshot/index.ts';
import { FLAG, type IndexRecord, StatIndex } from '../../../src/store/index.ts';

/** Objects in memory, with counts of what was asked. */
export class MemoryObjects {
  readonly #objects = new Map<Digest, Buffer>();
  newBytes = 0;
  puts = 0;
  gets = 0;

  has(digest: Digest): boolean {
    return this.#objects.has(digest);
  }

  put(bytes: Uint8Array): Digest {
    this.puts++;
    const digest = digestOf(bytes);
    if (!this.#objects.has(digest)) this.newBytes += bytes.length;
    this.#objects.set(digest, Buffer.from(bytes));
    return digest;
  }

  putHashed(digest: Digest, bytes: Uint8Array): void {
    if (this.put(bytes) !== digest) throw new AgentdiffError('INTERNAL', 'not the digest that was announced');
  }

  putFile(_dir: Dir, _name: Name, _seen: Stat): Digest | undefined {
    return undefined;
  }

  putStream(size: number, produce: (sink: (piece: Uint8Array) => void) => void): Digest {
    const pieces: Buffer[] = [];
    produce((piece) => pieces.push(Buffer.from(piece)));
    const bytes = Buffer.concat(pieces);
    if (bytes.length !== size) throw new AgentdiffError('INTERNAL', 'not the size that was announced');
    return this.put(bytes);
  }

  get(digest: Digest): Buffer {
    this.gets++;
    const bytes = this.#objects.get(digest);
    if (bytes === undefined) throw new AgentdiffError('OBJECT_MISSING', digest);
    return bytes;
  }

  forget(digest: Digest): void {
    this.#objects.delete(digest);
  }
}

/** The stat index of one scan, for the next. */
export class MemoryIndex {
  current = StatIndex.empty();

  lookup(path: RelPath): IndexRecord | undefined {
    return this.current.lookup(path);
  }

  isKept(path: RelPath): boolean {
    const row = this.current.find(path);
    return row !== undefined && this.current.has(row, FLAG.kept);
  }
}

const LIMITS: CaptureLimits = {
  keptFileBytes: 64 << 20,
  hashedFileBytes: 1 << 30,
  newBytes: 2 * 2 ** 30,
  newBytesRule: 'limit: new content of the run',
  maxDepth: 1000,
};

export type Overrides = Partial<Omit<ScanOptions, 'limits' | 'index'>> & {
  limits?: Partial<CaptureLimits>;
  /** The index of a scan before. */
  index?: MemoryIndex;
  /** Gets the index of this one. */
  indexOut?: MemoryIndex;
};

/** So late that no file counts as touched just before the scan. */
const LONG_AFTER = 2n ** 62n;

/** Scans a directory of the real file system; everything at level `content` unless `overrides` say otherwise. */
export function scan(path: string, objects: MemoryObjects, overrides: Overrides = {}): Snapshot {
  const { index, indexOut, ...options } = overrides;
  const root = Dir.open(path);
  try {
    const scanned = scanWorkspace(root, {
      levels: (_path, _kind, _siblings, parent) => parent,
      levelsId: 'test',
      hasDirectoryTimes: true,
      hasWriteTimes: true,
      startedAtNs: LONG_AFTER,
      exclude: [],
      mounts: new Set(),
      rootPath: path,
      objects,
      ...options,
      index: index?.current ?? StatIndex.empty(),
      limits: { ...LIMITS, ...overrides.limits },
    });
    if (indexOut !== undefined) indexOut.current = scanned.index;
    return scanned.snapshot;
  } finally {
    root.close();
  }
}

/** All entries of a snapshot by their paths, parents first. */
export function listing(objects: MemoryObjects, tree: Digest, below = ROOT_PATH): Map<RelPath, State> {
  const found = new Map<RelPath, State>();
  const open: [RelPath, Digest][] = [[below, tree]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { name, state } of decodeTree(objects.get(next[1]))) {
      const path = joinPath(next[0], name);
      found.set(path, state);
      if (state.kind === 'directory' && state.content.is === 'digest')
        open.push([path, state.content.digest]);
    }
  }
  return found;
}

/** The state of one path, for assertions; undefined when it is not there. */
export function stateAt(objects: MemoryObjects, snapshot: Snapshot, path: string): State | undefined {
  return listing(objects, snapshot.tree).get(path as RelPath);
}

export function diff(objects: MemoryObjects, before: Snapshot, after: Snapshot): Change[] {
  return [...diffSnapshots(objects, before, after)];
}

/** `path: before>after`, with kind letters and `-` for absent. */
export function summary(changes: readonly Change[]): string[] {
  return changes.map(
    ({ path, before, after }) => `${path}: ${letter(before?.state)}>${letter(after?.state)}`,
  );
}

function letter(state: State | undefined): string {
  return state === undefined ? '-' : `${state.kind}${state.content.is === 'unknown' ? '?' : ''}`;
}

export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

export function hasTool(name: string): boolean {
  return ['/usr/bin', '/bin', '/usr/local/bin'].some((dir) => fs.existsSync(`${dir}/${name}`));
}
