import type { CapsuleDocument, ChangeRecord, ChangeTotals } from '../../capsule/index.ts';
import { CapsuleWriter, toAbsolutePathDocument, toTimeDocument } from '../../capsule/write.ts';
import { AgentdiffError, type Digest, invariant, isRunId, lossyText, type RunId } from '../../core/index.ts';
import { isSameInode, statPath } from '../../fs/index.ts';
import { changeDecisions } from '../../policy/index.ts';
import {
  type Change,
  diffSnapshots,
  ScanThreads,
  type Snapshot,
  withParticulars,
} from '../../snapshot/index.ts';
import { type StatIndex, workspaceId } from '../../store/index.ts';
import { openWorkspaceForWriting, type PendingRun, type WritableWorkspace } from '../../store/write.ts';
import { assess } from './assess.ts';
import { isBeforeCommand } from './before-command.ts';
import { isStoreFull } from './budget.ts';
import type { Context, Place } from './context.ts';
import { type Ending, type SessionRequest, toCapsuleDocument } from './documents.ts';
import { encodeIntent, type Intent, pendingRuns } from './intent.ts';
import { previousCapsule } from './previous.ts';
import type { Root, StorePosition } from './root.ts';
import { takeSnapshot, type TakenSnapshot } from './take-snapshot.ts';

export interface Sealed {
  readonly capsule: CapsuleDocument;
  /** SHA-256 of the capsule's manifest. */
  readonly digest: Digest;
}

/** What there is from the beginning. */
interface Begun {
  readonly workspace: WritableWorkspace;
  readonly pending: PendingRun;
  readonly writer: CapsuleWriter;
  readonly position: StorePosition;
  /** Milliseconds since the epoch, and nanoseconds of the clock that never jumps. */
  readonly startedAt: number;
  readonly startedNs: bigint;
  readonly previous: CapsuleDocument['previous'];
  /** Runs that were active when this one began. */
  readonly active: readonly RunId[];
}

/** The environment variable that tells a child which run it is in; a nested run records it as its parent. */
export const RUN_ID_VARIABLE = 'AGENTDIFF_RUN_ID';

/**
 * One observed span of a workspace: before-snapshot, what happens in between, after-snapshot, seal. A run and a recover are both one.
 * The order of what is made durable is that of docs/store-format.md: objects and trees, then the intent; at the end objects and trees, capsule, publish.
 */
export class Session {
  readonly runId: RunId;
  readonly workspace: WritableWorkspace;
  readonly #context: Context;
  readonly #root: Root;
  readonly #request: SessionRequest;
  readonly #begun: Begun;
  readonly #exclude: { dev: bigint; ino: bigint }[];
  readonly #threads: ScanThreads | undefined;
  #index: StatIndex;
  /** What the index stands for, once a scan of this run has made it. */
  #indexSnapshot: Snapshot | undefined;
  #newBytes = 0;
  #eventError: AgentdiffError | undefined;
  #isChildStarted = false;
  /** Read when the launch is decided, nanoseconds since the epoch. */
  #launchNs: bigint | undefined;
  #isAbandoned = false;
  #before: Snapshot | undefined;
  /** When the first scan began, nanoseconds since the epoch. */
  #beforeNs: bigint | undefined;
  #rootState: CapsuleDocument['coverage']['root'];
  #after: Snapshot | undefined;
  #beforeIndex: StatIndex | undefined;

  private constructor(context: Context, place: Place, root: Root, begun: Begun, request: SessionRequest) {
    this.#context = context;
    this.#root = root;
    this.#request = request;
    this.#begun = begun;
    this.workspace = begun.workspace;
    this.runId = begun.pending.id;
    const base = statPath(place.store);
    this.#exclude = base === undefined ? [] : [base];
    const { store } = begun.workspace;
    const { scanThreads } = context;
    this.#threads = scanThreads && new ScanThreads(scanThreads.program, scanThreads.count);
    this.#threads?.prepare(store.expectedLooks());
    this.#index = store.statIndex();
  }

  /** @throws STORE_… errors; nothing is left behind then */
  static open(
    context: Context,
    place: Place,
    root: Root,
    position: StorePosition,
    request: SessionRequest,
  ): Session {
    const startedAt = context.now();
    const startedNs = context.monotonic();
    const identity = { id: workspaceId(root.path), root: root.path };
    const workspace = openWorkspaceForWriting(place.store, identity, { now: startedAt });
    let pending: PendingRun | undefined;
    try {
      const { store } = workspace;
      // A recover relies on runs that are sealed and stay: neither a gc nor a new run may come in between.
      if (request.kind === 'recover') workspace.lock('recover', startedAt);
      const previous = previousCapsule(store);
      const active = pendingRuns(store).flatMap((run) => (run.active ? [run.runId] : []));
      pending = workspace.newRun(startedAt);
      const writer = CapsuleWriter.open(pending.capsuleDir(), {
        runId: pending.id,
        pid: process.pid,
        at: startedAt,
      });
      const begun = { workspace, pending, writer, position, startedAt, startedNs, previous, active };
      return new Session(context, place, root, begun, request);
    } catch (error) {
      abandonQuietly(pending);
      workspace.close();
      throw error;
    }
  }

  /** Bytes of the objects that this session added to the store so far. */
  get newBytes(): number {
    return this.#newBytes;
  }

  /** Whether a snapshot did without a content because the store has come to its size. */
  get lackedRoom(): boolean {
    return [this.#before, this.#after].some((snapshot) => snapshot !== undefined && isStoreFull(snapshot));
  }

  /** What the policy lets the store hold of this workspace, bytes; undefined when it says nothing. */
  get storeBudget(): number | undefined {
    return this.#request.policy.limits.storeBytes;
  }

  /** What cannot be written shows when the session is sealed: what goes on meanwhile, a child or a recover, is not to be torn by it. */
  event(body: Parameters<CapsuleWriter['addEvent']>[1]): void {
    if (body.type === 'launch-decided') this.#launchNs = BigInt(this.#context.now()) * 1_000_000n;
    if (body.type === 'child-started') this.#isChildStarted = true;
    if (this.#eventError !== undefined) return;
    try {
      this.#begun.writer.addEvent(this.#context.now(), body);
    } catch (error) {
      if (!(error instanceof AgentdiffError)) throw error;
      this.#eventError = error;
    }
  }

  /**
   * The before-snapshot and then the intent are durable when this returns. On a failure the run never was.
   * @param beforeIntent called when the snapshot is there and the run is about to count as begun
   */
  snapshotBefore(beforeIntent: () => void = () => {}): Snapshot {
    try {
      this.#before = this.#scan('before');
      this.#refuseDamagedTree(this.#before);
      this.#beforeIndex = this.#index;
      if (this.#eventError !== undefined) throw this.#eventError;
      beforeIntent();
      this.#begun.pending.writeIntent(encodeIntent(this.#intent(this.#before)));
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
    // A directory that was removed has no name left; one that was moved, or whose parent may not be entered, still has.
    if (now === undefined) return this.#afterWithoutPath(this.#after);
    if (isSameInode(now, this.#root.stat)) return this.#after;
    throw new AgentdiffError(
      'ROOT_REPLACED',
      `another directory took the place of the workspace root: ${lossyText(this.#root.path)}`,
      {
        hint: 'what changed in it was not observed; the before-snapshot is in the store',
      },
    );
  }

  #afterWithoutPath(seen: Snapshot): Snapshot {
    const isRemoved = this.#root.dir.stat().nlink === 0;
    this.#rootState = isRemoved ? 'removed' : 'not-at-its-path';
    // It may have been removed while it was looked at; what was seen then is not what is left.
    if (isRemoved && seen.entries > 0) this.#after = this.#scan('after');
    return this.#after ?? seen;
  }

  /**
   * Writes the changes, seals the capsule and publishes it. On a failure the run stays unsealed, and its before-snapshot safe.
   * @param onChange sees every change, in the order of the list
   */
  seal(ending: Ending, onChange: (change: ChangeRecord) => void): Sealed {
    // Nothing is scanned any more; they end while we write.
    this.#threads?.close();
    if (this.#eventError !== undefined) throw this.#eventError;
    const totals = this.#begun.writer.writeChanges(this.#changes(onChange));
    const capsule = this.#document(ending, totals);
    const digest = this.#begun.writer.seal(this.#context.now(), 'run', capsule, this.#request.policy);
    this.#begun.pending.publish();
    this.#context.log.info({ runId: this.runId, digest, counts: totals.counts }, 'capsule published');
    return { capsule, digest };
  }

  /** Ends a session that came to nothing. After a child was started it does nothing: the before-snapshot is evidence then. */
  abandon(): void {
    if (this.#isChildStarted || this.#isAbandoned) return;
    this.#isAbandoned = true;
    this.#begun.writer.abandon();
    abandonQuietly(this.#begun.pending);
  }

  close(): void {
    this.#threads?.close();
    this.workspace.close();
  }

  #scan(which: 'before' | 'after'): Snapshot {
    const began = this.#context.monotonic();
    const taken = this.#take(which);
    const { snapshot } = taken;
    this.#newBytes += taken.newBytes;
    this.#index = taken.index;
    this.#indexSnapshot = snapshot;
    const durationMs = milliseconds(this.#context.monotonic() - began);
    this.event({ type: 'snapshot-taken', which, tree: snapshot.tree, durationMs });
    const { entries, files, bytes } = snapshot;
    this.#context.log.info(
      { which, entries, files, bytes, newBytes: taken.newBytes, durationMs },
      'snapshot taken',
    );
    return snapshot;
  }

  #take(which: 'before' | 'after'): TakenSnapshot {
    const watch = this.#context.watchScan?.(which);
    const startedAtNs = BigInt(this.#context.now()) * 1_000_000n;
    const sinceNs = this.#beforeNs;
    this.#beforeNs ??= startedAtNs;
    try {
      return takeSnapshot({
        startedAtNs,
        readsAll: this.#request.readsAll === true,
        sinceNs,
        threads: this.#threads,
        indexSnapshot: this.#indexSnapshot,
        context: this.#context,
        workspace: this.workspace,
        runId: this.runId,
        root: this.#root,
        policy: this.#request.policy,
        exclude: this.#exclude,
        index: this.#index,
        keptBytes: this.#newBytes,
        whenFull: which === 'before' ? this.#request.whenFull : 'lower',
        onProgress: watch && ((seen) => watch.progress(seen)),
      });
    } finally {
      watch?.end();
    }
  }

  /** The difference of the two snapshots. */
  differences(): Generator<Change> {
    const { before, after } = this.#snapshots();
    return diffSnapshots(this.workspace.store.objects, before, after);
  }

  *#changes(onChange: (change: ChangeRecord) => void): Generator<ChangeRecord> {
    const { objects } = this.workspace.store;
    const decide = changeDecisions(this.#request.policy);
    for (const change of withParticulars(this.differences(), this.#beforeIndex ?? this.#index, this.#index)) {
      const isForeign = this.#isBeforeCommand(change);
      const record = { ...change, ...assess(change, objects, isForeign), ...decide(change) };
      onChange(record);
      yield record;
    }
  }

  /** A recover starts no command: what it changed is its own. */
  #isBeforeCommand(change: Change): boolean {
    if (this.#request.kind !== 'run' || this.#beforeNs === undefined) return false;
    const launchNs = this.#isChildStarted ? this.#launchNs : undefined;
    const indexes = { before: this.#beforeIndex ?? this.#index, after: this.#index };
    return isBeforeCommand(change, { firstScanNs: this.#beforeNs, launchNs }, indexes);
  }

  #snapshots(): { before: Snapshot; after: Snapshot } {
    invariant(
      this.#before !== undefined && this.#after !== undefined,
      'a session is sealed after both snapshots',
    );
    return { before: this.#before, after: this.#after };
  }

  /** A tree that was stored before and has gone bad would show only when the changes are to be listed, after the child. */
  #refuseDamagedTree({ tree }: Snapshot): void {
    const found = this.workspace.store.objects.check(tree);
    if (found === 'present') return;
    throw new AgentdiffError('STORE_DAMAGED', `the root's tree object ${tree} is ${found} in the store`, {
      hint: 'nothing was run; name another place with --store or AGENTDIFF_STORE, and keep the old one for its capsules',
      data: { object: tree, found },
    });
  }

  #intent(before: Snapshot): Intent {
    const { argv, kind } = this.#request;
    return {
      format: 1,
      runId: this.runId,
      kind,
      argv,
      cwd: toAbsolutePathDocument(this.#context.cwd),
      startedAt: toTimeDocument(this.#begun.startedAt),
      before: before.tree,
    };
  }

  #document(ending: Ending, totals: ChangeTotals): CapsuleDocument {
    const { now, monotonic, environment, toolVersion, cwd } = this.#context;
    const { startedAt, startedNs, position, previous } = this.#begun;
    const parent = environment[RUN_ID_VARIABLE];
    const parentRun = parent !== undefined && isRunId(parent) ? parent : undefined;
    return toCapsuleDocument({
      runId: this.runId,
      toolVersion,
      cwd,
      root: this.#root,
      request: this.#request,
      snapshots: this.#snapshots(),
      coverage: { holdsStore: position === 'inside', state: this.#rootState },
      times: { startedAt, endedAt: now(), durationNs: monotonic() - startedNs },
      ending,
      totals,
      parentRun,
      overlapping: this.#overlappingRuns(parentRun),
      previous,
    });
  }

  /** Runs that were active when this one began, or that began since; the run around this one is its parent and named apart. */
  #overlappingRuns(parentRun: string | undefined): RunId[] {
    const { store } = this.workspace;
    const later = [...store.sealed(), ...store.pending()].filter((id) => id > this.runId);
    return [...new Set([...this.#begun.active, ...later])].filter((id) => id !== parentRun).sort();
  }
}

function milliseconds(ns: bigint): number {
  return Number(ns / 1_000_000n);
}

/** What cannot be removed now goes with the next opening of the store; the failure that led here counts more. */
function abandonQuietly(pending: PendingRun | undefined): void {
  try {
    pending?.abandon();
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
  }
}
