import {
  CAPSULE_MEMBERS,
  CapsuleReader,
  type ChangeCounts,
  type ExitDocument,
  type Outcome,
  type RunKind,
} from '../capsule/index.ts';
import { AgentdiffError, type ByteString, type ErrorCode, type RunId } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import type { WorkspaceStore } from '../store/index.ts';
import type { Context, Place } from './workspace/context.ts';
import { pendingRuns } from './workspace/intent.ts';
import { openForReading } from './workspace/open.ts';

export interface RunLine {
  readonly runId: RunId;
  /**
   * `unsealed`: interrupted, its before-snapshot is kept and its command may have run. `never-started`: interrupted before that, no command was
   * started. `damaged`: sealed, and its directory does not hold the files of a capsule; their digests are not looked at here. `unreadable`:
   * sealed, and `problem` says why it cannot be read.
   */
  readonly state: 'sealed' | 'active' | 'unsealed' | 'never-started' | 'damaged' | 'unreadable';
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
  /** Retention never removes it. */
  readonly pinned?: true;
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
      const ended = intent === undefined ? 'never-started' : 'unsealed';
      const known = intent && { kind: intent.kind, argv: intent.argv, startedAt: intent.startedAt };
      return { runId, state: active ? 'active' : ended, ...known };
    });
    const pins = new Set(store.pins());
    const runs = [...sealed, ...pending]
      .sort((a, b) => (a.runId < b.runId ? -1 : 1))
      .map((line): RunLine => (pins.has(line.runId) ? { ...line, pinned: true } : line));
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
    const isWhole = hasItsFiles(dir);
    const { startedAt, durationMs } = times;
    return {
      runId,
      state: isWhole ? 'sealed' : 'damaged',
      kind,
      argv,
      startedAt,
      durationMs,
      outcome,
      exit,
      counts,
      ...(task && { task }),
      ...(!isWhole && { problem: 'CAPSULE_DAMAGED' }),
    };
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
    return { runId, state: 'unreadable', problem: error.code };
  } finally {
    dir.close();
  }
}

/** The names and kinds that a capsule has, no more and no less. Nothing is read: a list is done in no time. */
function hasItsFiles(dir: Dir): boolean {
  const names = dir.names();
  const members: readonly string[] = CAPSULE_MEMBERS;
  return (
    names.length === members.length &&
    names.every((name) => members.includes(name) && dir.tryLstat(name)?.kind === 'file')
  );
}
