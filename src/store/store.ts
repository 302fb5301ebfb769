import {
  AgentdiffError,
  type ByteString,
  errnoOf,
  isRunId,
  lossyText,
  type Name,
  type RunId,
} from '../core/index.ts';
import { Dir, effectiveUser, readSmallFile } from '../fs/index.ts';
import { reading } from './failures.ts';
import {
  decodeWorkspace,
  FILE,
  FORMAT,
  FORMAT_TEXT,
  isPackIndexName,
  isWorkspaceId,
  type Workspace,
} from './layout.ts';
import { type ObjectReader, Objects } from './objects.ts';
import { type OwnerState, runOwnerState } from './owner.ts';
import { readPins } from './pins.ts';
import { tryOpenDir, tryOpenFile } from './place.ts';
import type { DigestSet } from './retention/digest-set.ts';
import { planSweep, type SweepPlan } from './retention/plan-sweep.ts';
import { measure, type StoreUsage } from './retention/usage.ts';
import { HEADER_BYTES, type IndexNotes, StatIndex } from './stat-index/stat-index.ts';
import { isStale } from './unfinished.ts';

const MAX_SMALL_BYTES = 64 << 10;
/** Holds the command's arguments, of which Linux allows some 2 MiB. */
const MAX_INTENT_BYTES = 4 << 20;
/** About eight million entries. */
const MAX_INDEX_BYTES = 2 ** 30;

/** The store in one directory, for reading. A directory that does not exist yet is an empty store. */
export class Store {
  readonly base: ByteString;
  readonly #workspaces: Dir | undefined;

  private constructor(base: ByteString, workspaces: Dir | undefined) {
    this.base = base;
    this.#workspaces = workspaces;
  }

  /**
   * Opens the store at an absolute path and checks whose it is.
   * @throws STORE_NOT_OWNED, STORE_VERSION, STORE_DAMAGED
   */
  static open(base: ByteString): Store {
    const dir = openBase(base);
    try {
      if (dir !== undefined) checkBase(dir, base);
      return new Store(base, dir && reading('workspaces', () => tryOpenDir(dir, FILE.workspaces)));
    } finally {
      dir?.close();
    }
  }

  /** Ids of all workspaces that have something here. */
  workspaces(): string[] {
    return reading('workspaces', () => this.#workspaces?.names().filter(isWorkspaceId) ?? []);
  }

  /** @throws STORE_NOT_OWNED */
  workspace(id: string): WorkspaceStore {
    const parent = isWorkspaceId(id) ? this.#workspaces : undefined;
    const dir = parent && reading(id, () => tryOpenDir(parent, id as Name));
    const store = new WorkspaceStore(id, dir);
    try {
      if (dir !== undefined) checkOwner(dir, this.base);
      return store;
    } catch (error) {
      store.close();
      throw error;
    }
  }

  close(): void {
    this.#workspaces?.close();
  }
}

/** What the store holds of one workspace. A workspace that was never seen is an empty one. */
export class WorkspaceStore {
  readonly id: string;
  readonly objects: ObjectReader;
  readonly #dir: Dir | undefined;
  readonly #close: () => void;

  /** @param dir `workspaces/<id>`; closed with this reader */
  constructor(id: string, dir: Dir | undefined, objects = new Objects(dir)) {
    this.id = id;
    this.objects = objects;
    this.#dir = dir;
    this.#close = () => objects.close();
  }

  /** What workspace this is; undefined when nothing was ever stored. @throws STORE_DAMAGED */
  identity(): Workspace | undefined {
    const text = this.#dir && readText(this.#dir, FILE.workspace);
    return text === undefined ? undefined : decodeWorkspace(text, this.id);
  }

  /** Runs with a published capsule, oldest first. */
  sealed(): RunId[] {
    return this.#runs(FILE.capsules);
  }

  /** Runs that began and have no capsule: active or interrupted, oldest first. */
  pending(): RunId[] {
    // A kill between the publishing rename and the tidying leaves a run in both.
    return this.#runs(FILE.pending).filter((id) => !this.#isSealed(id));
  }

  openCapsule(id: RunId): Dir | undefined {
    return this.#openRun(FILE.capsules, id);
  }

  openPending(id: RunId): Dir | undefined {
    return this.#openRun(FILE.pending, id);
  }

  /** The intent of a pending run as it was written; undefined when there is none. */
  readIntent(id: RunId): string | undefined {
    const dir = this.openPending(id);
    try {
      return dir && readText(dir, FILE.intent, MAX_INTENT_BYTES);
    } finally {
      dir?.close();
    }
  }

  /** Whether the process that began a pending run still lives; `unknown` when the run is gone too. */
  ownerState(id: RunId): OwnerState {
    const dir = this.openPending(id);
    try {
      return dir === undefined ? 'unknown' : runOwnerState(dir);
    } finally {
      dir?.close();
    }
  }

  /**
   * False when the process that began a pending run is surely gone, or when that cannot be told and the run was not written to for a day.
   * @param now milliseconds since the epoch
   */
  mayBeActive(id: RunId, now: number): boolean {
    const state = this.ownerState(id);
    if (state !== 'unknown') return state === 'alive';
    const pending = this.#dir && tryOpenDir(this.#dir, FILE.pending);
    try {
      const name = id as string as Name;
      return pending?.tryLstat(name) !== undefined && !isStale(pending, name, now);
    } finally {
      pending?.close();
    }
  }

  /** How many packs there are, without opening one. */
  packCount(): number {
    return reading('packs', () => {
      const packs = this.#dir && tryOpenDir(this.#dir, FILE.packs);
      try {
        return packs?.names().filter(isPackIndexName).length ?? 0;
      } finally {
        packs?.close();
      }
    });
  }

  /** How many entries a scan with {@link statIndex} will ask for, without reading it: a hint and no more. */
  expectedLooks(): number {
    const file = this.#dir && tryOpenFile(this.#dir, FILE.index);
    try {
      const header = Buffer.alloc(HEADER_BYTES);
      return file === undefined ? 0 : StatIndex.looksIn(header.subarray(0, file.read(header, 0)));
    } catch {
      return 0;
    } finally {
      file?.close();
    }
  }

  /** The index of the last scan; empty when there is none that is whole. What it says is kept is in the packs that there are. */
  statIndex(): StatIndex {
    if (this.#dir === undefined) return StatIndex.empty();
    let index: StatIndex;
    try {
      let shared = new SharedArrayBuffer(0);
      readSmallFile(this.#dir, FILE.index, MAX_INDEX_BYTES, (length) => {
        shared = new SharedArrayBuffer(length);
        return Buffer.from(shared);
      });
      index = StatIndex.parse(shared);
    } catch {
      return StatIndex.empty();
    }
    const there = new Map(this.packFiles());
    return index.notes.packs.every(([name, bytes]) => there.get(name) === bytes)
      ? index
      : index.withoutKept();
  }

  /** The files of all packs, with their lengths in bytes. */
  packFiles(): IndexNotes['packs'] {
    return reading(FILE.packs, () => {
      const packs = this.#dir && tryOpenDir(this.#dir, FILE.packs);
      try {
        return packs?.names().map((name) => [name, packs.tryLstat(name)?.size ?? 0] as const) ?? [];
      } finally {
        packs?.close();
      }
    });
  }

  /** Runs that retention never removes, oldest first. */
  pins(): RunId[] {
    return readPins(this.#dir);
  }

  /** What this workspace's part of the store takes on the disk; reads no file. */
  usage(): StoreUsage {
    return reading('its size', () => measure(this.#dir));
  }

  /** What could be removed; see {@link planSweep}. */
  planSweep(needed: DigestSet | undefined, wantedBytes?: number): SweepPlan {
    return reading('packs', () => planSweep(this.#dir, needed, wantedBytes));
  }

  close(): void {
    this.#close();
    this.#dir?.close();
  }

  #isSealed(id: RunId): boolean {
    return reading(FILE.capsules, () => {
      const capsules = this.#dir && tryOpenDir(this.#dir, FILE.capsules);
      try {
        return capsules?.tryLstat(id as string as Name) !== undefined;
      } finally {
        capsules?.close();
      }
    });
  }

  #runs(kind: Name): RunId[] {
    const dir = this.#dir && reading(kind, () => this.#dir && tryOpenDir(this.#dir, kind));
    try {
      return reading(kind, () => dir?.names() ?? []).filter((name): name is Name & RunId => isRunId(name));
    } finally {
      dir?.close();
    }
  }

  #openRun(kind: Name, id: RunId): Dir | undefined {
    return reading(kind, () => {
      const parent = this.#dir && tryOpenDir(this.#dir, kind);
      try {
        return parent && tryOpenDir(parent, id as string as Name);
      } finally {
        parent?.close();
      }
    });
  }
}

function openBase(base: ByteString): Dir | undefined {
  try {
    return Dir.open(base);
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === 'ENOENT') return undefined;
    if (errno === 'EACCES' || errno === 'EPERM') throw notOwned(base, 'it may not be read', cause);
    throw new AgentdiffError(
      'STORE_DAMAGED',
      `the store cannot be opened: ${lossyText(base)} (${errno ?? 'unknown'})`,
      { cause },
    );
  }
}

/**
 * Refuses a store that somebody else could have written into, and one of another format.
 * @throws STORE_NOT_OWNED, STORE_VERSION, STORE_DAMAGED
 */
export function checkBase(dir: Dir, base: ByteString): void {
  checkOwner(dir, base);
  const text = readText(dir, FILE.format);
  if (text === FORMAT_TEXT) return;
  if (text === undefined) {
    if (dir.tryLstat(FILE.workspaces) === undefined) return;
    throw new AgentdiffError('STORE_DAMAGED', `the file "format" is missing in the store ${lossyText(base)}`);
  }
  const found = /^agentdiff-store (\d{1,9})\n$/.exec(text)?.[1];
  if (found === undefined)
    throw new AgentdiffError('STORE_DAMAGED', `not a store of agentdiff: ${lossyText(base)}`);
  throw new AgentdiffError(
    'STORE_VERSION',
    `the store ${lossyText(base)} has format ${found}, this tool reads format ${FORMAT}`,
    {
      hint: 'update agentdiff, or name another place with --store or AGENTDIFF_STORE',
      data: { found: Number(found), supported: FORMAT },
    },
  );
}

const GROUP_OR_OTHERS_WRITE = 0o022;

/** The caller's or root's, and nobody else may write: what lies here decides what a recover writes. */
export function checkOwner(dir: Dir, base: ByteString): void {
  const { uid, mode } = dir.stat();
  const user = effectiveUser();
  if (user !== undefined && uid !== user && uid !== 0) throw notOwned(base, `it belongs to user ${uid}`);
  if ((mode & GROUP_OR_OTHERS_WRITE) !== 0)
    throw notOwned(base, `others may write into it (mode ${mode.toString(8)})`);
}

function notOwned(base: ByteString, why: string, cause?: unknown): AgentdiffError {
  return new AgentdiffError('STORE_NOT_OWNED', `the store ${lossyText(base)} is not yours alone: ${why}`, {
    hint: 'make it yours with mode 0700, or name another place with --store or AGENTDIFF_STORE',
    data: { store: lossyText(base) },
    cause,
  });
}

function readText(dir: Dir, name: Name, maxBytes = MAX_SMALL_BYTES): string | undefined {
  try {
    return readSmallFile(dir, name, maxBytes).toString('utf8');
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return undefined;
    throw new AgentdiffError('STORE_DAMAGED', `the store cannot be read: ${name}`, { cause });
  }
}
