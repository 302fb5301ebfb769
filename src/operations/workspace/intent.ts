import { canonicalJson, type JsonPath, parseJson, type RunId } from '../../core/index.ts';
import { type Dir, readSmallFile } from '../../fs/index.ts';
import type { Name } from '../../core/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';

/**
 * What is on the disk before the child starts: enough to know which before-snapshot belongs to which command.
 */
export interface Intent {
  readonly format: 1;
  readonly runId: RunId;
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
function readIntent(dir: Dir): Intent | undefined {
  try {
    const value = parseJson(readSmallFile(dir, INTENT_FILE, MAX_INTENT_BYTES).toString('utf8'), 'intent');
    return isIntent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isIntent(value: unknown): value is Intent {
  if (typeof value !== 'object' || value === null) return false;
  if (!('kind' in value && 'argv' in value && 'startedAt' in value)) return false;
  return Array.isArray(value.argv) && typeof value.startedAt === 'string';
}

/** A run without a sealed capsule. `intent` is absent until its before-snapshot is durable. */
export interface PendingState {
  readonly runId: RunId;
  readonly active: boolean;
  readonly intent?: Intent;
}

/**
 * All unsealed runs of the workspace: those whose process lives (`active`), and those that were interrupted. A process of another boot, or in
 * another pid namespace, cannot be recognised and counts as interrupted.
 */
export function pendingRuns(store: WorkspaceStore): PendingState[] {
  return store.pending().map((runId) => {
    const dir = store.openPending(runId);
    const intent = dir && readIntent(dir);
    dir?.close();
    return { runId, active: store.ownerState(runId) === 'alive', ...(intent && { intent }) };
  });
}
