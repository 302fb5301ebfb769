import type { CapsuleDocument } from '../../capsule/index.ts';
import { digestOf, type Name, type RunId } from '../../core/index.ts';
import { readSmallFile } from '../../fs/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';

const MANIFEST = 'SHA256SUMS' as Name;
const MAX_MANIFEST_BYTES = 64 * 1024;

/** The newest sealed capsule and the digest of its manifest: what a new capsule is chained to. */
export function previousCapsule(store: WorkspaceStore): CapsuleDocument['previous'] {
  const runId = store.sealed().at(-1);
  return runId === undefined ? undefined : previousCapsuleOf(store, runId);
}

/** The capsule of one run by the digest of its manifest, which is hashed here, not checked; undefined when it is not there or cannot be read. */
export function previousCapsuleOf(store: WorkspaceStore, runId: RunId): CapsuleDocument['previous'] {
  const dir = store.openCapsule(runId);
  if (dir === undefined) return undefined;
  try {
    return { runId, digest: digestOf(readSmallFile(dir, MANIFEST, MAX_MANIFEST_BYTES)) };
  } catch {
    return undefined;
  } finally {
    dir.close();
  }
}
