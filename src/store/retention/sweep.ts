import { type ByteString, digestOf, errnoOf, type Name, type RunId } from '../../core/index.ts';
import type { Dir, OpenFile } from '../../fs/index.ts';
import { removeFile, syncDir } from '../../fs/write.ts';
import { Batch } from '../batch.ts';
import { writing } from '../failures.ts';
import { LARGE_BYTES, largePlace, packIndexName } from '../layout.ts';
import type { Objects } from '../objects.ts';
import type { Span } from '../pack-index.ts';
import { tryOpenDir } from '../place.ts';
import type { StoreFolders } from '../unfinished.ts';
import type { DigestSet } from './digest-set.ts';
import { readPackIndex, type SweepPlan } from './plan-sweep.ts';

/** Where and on whose behalf objects are removed. */
export interface Sweeping {
  readonly base: ByteString;
  readonly folders: StoreFolders;
  /** Names the new packs; no run has it. */
  readonly id: RunId;
  /** Called between the steps. */
  readonly onStep: () => void;
}

/** A new pack ends at this many bytes or objects: what the writing of one keeps in memory stays small. */
const PACK_BYTES = 256 << 20;
const PACK_OBJECTS = 200_000;

/**
 * Removes the objects that a plan names. What is needed of a pack is on the disk in a new one, index included, before anything of the old one
 * goes; of each pack the index goes first, so that no index ever stands without its pack. What goes without being written anew goes first: on a
 * full disk that makes the room.
 * @param needed as the plan was made with
 * @returns packs that hold an object which is not what was stored: they stay as they are
 * @throws STORE_FULL, STORE_UNWRITABLE; nothing that is needed is lost
 */
export function sweep(plan: SweepPlan, needed: DigestSet | undefined, sweeping: Sweeping): Name[] {
  const { base, folders, onStep } = sweeping;
  writing(base, () => {
    for (const { digest } of plan.large) {
      const { folder, name } = largePlace(digest);
      removeLarge(folders.large, folder, name);
      onStep();
    }
    removePacks(
      folders.packs,
      plan.dropped.map(({ name }) => name),
    );
  });
  return rewrite(
    plan.rewritten.map(({ name }) => name),
    needed,
    sweeping,
  );
}

function removeLarge(large: Dir, folder: Name, name: Name): void {
  const dir = tryOpenDir(large, folder);
  try {
    if (dir !== undefined) removeIfThere(dir, name);
  } finally {
    dir?.close();
  }
}

function rewrite(packs: readonly Name[], needed: DigestSet | undefined, sweeping: Sweeping): Name[] {
  const { base, folders, id, onStep } = sweeping;
  const damaged: Name[] = [];
  let copied: Name[] = [];
  let objects = 0;
  let batch = newBatch(sweeping);
  const finish = (): void => {
    batch.commit();
    writing(base, () => removePacks(folders.packs, copied));
    copied = [];
    objects = 0;
    batch = newBatch({ base, folders, id, onStep });
  };
  try {
    for (const name of packs) {
      const count = copyObjects(folders.packs, name, needed, batch);
      if (count === undefined) damaged.push(name);
      else copied.push(name);
      objects += count ?? 0;
      onStep();
      if (batch.newBytes > PACK_BYTES || objects > PACK_OBJECTS) finish();
    }
    finish();
  } finally {
    batch.abort();
  }
  return damaged;
}

/** Objects that are in the packs to be removed must not pass for present: the batch knows its own only. */
function newBatch({ base, folders, id }: Sweeping): Batch {
  const objects: Pick<Objects, 'holds' | 'refresh'> = { holds: () => false, refresh() {} };
  return new Batch({ base, objects, packs: folders.packs, large: folders.large }, id);
}

/** @returns how many were copied; undefined when the pack holds one that is needed and cannot be read as it was stored */
function copyObjects(
  packs: Dir,
  name: Name,
  needed: DigestSet | undefined,
  batch: Batch,
): number | undefined {
  const index = readPackIndex(packs, packIndexName(name));
  const file = index && tryOpenFile(packs, name);
  if (index === undefined || file === undefined) return undefined;
  let count = 0;
  try {
    for (const { digest, span } of index.entries()) {
      if (needed !== undefined && !needed.has(digest)) continue;
      const bytes = readSpan(file, span);
      if (bytes === undefined || digestOf(bytes) !== digest) return undefined;
      batch.putHashed(digest, bytes);
      count++;
    }
  } finally {
    file.close();
  }
  return count;
}

function tryOpenFile(packs: Dir, name: Name): OpenFile | undefined {
  try {
    return packs.openFile(name);
  } catch {
    return undefined;
  }
}

function readSpan(file: OpenFile, { offset, length }: Span): Buffer | undefined {
  if (length > LARGE_BYTES) return undefined;
  const bytes = Buffer.allocUnsafe(length);
  try {
    for (let done = 0; done < length; ) {
      const read = file.read(bytes.subarray(done), offset + done);
      if (read === 0) return undefined;
      done += read;
    }
    return bytes;
  } catch {
    return undefined;
  }
}

function removePacks(packs: Dir, names: readonly Name[]): void {
  if (names.length === 0) return;
  for (const name of names) removeIfThere(packs, packIndexName(name));
  // An index that came back after a loss of power, without its pack, would pass for a damaged one.
  syncDir(packs);
  for (const name of names) removeIfThere(packs, name);
}

function removeIfThere(dir: Dir, name: Name): void {
  try {
    removeFile(dir, name);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
