import {
  CapsuleReader,
  type ChangeCounts,
  type ExitDocument,
  type Outcome,
  type RunKind,
} from '../capsule/index.ts';
import { AgentdiffError, type ByteString, type ErrorCode, type RunId } from '../core/index.ts';
import type { WorkspaceStore } from '../store/index.ts';
import type { Context, Place } from './workspace/context.ts';
import { pendingRuns } from './workspace/intent.ts';
import { openForReading } from './workspace/open.ts';

export interface RunLine {
  readonly runId: RunId;
  /** `unreadable`: the capsule is sealed and cannot be read, `problem` says why. */
  readonly state: 'sealed' | 'active' | 'unsealed' | 'unreadable';
  readonly kind?: RunKind;
  readonly argv?: readonly string[];
  readonly task?: string;
  /** ISO 8601 */
  readonly startedAt?: string;
  readonly durationMs?: number;
  readonly outcome?: Outcome;
  readonly exit?: ExitDocument;
  readonly counts?: ChangeCounts;
  readonly problem?: ErrorCode;
}

export interface ListReport {
  readonly root: ByteString;
  /** Oldest first. */
  readonly runs: readonly RunLine[];
}

/** The runs of one workspace, sealed or not. */
export function listRuns(context: Context, place: Place): ListReport {
  const { root, store, close } = openForReading(context, place);
  try {
    const sealed = store.sealed().map((runId) => sealedLine(store, runId));
    const pending = pendingRuns(store).map(({ runId, active, intent }): RunLine => {
      const known = intent && { kind: intent.kind, argv: intent.argv, startedAt: intent.startedAt };
      return { runId, state: active ? 'active' : 'unsealed', ...known };
    });
    const runs = [...sealed, ...pending].sort((a, b) => (a.runId < b.runId ? -1 : 1));
    return { root: root.path, runs };
  } finally {
    close();
  }
}

function sealedLine(store: WorkspaceStore, runId: RunId): RunLine {
  const dir = store.openCapsule(runId);
  if (dir === undefined) return { runId, state: 'unreadable', problem: 'CAPSULE_NOT_FOUND' };
  try {
    const { kind, argv, task, times, outcome, exit, counts } = CapsuleReader.open(dir).document();
    const { startedAt, durationMs } = times;
    return {
      runId,
      state: 'sealed',
      kind,
      argv,
      startedAt,
      durationMs,
      outcome,
      exit,
      counts,
      ...(task && { task }),
    };
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
    return { runId, state: 'unreadable', problem: error.code };
  } finally {
    dir.close();
  }
}
