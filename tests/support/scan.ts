/** The tests that hold whatever the scan is made of meet it here and nowhere else. */
import { type Digest, digestOf, joinPath, type RelPath, ROOT_PATH, toBytes } from '../../src/core/index.ts';
import { Dir } from '../../src/fs/index.ts';
import {
  type CaptureLimits,
  type Change,
  decodeTree,
  diffSnapshots,
  type LevelRules,
  scanWorkspace,
  type Snapshot,
  type State,
} from '../../src/snapshot/index.ts';
import { StatIndex } from '../../src/store/index.ts';
import type { ModelEntry } from './model.ts';

/** What a scan knew, for the next one. */
export type Index = StatIndex;

/** A store of objects in memory that can be copied, and can lose something. */
export class Objects {
  readonly #objects = new Map<Digest, Buffer>();
  hasLost = false;
  /** Bytes put since the scan at hand began. */
  newBytes = 0;

  has(digest: Digest): boolean {
    return this.#objects.has(digest);
  }

  put(bytes: Uint8Array): Digest {
    const digest = digestOf(bytes);
    if (!this.#objects.has(digest)) this.newBytes += bytes.length;
    this.#objects.set(digest, Buffer.from(bytes));
    return digest;
  }

  putHashed(digest: Digest, bytes: Uint8Array): void {
    if (this.put(bytes) !== digest) throw new Error(`the bytes are not those of ${digest}`);
  }

  /** As on a file system that cannot clone. */
  putFile(): undefined {
    return undefined;
  }

  putStream(_size: number, produce: (sink: (piece: Uint8Array) => void) => void): Digest {
    const pieces: Buffer[] = [];
    produce((piece) => pieces.push(Buffer.from(piece)));
    return this.put(Buffer.concat(pieces));
  }

  get(digest: Digest): Buffer {
    const bytes = this.#objects.get(digest);
    if (bytes === undefined) throw new Error(`no object ${digest}`);
    return bytes;
  }

  digests(): string[] {
    return [...this.#objects.keys()].sort();
  }

  copy(): Objects {
    const copy = new Objects();
    copy.hasLost = this.hasLost;
    for (const [digest, bytes] of this.#objects) copy.#objects.set(digest, bytes);
    return copy;
  }

  /** Forgets the object that this number picks, as a retention or a damage may do. */
  lose(pick: number): void {
    const digests = this.digests();
    const digest = digests[pick % Math.max(1, digests.length)];
    if (digest === undefined) return;
    this.#objects.delete(digest as Digest);
    this.hasLost = true;
  }
}

export interface Overrides {
  readonly levels?: LevelRules;
  /** Names `levels`: two functions with the same name decide the same. */
  readonly levelsId?: string;
  readonly limits?: Partial<CaptureLimits>;
  readonly mounts?: ReadonlySet<string>;
  /**
   * When the scan counts as begun, nanoseconds since the epoch. With one in the far future every record is old enough to be relied on by the next
   * scan, so that a test need not wait for it.
   */
  readonly startedAtNs?: bigint;
}

/** After everything that a test makes. */
const FAR_FUTURE_NS = 9_000_000_000_000_000_000n;

const LIMITS: CaptureLimits = {
  keptFileBytes: 64 << 20,
  hashedFileBytes: 1 << 30,
  newBytes: 2 * 2 ** 30,
  newBytesRule: 'limit: new content of the run',
  maxDepth: 1000,
};

export interface Scanned {
  readonly snapshot: Snapshot;
  readonly index: Index;
  /** Bytes that were new to the store. */
  readonly newBytes: number;
}

/** One scan of a real directory, all of it at level `content` and without a limit that a test meets unless `overrides` say otherwise. */
export async function scanOnce(
  root: string,
  objects: Objects,
  previous?: Index,
  overrides: Overrides = {},
): Promise<Scanned> {
  const dir = Dir.open(root);
  try {
    const { startedAtNs = FAR_FUTURE_NS, levels, levelsId = 'content', limits, mounts } = overrides;
    objects.newBytes = 0;
    const scanned = scanWorkspace(dir, {
      levels: levels ?? ((_path, _kind, _siblings, parent) => parent),
      levelsId,
      hasDirectoryTimes: true,
      hasWriteTimes: true,
      startedAtNs,
      exclude: [],
      mounts: mounts ?? new Set(),
      rootPath: root,
      // A store whose packs are not those that the index names hands it out like this.
      index: objects.hasLost
        ? (previous ?? StatIndex.empty()).withoutKept()
        : (previous ?? StatIndex.empty()),
      objects,
      limits: { ...LIMITS, ...limits },
    });
    return { ...scanned, newBytes: objects.newBytes };
  } finally {
    dir.close();
  }
}

/** Every entry of a snapshot whose tree the store has, as the model has it. */
export function entriesOf(objects: Objects, { tree, root }: Snapshot): Map<string, ModelEntry> {
  const found = new Map([['', toEntry(root.state)]]);
  const open: [RelPath, Digest][] = [[ROOT_PATH, tree]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { name, state } of decodeTree(objects.get(next[1]))) {
      const at = joinPath(next[0], name);
      found.set(toKey(at), toEntry(state));
      if (state.kind === 'directory' && state.content.is === 'digest') open.push([at, state.content.digest]);
    }
  }
  return found;
}

export interface ShownChange {
  readonly path: string;
  readonly before: ModelEntry | undefined;
  readonly after: ModelEntry | undefined;
}

/** The difference of two snapshots in the model's words, in its own order. */
export function changesBetween(objects: Objects, before: Snapshot, after: Snapshot): ShownChange[] {
  return [...diffSnapshots(objects, before, after)].map((change: Change) => ({
    path: toKey(change.path),
    before: change.before && toEntry(change.before.state),
    after: change.after && toEntry(change.after.state),
  }));
}

/** Bytes as latin1 text, as the model has paths. */
function toKey(at: RelPath): string {
  return toBytes(at).toString('latin1');
}

function toEntry({ kind, mode, uid, gid, size, content }: State): ModelEntry {
  const own = { kind, mode, uid, gid, size };
  if (kind === 'directory')
    return { ...own, content: content.is === 'unknown' ? `unknown: ${content.reason}` : '' };
  switch (content.is) {
    case 'digest':
      return { ...own, content: content.digest };
    case 'device':
      return { ...own, content: content.number };
    case 'nothing':
      return { ...own, content: '' };
    case 'identity':
    case 'unknown':
      return { ...own, content: JSON.stringify(content) };
  }
}
