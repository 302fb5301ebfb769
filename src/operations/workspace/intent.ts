import { canonicalJson, type JsonPath, parseJson, type RunId } from '../../core/index.ts';
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
  /** Digest of the before-snapshot's root tree. */
  readonly before: string;
}

export function encodeIntent(intent: Intent): string {
  return `${canonicalJson(intent)}\n`;
}

/** The intent of a pending run; undefined when there is none that can be read. */
function readIntent(store: WorkspaceStore, runId: RunId): Intent | undefined {
  try {
    const value = parseJson(store.readIntent(runId) ?? '', 'intent');
    return isIntent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isIntent(value: unknown): value is Intent {
  if (typeof value !== 'object' || value === null) return false;
  if (!('kind' in value && 'argv' in value && 'startedAt' in value)) return false;
  const { kind, argv, startedAt } = value;
  const isArgv = Array.isArray(argv) && argv.every((word) => typeof word === 'string');
  return isArgv && (kind === 'run' || kind === 'recover') && typeof startedAt === 'string';
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
    const intent = readIntent(store, runId);
    return { runId, active: store.ownerState(runId) === 'alive', ...(intent && { intent }) };
  });
}

/** What a run without a sealed capsule is called. */
export type PendingWord = 'active' | 'unsealed' | 'never-started';

export function wordPending({ active, intent }: PendingState): PendingWord {
  if (active) return 'active';
  return intent === undefined ? 'never-started' : 'unsealed';
}
