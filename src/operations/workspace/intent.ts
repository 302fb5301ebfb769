import { canonicalJson, type JsonPath, parseJson, type RunId } from '../../core/index.ts';
import { type Dir, isAlive, type ProcessIdentity, readSmallFile } from '../../fs/index.ts';
import type { Name } from '../../core/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';

/**
 * What is on the disk before the child starts: enough to know which before-snapshot belongs to which command, and whose process is at it.
 * It is read only to tell active runs from interrupted ones.
 */
export interface Intent {
  readonly format: 1;
  readonly runId: RunId;
  readonly owner: ProcessIdentity;
  readonly kind: 'run' | 'recover';
  readonly argv: readonly string[];
  readonly cwd: JsonPath;
  readonly startedAt: string;
  /** Digest of the before-snapshot's root tree; absent while it is still being taken. */
  readonly before?: string;
}

const INTENT_FILE = 'intent.json' as Name;
const MAX_INTENT_BYTES = 4 << 20;

export function encodeIntent(intent: Intent): string {
  return `${canonicalJson(intent)}\n`;
}

/** The intent in a pending run's directory; undefined when there is none that can be read. */
export function readIntent(dir: Dir): Intent | undefined {
  try {
    const value = parseJson(readSmallFile(dir, INTENT_FILE, MAX_INTENT_BYTES).toString('utf8'), 'intent');
    return isIntent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isIntent(value: unknown): value is Intent {
  if (
    typeof value !== 'object' ||
    value === null ||
    !('owner' in value) ||
    !('runId' in value) ||
    !('argv' in value)
  )
    return false;
  const owner = value.owner;
  return (
    typeof owner === 'object' &&
    owner !== null &&
    'pid' in owner &&
    typeof owner.pid === 'number' &&
    Array.isArray(value.argv)
  );
}

/** A run without a sealed capsule. `intent` is absent when it was interrupted before its intent was written. */
export interface PendingState {
  readonly runId: RunId;
  readonly active: boolean;
  readonly intent?: Intent;
}

/** All unsealed runs of the workspace: those whose process lives (`active`) and those that were interrupted. */
export function pendingRuns(store: WorkspaceStore): PendingState[] {
  return store.pending().map((runId) => {
    const dir = store.openPending(runId);
    const intent = dir === undefined ? undefined : readIntent(dir);
    dir?.close();
    return {
      runId,
      active: intent !== undefined && isAlive(intent.owner),
      ...(intent === undefined ? {} : { intent }),
    };
  });
}
