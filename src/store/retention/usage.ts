import { isDigest, isRunId, type Name, type RunId, timeOfRun } from '../../core/index.ts';
import type { Dir } from '../../fs/index.ts';
import { FILE, runOf } from '../layout.ts';
import { tryOpenDir } from '../place.ts';
import { unfinished } from '../unfinished.ts';

/** Bytes by length, and by the blocks that they take on the disk. */
export interface Size {
  readonly bytes: number;
  readonly allocated: number;
}

/** What one run added to the store. */
export interface RunCost {
  readonly capsule: Size;
  /** Packs and large objects that were written for it. */
  readonly objects: Size;
}

/** What a workspace's part of the store takes on the disk. */
export interface StoreUsage {
  /** All files and directories. */
  readonly total: Size;
  readonly packs: number;
  readonly largeObjects: number;
  /** Of each run that is there, sealed or not. */
  readonly runs: ReadonlyMap<RunId, RunCost>;
  /** Objects of runs that were removed, or that were written into new packs since. */
  readonly shared: Size;
  /** What ended processes left half-done; the next run removes it. Where it cannot be told whether the process lives, after a day. */
  readonly leftovers: { readonly count: number; readonly size: Size };
}

const NONE: Size = { bytes: 0, allocated: 0 };

/** Looks at each name once and reads no file. @param workspace undefined when nothing was ever stored */
export function measure(workspace: Dir | undefined): StoreUsage {
  if (workspace === undefined) {
    return {
      total: NONE,
      packs: 0,
      largeObjects: 0,
      runs: new Map(),
      shared: NONE,
      leftovers: { count: 0, size: NONE },
    };
  }
  return new Measure(workspace).usage();
}

class Measure {
  readonly #workspace: Dir;
  readonly #capsules = new Map<RunId, Size>();
  readonly #objects = new Map<RunId, Size>();
  #shared = NONE;
  #total = NONE;
  #packs = 0;
  #largeObjects = 0;

  constructor(workspace: Dir) {
    this.#workspace = workspace;
  }

  usage(): StoreUsage {
    this.#total = sizeOf(this.#workspace);
    this.#within(FILE.pending, (dir) => this.#measureRuns(dir));
    this.#within(FILE.capsules, (dir) => this.#measureRuns(dir));
    this.#within(FILE.packs, (dir) => this.#measurePacks(dir));
    this.#within(FILE.large, (dir) => this.#measureLarge(dir));
    const runs = new Map(
      [...this.#capsules].map(([run, capsule]) => [
        run,
        { capsule, objects: this.#objects.get(run) ?? NONE },
      ]),
    );
    const [packs, largeObjects] = [this.#packs, this.#largeObjects];
    const leftovers = leftoversOf(this.#workspace);
    return { total: this.#total, packs, largeObjects, runs, shared: this.#shared, leftovers };
  }

  #measureRuns(dir: Dir): void {
    for (const name of dir.names()) if (isRunId(name)) this.#capsules.set(name, treeSize(dir, name));
  }

  #measurePacks(dir: Dir): void {
    for (const name of dir.names()) {
      if (name.endsWith('.idx')) this.#packs++;
      this.#addObject(runOf(name), entrySize(dir, name));
    }
  }

  /** A large object does not say whose it is: it goes to the newest run that had begun when it was written. */
  #measureLarge(large: Dir): void {
    const runs = [...this.#capsules.keys()].sort();
    const times = runs.map(timeOfRun);
    for (const folder of large.names()) {
      const dir = isFolder(large, folder) ? tryOpenDir(large, folder) : undefined;
      try {
        for (const name of dir?.names() ?? []) {
          const seen = dir?.tryLstat(name);
          if (dir === undefined || seen === undefined || !isDigest(name)) continue;
          this.#largeObjects++;
          const written = Number(seen.mtimeNs / 1_000_000n);
          this.#addObject(runs[times.findLastIndex((time) => time <= written)], entrySize(dir, name));
        }
      } finally {
        dir?.close();
      }
    }
  }

  #addObject(run: RunId | undefined, size: Size): void {
    if (run === undefined || !this.#capsules.has(run)) this.#shared = plus(this.#shared, size);
    else this.#objects.set(run, plus(this.#objects.get(run) ?? NONE, size));
  }

  #within(name: Name, use: (dir: Dir) => void): void {
    const dir = tryOpenDir(this.#workspace, name);
    try {
      if (dir !== undefined) use(dir);
    } finally {
      dir?.close();
    }
  }
}

/** What nobody is at work on. */
function leftoversOf(workspace: Dir): StoreUsage['leftovers'] {
  const opened = new Map<Name, Dir>();
  try {
    for (const name of [FILE.packs, FILE.large, FILE.pending, FILE.capsules]) {
      const dir = tryOpenDir(workspace, name);
      if (dir !== undefined) opened.set(name, dir);
    }
    const [packs, large, pending, capsules] = [...opened.values()];
    if (packs === undefined || large === undefined || pending === undefined || capsules === undefined)
      return { count: 0, size: NONE };
    let [count, size] = [0, NONE];
    for (const { dir, name, owner } of unfinished({ workspace, packs, large, pending, capsules })) {
      if (owner() === 'alive') continue;
      count++;
      size = plus(size, treeSize(dir, name));
    }
    return { count, size };
  } finally {
    for (const dir of opened.values()) dir.close();
  }
}

/** Everything below `dir`, and its own blocks through the names of what is in it. */
function sizeOf(dir: Dir): Size {
  let size = NONE;
  for (const name of dir.names()) size = plus(size, treeSize(dir, name));
  return size;
}

/** An entry and everything below it. */
export function treeSize(dir: Dir, name: Name): Size {
  const own = entrySize(dir, name);
  const child = isFolder(dir, name) ? tryOpenDir(dir, name) : undefined;
  try {
    return child === undefined ? own : plus({ ...own, bytes: 0 }, sizeOf(child));
  } finally {
    child?.close();
  }
}

function entrySize(dir: Dir, name: Name): Size {
  try {
    return dir.size(name);
  } catch {
    // It went while it was looked at.
    return NONE;
  }
}

function isFolder(dir: Dir, name: Name): boolean {
  return dir.tryLstat(name)?.kind === 'directory';
}

function plus(a: Size, b: Size): Size {
  return { bytes: a.bytes + b.bytes, allocated: a.allocated + b.allocated };
}
