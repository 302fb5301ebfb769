import { CapsuleReader, type ChangeRecord } from '../capsule/index.ts';
import {
  AgentdiffError,
  type ByteString,
  fromBytes,
  isWithin,
  lossyText,
  type RelPath,
} from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import type { State } from '../snapshot/index.ts';
import type { ObjectReader } from '../store/index.ts';
import { unifiedHunks } from './diff/hunks.ts';
import type { Context, Place } from './workspace/context.ts';
import { findSealedRun } from './workspace/find-run.ts';
import { openForReading } from './workspace/open.ts';

export type DiffBody =
  /** Unified hunks, foreign text as it is; a missing newline at the end is marked as `diff` does. */
  | { readonly is: 'text'; readonly patch: string }
  | { readonly is: 'binary' }
  | { readonly is: 'symlink'; readonly before?: ByteString; readonly after?: ByteString }
  /** Only permission bits, owner or kind differ, or the entry has no content. */
  | { readonly is: 'metadata' }
  | { readonly is: 'unavailable'; readonly why: 'not-kept' | 'missing' | 'damaged' | 'too-large' };

export interface DiffItem {
  readonly path: RelPath;
  readonly before?: State;
  readonly after?: State;
  readonly body: DiffBody;
}

/** Longer files are named, not compared. Bytes. */
const MAX_TEXT_BYTES = 4 << 20;
/** After this the comparison of one file is given up, and its lines are shown as all replaced. Milliseconds. */
const MAX_TIME_MS = 3000;

/**
 * What a run changed, from the contents that were kept. Each difference is computed when it is asked for; who stops asking costs nothing more.
 * @param ref a run id, a unique prefix of one, or `last`
 * @param paths only these and what is below them; empty: all
 * @throws PATH_NOT_IN_RUN at the end, when a path names no change; RUN_UNKNOWN, RUN_AMBIGUOUS, RUN_UNSEALED, CAPSULE_NOT_FOUND, and what the
 * capsule's reader throws
 */
export function* diffRun(
  context: Context,
  place: Place,
  ref: string,
  paths: readonly RelPath[],
): Generator<DiffItem> {
  const { store, close } = openForReading(context, place);
  try {
    const runId = findSealedRun(store, ref);
    const dir = store.openCapsule(runId);
    if (dir === undefined)
      throw new AgentdiffError('CAPSULE_NOT_FOUND', `the capsule of run ${runId} cannot be opened`);
    try {
      yield* itemsOf(dir, store.objects, paths);
    } finally {
      dir.close();
    }
  } finally {
    close();
  }
}

function* itemsOf(dir: Dir, objects: ObjectReader, paths: readonly RelPath[]): Generator<DiffItem> {
  const unseen = new Set(paths);
  for (const change of CapsuleReader.open(dir).changes()) {
    const within = paths.filter((path) => isWithin(change.path, path));
    if (paths.length > 0 && within.length === 0) continue;
    for (const path of within) unseen.delete(path);
    yield toItem(change, objects);
  }
  refuseUnseen(unseen);
}

/** @throws PATH_NOT_IN_RUN */
export function refuseUnseen(unseen: ReadonlySet<RelPath>): void {
  for (const path of unseen) {
    throw new AgentdiffError('PATH_NOT_IN_RUN', `this run did not change ${lossyText(path)}`, {
      hint: 'paths are relative to the workspace root; `agentdiff show` lists what a run changed',
      data: { path: lossyText(path) },
    });
  }
}

function toItem({ path, before, after }: ChangeRecord, objects: ObjectReader): DiffItem {
  const sides = { ...(before && { before: before.state }), ...(after && { after: after.state }) };
  try {
    return { path, ...sides, body: compare(before?.state, after?.state, objects) };
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
    if (error.code === 'OBJECT_MISSING')
      return { path, ...sides, body: { is: 'unavailable', why: 'missing' } };
    if (error.code === 'OBJECT_DAMAGED' || error.code === 'STORE_DAMAGED') {
      return { path, ...sides, body: { is: 'unavailable', why: 'damaged' } };
    }
    throw error;
  }
}

function compare(before: State | undefined, after: State | undefined, objects: ObjectReader): DiffBody {
  if (before?.kind === 'symlink' || after?.kind === 'symlink') return compareLinks(before, after, objects);
  const files = [before, after].filter((side) => side?.kind === 'file');
  if (files.length === 0 || isSameContent(before, after)) return { is: 'metadata' };
  if (files.some((side) => (side?.size ?? 0) > MAX_TEXT_BYTES))
    return { is: 'unavailable', why: 'too-large' };
  const [old, now] = [contentOf(before, objects), contentOf(after, objects)];
  if (old === undefined || now === undefined) return { is: 'unavailable', why: 'not-kept' };
  if (isBinary(old) || isBinary(now)) return { is: 'binary' };
  return { is: 'text', patch: unifiedHunks(old.toString('utf8'), now.toString('utf8'), MAX_TIME_MS) };
}

function compareLinks(before: State | undefined, after: State | undefined, objects: ObjectReader): DiffBody {
  const target = (side: State | undefined): ByteString | undefined => {
    const bytes = side?.kind === 'symlink' ? contentOf(side, objects) : undefined;
    return bytes && fromBytes(bytes);
  };
  const [old, now] = [target(before), target(after)];
  return {
    is: 'symlink',
    ...(old !== undefined && { before: old }),
    ...(now !== undefined && { after: now }),
  };
}

function isSameContent(before: State | undefined, after: State | undefined): boolean {
  if (before?.kind !== after?.kind || before?.content.is !== 'digest' || after?.content.is !== 'digest')
    return false;
  return before.content.digest === after.content.digest;
}

/** The bytes of a side; none for a side that is no file, undefined when they were not kept. */
function contentOf(side: State | undefined, objects: ObjectReader): Buffer | undefined {
  if (side?.kind !== 'file' && side?.kind !== 'symlink') return Buffer.alloc(0);
  if (side.content.is !== 'digest' || !objects.has(side.content.digest)) return undefined;
  return objects.get(side.content.digest, MAX_TEXT_BYTES);
}

/** As git judges it: a NUL among the first 8,000 bytes; or bytes that are not UTF-8. */
function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, 8000).includes(0) || fromBytes(bytes).startsWith('\0');
}
