import { type Digest, isDigest, type Name } from '../../core/index.ts';
import { type Dir, readSmallFile } from '../../fs/index.ts';
import { FILE, isPackIndexName, packOfIndex } from '../layout.ts';
import { PackIndex } from '../pack-index.ts';
import { tryOpenDir } from '../place.ts';
import type { DigestSet } from './digest-set.ts';

/** What is to become of one pack. */
export interface PackFate {
  readonly name: Name;
  readonly objects: number;
  /** Bytes of objects that are needed, and of those that are not. */
  readonly liveBytes: number;
  readonly deadBytes: number;
}

/** What can go, and how. Packs that are not named stay as they are. */
export interface SweepPlan {
  /** Nothing in them is needed. */
  readonly dropped: readonly PackFate[];
  /** What is needed of them is written into new packs, and they go. */
  readonly rewritten: readonly PackFate[];
  readonly large: readonly { readonly digest: Digest; readonly bytes: number }[];
  /** Packs whose index cannot be read: what they hold is not known, so they stay. */
  readonly unreadable: readonly Name[];
  /** Bytes that go for good. */
  readonly freedBytes: number;
}

export const NOTHING_TO_SWEEP: SweepPlan = {
  dropped: [],
  rewritten: [],
  large: [],
  unreadable: [],
  freedBytes: 0,
};

/** A pack is written anew when more than half of it is not needed: below that, what is gained is less than what is written. */
const DEAD_SHARE = 0.5;
/** Every run that changed something leaves a pack; more of them than this are merged, because each is asked for an object that is not there. */
export const MANY_PACKS = 64;
/** Packs up to this size, bytes, take part in merging; so many bytes are written at once at most, and it takes so many packs to be worth it. */
const SMALL_PACK = 32 << 20;
const MERGED_BYTES = 256 << 20;
const FEW_PACKS = 16;

const MAX_INDEX_BYTES = 2 ** 31;
const RECORD_BYTES = 48;

/**
 * @param workspace `workspaces/<id>`; undefined when nothing was ever stored
 * @param needed undefined: everything is needed, and packs are merged only; no pack is looked into then
 * @param wantedBytes how much should be freed; packs with fewer dead bytes are written anew too, those with the most first, until it is reached
 */
export function planSweep(
  workspace: Dir | undefined,
  needed: DigestSet | undefined,
  wantedBytes = 0,
): SweepPlan {
  if (workspace === undefined) return NOTHING_TO_SWEEP;
  const { fates, unreadable } = packFates(workspace, needed);
  const large = needed === undefined ? [] : deadLargeObjects(workspace, needed);
  const dropped = fates.filter(({ liveBytes, deadBytes, objects }) => isDead(liveBytes, deadBytes, objects));
  const others = fates.filter((fate) => !dropped.includes(fate));
  const rewritten = new Set(others.filter((fate) => deadShare(fate) > DEAD_SHARE));
  for (const fate of mergeable(others)) rewritten.add(fate);
  let freedBytes =
    sum(large, ({ bytes }) => bytes) + sum([...dropped, ...rewritten], ({ deadBytes }) => deadBytes);
  for (const fate of others.toSorted((a, b) => deadShare(b) - deadShare(a))) {
    if (freedBytes >= wantedBytes || fate.deadBytes === 0) break;
    if (rewritten.has(fate)) continue;
    rewritten.add(fate);
    freedBytes += fate.deadBytes;
  }
  return { dropped, rewritten: [...rewritten], large, unreadable, freedBytes };
}

/** The smallest packs, where there are many. */
function mergeable(fates: readonly PackFate[]): PackFate[] {
  if (fates.length <= MANY_PACKS) return [];
  let bytes = 0;
  const sizeOf = ({ liveBytes, deadBytes }: PackFate): number => liveBytes + deadBytes;
  const small = fates
    .filter((fate) => sizeOf(fate) <= SMALL_PACK)
    .toSorted((a, b) => sizeOf(a) - sizeOf(b))
    .filter((fate) => (bytes += sizeOf(fate)) <= MERGED_BYTES);
  return small.length < FEW_PACKS ? [] : small;
}

function isDead(liveBytes: number, deadBytes: number, objects: number): boolean {
  return liveBytes === 0 && (deadBytes > 0 || objects === 0);
}

function deadShare({ liveBytes, deadBytes }: PackFate): number {
  return deadBytes / Math.max(1, liveBytes + deadBytes);
}

function packFates(workspace: Dir, needed: DigestSet | undefined): { fates: PackFate[]; unreadable: Name[] } {
  const fates: PackFate[] = [];
  const unreadable: Name[] = [];
  const packs = tryOpenDir(workspace, FILE.packs);
  try {
    for (const name of packs?.names().filter(isPackIndexName) ?? []) {
      if (packs === undefined) continue;
      const pack = packOfIndex(name);
      if (needed === undefined) {
        fates.push({ name: pack, objects: 1, liveBytes: packs.tryLstat(pack)?.size ?? 0, deadBytes: 0 });
        continue;
      }
      const index = readPackIndex(packs, name);
      if (index === undefined) unreadable.push(name);
      else fates.push(fateOf(pack, index, needed));
    }
  } finally {
    packs?.close();
  }
  return { fates, unreadable };
}

/** The index of a pack that is there and as long as it says; undefined when it cannot be relied on. */
export function readPackIndex(packs: Dir, name: Name): PackIndex | undefined {
  try {
    const index = PackIndex.parse(readSmallFile(packs, name, MAX_INDEX_BYTES));
    return index !== undefined && packs.lstat(packOfIndex(name)).size === index.packLength
      ? index
      : undefined;
  } catch {
    return undefined;
  }
}

/** An object's record in the index counts with it; so an empty object, which has no bytes, is told from none. */
function fateOf(name: Name, index: PackIndex, needed: DigestSet): PackFate {
  let [liveBytes, deadBytes] = [0, 0];
  for (const { digest, span } of index.entries()) {
    const bytes = span.length + RECORD_BYTES;
    if (needed.has(digest)) liveBytes += bytes;
    else deadBytes += bytes;
  }
  return { name, objects: index.count, liveBytes, deadBytes };
}

function deadLargeObjects(workspace: Dir, needed: DigestSet): { digest: Digest; bytes: number }[] {
  const dead: { digest: Digest; bytes: number }[] = [];
  const large = tryOpenDir(workspace, FILE.large);
  try {
    for (const name of large?.names().filter((each) => /^[0-9a-f]{2}$/.test(each)) ?? []) {
      const folder = large && tryOpenDir(large, name);
      try {
        for (const digest of folder?.names() ?? []) {
          if (!isDigest(digest) || needed.has(digest)) continue;
          dead.push({ digest, bytes: folder?.tryLstat(digest)?.size ?? 0 });
        }
      } finally {
        folder?.close();
      }
    }
  } finally {
    large?.close();
  }
  return dead;
}

function sum<T>(items: Iterable<T>, bytesOf: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += bytesOf(item);
  return total;
}
