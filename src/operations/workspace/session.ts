import type {
  CapsuleDocument,
  ChangeRecord,
  ChangeTotals,
  ExitDocument,
  Outcome,
  RunKind,
  TimesDocument,
} from '../../capsule/index.ts';
import {
  CapsuleWriter,
  FORMAT,
  toAbsolutePathDocument,
  toSnapshotDocument,
  toTimeDocument,
} from '../../capsule/write.ts';
import { AgentdiffError, type Digest, invariant, isRunId, lossyText, type RunId } from '../../core/index.ts';
import { isSameInode, mountPoints, statPath } from '../../fs/index.ts';
import { captureLevels, changeDecisions, type Policy, policyDigest } from '../../policy/index.ts';
import { diffSnapshots, scanWorkspace, type Snapshot, withParticulars } from '../../snapshot/index.ts';
import { type StatIndex, workspaceId } from '../../store/index.ts';
import { openWorkspaceForWriting, type PendingRun, type WritableWorkspace } from '../../store/write.ts';
import { assess } from './assess.ts';
import type { Context, Place } from './context.ts';
import { toCoverageDocument, toReversibilityDocument } from './documents.ts';
import { encodeIntent, type Intent, pendingRuns } from './intent.ts';
import { previousCapsule } from './previous.ts';
import { mountsBelow, type Root, type StorePosition } from './root.ts';

export interface SessionRequest {
  readonly kind: Extract<RunKind, 'run' | 'recover'>;
  readonly argv: readonly string[];
  readonly policy: Policy;
  readonly task?: string;
  /** The run that a recover takes back. */
  readonly recovers?: RunId;
}

/** What the session itself cannot know. */
export interface Ending {
  readonly exit: ExitDocument;
  readonly launch: CapsuleDocument['launch'];
  readonly child: Pick<TimesDocument, 'childStartedAt' | 'childEndedAt' | 'childDurationMs'>;
  readonly outcome: (totals: ChangeTotals) => Outcome;
}

export interface Sealed {
  readonly capsule: CapsuleDocument;
  /** SHA-256 of the capsule's manifest. */
  readonly digest: Digest;
}

/** The environment variable that tells a child which run it is in; a nested run records it as its parent. */
export const RUN_ID_VARIABLE = 'AGENTDIFF_RUN_ID';

/**
 * One observed span of a workspace: before-snapshot, what happens in between, after-snapshot, seal. A run and a recover are both one.
 * The order of what is made durable is that of design section 6: objects and trees, then the intent; at the end objects and trees, capsule, publish.
 */
export class Session {
  readonly runId: RunId;
  readonly workspace: WritableWorkspace;
  readonly #context: Context;
  readonly #root: Root;
  readonly #position: StorePosition;
  readonly #request: SessionRequest;
  readonly #pending: PendingRun;
  readonly #writer: CapsuleWriter;
  readonly #previous: CapsuleDocument['previous'];
  readonly #overlapping: Set<RunId>;
  readonly #startedAt: number;
  readonly #startedNs: bigint;
  readonly #exclude: { dev: bigint; ino: bigint }[];
  #index: StatIndex;
  #newBytes = 0;
  #eventError: AgentdiffError | undefined;
  #before: Snapshot | undefined;
  #isRootRemoved = false;
  #after: Snapshot | undefined;
  #beforeIndex: StatIndex | undefined;

  private constructor(
    context: Context,
    place: Place,
    root: Root,
    position: StorePosition,
    request: SessionRequest,
  ) {
    this.#context = context;
    this.#root = root;
    this.#position = position;
    this.#request = request;
    this.#startedAt = context.now();
    this.#startedNs = context.monotonic();
    const workspace = { id: workspaceId(root.path), root: root.path };
    this.workspace = openWorkspaceForWriting(place.store, workspace, { now: this.#startedAt });
    const { store } = this.workspace;
    this.#previous = previousCapsule(store);
    this.#overlapping = new Set(pendingRuns(store).flatMap((run) => (run.active ? [run.runId] : [])));
    this.#pending = this.workspace.newRun(this.#startedAt);
    this.runId = this.#pending.id;
    const base = statPath(place.store);
    this.#exclude = base === undefined ? [] : [base];
    this.#index = store.statIndex();
    this.#writer = CapsuleWriter.open(this.#pending.capsuleDir(), {
      runId: this.runId,
      pid: process.pid,
      at: this.#startedAt,
    });
  }

  /** @throws STORE_… errors; nothing is left behind then */
  static open(
    context: Context,
    place: Place,
    root: Root,
    position: StorePosition,
    request: SessionRequest,
  ): Session {
    return new Session(context, place, root, position, request);
  }

  /** What cannot be written shows when the session is sealed: what goes on meanwhile, a child or a recover, is not to be torn by it. */
  event(body: Parameters<CapsuleWriter['addEvent']>[1]): void {
    if (this.#eventError !== undefined) return;
    try {
      this.#writer.addEvent(this.#context.now(), body);
    } catch (error) {
      if (!(error instanceof AgentdiffError)) throw error;
      this.#eventError = error;
    }
  }

  /** The before-snapshot and then the intent are durable when this returns. On a failure the run never was. */
  snapshotBefore(): Snapshot {
    try {
      this.#before = this.#scan('before');
      this.#beforeIndex = this.#index;
      if (this.#eventError !== undefined) throw this.#eventError;
      this.#pending.writeIntent(encodeIntent(this.#intent(this.#before)));
      return this.#before;
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /** @throws ROOT_REPLACED when another directory has the root's path by now: what happened there was not seen */
  snapshotAfter(): Snapshot {
    this.#after = this.#scan('after');
    const now = statPath(this.#root.path);
    this.#isRootRemoved = now === undefined;
    if (now === undefined || isSameInode(now, this.#root.stat)) return this.#after;
    throw new AgentdiffError(
      'ROOT_REPLACED',
      `another directory took the place of the workspace root: ${lossyText(this.#root.path)}`,
      {
        hint: 'what changed in it was not observed; the before-snapshot is in the store',
      },
    );
  }

  /**
   * Writes the changes, seals the capsule and publishes it. On a failure the run stays unsealed, and its before-snapshot safe.
   * @param onChange sees every change, in the order of the list
   */
  seal(ending: Ending, onChange: (change: ChangeRecord) => void): Sealed {
    if (this.#eventError !== undefined) throw this.#eventError;
    const totals = this.#writer.writeChanges(this.#changes(onChange));
    const capsule = this.#document(ending, totals);
    const digest = this.#writer.seal(this.#context.now(), 'run', capsule, this.#request.policy);
    this.#pending.publish();
    this.#context.log.info({ runId: this.runId, digest, counts: totals.counts }, 'capsule published');
    return { capsule, digest };
  }

  /** Ends a session that came to nothing: no child was started, nothing was changed. */
  abandon(): void {
    this.#writer.abandon();
    this.#pending.abandon();
  }

  close(): void {
    this.workspace.close();
  }

  #scan(which: 'before' | 'after'): Snapshot {
    const { log, monotonic, now } = this.#context;
    const began = monotonic();
    const { limits } = this.#request.policy;
    const batch = this.workspace.objectBatch(this.runId);
    const indexOut = this.workspace.indexWriter(BigInt(now()) * 1_000_000n);
    let snapshot: Snapshot;
    try {
      snapshot = scanWorkspace(this.#root.dir, {
        levels: captureLevels(this.#request.policy),
        exclude: this.#exclude,
        mounts: mountsBelow(this.#root, mountPoints()),
        index: this.#index,
        objects: batch,
        indexOut,
        limits: { ...limits, newBytesPerRun: Math.max(0, limits.newBytesPerRun - this.#newBytes) },
      });
      batch.commit();
    } catch (error) {
      indexOut.abort();
      batch.abort();
      throw error;
    }
    this.#newBytes += batch.newBytes;
    this.#index = indexOut.commit((err) => log.warn({ err }, 'the stat index could not be written'));
    const durationMs = milliseconds(monotonic() - began);
    this.event({ type: 'snapshot-taken', which, tree: snapshot.tree, durationMs });
    const { entries, files, bytes } = snapshot;
    log.info({ which, entries, files, bytes, newBytes: batch.newBytes, durationMs }, 'snapshot taken');
    return snapshot;
  }

  *#changes(onChange: (change: ChangeRecord) => void): Generator<ChangeRecord> {
    const { before, after } = this.#snapshots();
    const { objects } = this.workspace.store;
    const decide = changeDecisions(this.#request.policy);
    const changes = diffSnapshots(objects, before, after);
    for (const change of withParticulars(changes, this.#beforeIndex ?? this.#index, this.#index)) {
      const record = { ...change, ...assess(change, objects), ...decide(change) };
      onChange(record);
      yield record;
    }
  }

  #snapshots(): { before: Snapshot; after: Snapshot } {
    invariant(
      this.#before !== undefined && this.#after !== undefined,
      'a session is sealed after both snapshots',
    );
    return { before: this.#before, after: this.#after };
  }

  #intent(before: Snapshot): Intent {
    const { argv, kind } = this.#request;
    return {
      format: 1,
      runId: this.runId,
      kind,
      argv,
      cwd: toAbsolutePathDocument(this.#context.cwd),
      startedAt: toTimeDocument(this.#startedAt),
      before: before.tree,
    };
  }

  #document(ending: Ending, totals: ChangeTotals): CapsuleDocument {
    const { kind, argv, task, recovers, policy } = this.#request;
    const { before, after } = this.#snapshots();
    const parentRun = this.#context.environment[RUN_ID_VARIABLE];
    const coverage = toCoverageDocument(before, after, {
      holdsStore: this.#position === 'inside',
      isRemoved: this.#isRootRemoved,
    });
    return {
      format: FORMAT,
      runId: this.runId,
      kind,
      tool: { name: 'agentdiff', version: this.#context.toolVersion },
      ...(parentRun !== undefined && isRunId(parentRun) && { parentRun }),
      ...(recovers && { recovers }),
      ...(task && { task }),
      argv: [...argv],
      cwd: toAbsolutePathDocument(this.#context.cwd),
      workspace: this.#workspaceDocument(),
      times: this.#times(ending),
      exit: ending.exit,
      outcome: ending.outcome(totals),
      snapshots: { before: toSnapshotDocument(before), after: toSnapshotDocument(after) },
      policyDigest: policyDigest(policy),
      launch: ending.launch,
      runtime: { name: 'local', anchoring: this.#root.dir.anchoring, guards: [] },
      coverage,
      counts: totals.counts,
      reversibility: toReversibilityDocument(totals, coverage),
      overlapping: this.#overlappingRuns(parentRun),
      ...(this.#previous && { previous: this.#previous }),
    };
  }

  #workspaceDocument(): CapsuleDocument['workspace'] {
    const { path, spelling, stat, chosenBy } = this.#root;
    return {
      id: workspaceId(path),
      root: toAbsolutePathDocument(path),
      ...(spelling !== undefined && { spelling: toAbsolutePathDocument(spelling) }),
      dev: stat.dev.toString(),
      ino: stat.ino.toString(),
      chosenBy,
    };
  }

  #times({ child }: Ending): TimesDocument {
    const { now, monotonic } = this.#context;
    return {
      startedAt: toTimeDocument(this.#startedAt),
      ...child,
      endedAt: toTimeDocument(now()),
      durationMs: milliseconds(monotonic() - this.#startedNs),
    };
  }

  /** Runs that were active when this one began, or that began since; the run around this one is its parent and named apart. */
  #overlappingRuns(parentRun: string | undefined): RunId[] {
    const { store } = this.workspace;
    const later = [...store.sealed(), ...store.pending()].filter((id) => id > this.runId);
    return [...new Set([...this.#overlapping, ...later])].filter((id) => id !== parentRun).sort();
  }
}

function milliseconds(ns: bigint): number {
  return Number(ns / 1_000_000n);
}
