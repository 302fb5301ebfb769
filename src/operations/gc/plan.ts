import type { AgentdiffError, ErrorCode, RunId } from '../../core/index.ts';
import { NOTHING_TO_SWEEP, type StoreUsage, type SweepPlan, type WorkspaceStore } from '../../store/index.ts';
import { capsuleProblem, failureOf, Needed, type Unknown } from './needed.ts';
import { type PendingWord, pendingRuns, wordPending } from '../workspace/intent.ts';
import { keptByRule, type KeptWhy, type RetentionRules } from './rules.ts';

export interface CapsuleFate {
  readonly runId: RunId;
  /** What the capsule itself takes on the disk, bytes. */
  readonly bytes: number;
  /** `not-kept`: no rule keeps it; `over-size`: it is among the oldest, and the store is larger than it may be. */
  readonly why: KeptWhy | 'not-kept' | 'over-size';
  readonly goes: boolean;
  /** With `unreadable`. */
  readonly problem?: ErrorCode;
}

/** A run without a sealed capsule. */
export interface PendingFate {
  readonly runId: RunId;
  /** As `agentdiff list` has it. */
  readonly state: PendingWord;
  /** It was named to be removed. */
  readonly goes: boolean;
}

/** What a gc would do. */
export interface GcPlan {
  /** Oldest first. */
  readonly capsules: readonly CapsuleFate[];
  /** Runs without a sealed capsule: they stay, but for one that was named. Oldest first. */
  readonly pending: readonly PendingFate[];
  /** Why no object goes. */
  readonly unknown?: Unknown;
  readonly sweep: SweepPlan;
  /** On the disk, now and afterwards, bytes. */
  readonly sizeBytes: number;
  readonly sizeAfterBytes: number;
  readonly maxBytes?: number;
}

/** A plan, and the objects that it keeps. */
export interface Made {
  readonly plan: GcPlan;
  readonly needed: Needed;
}

export function doesNothing({ capsules, pending, sweep }: GcPlan): boolean {
  const { dropped, rewritten, large } = sweep;
  return (
    dropped.length + rewritten.length + large.length === 0 &&
    ![...capsules, ...pending].some(({ goes }) => goes)
  );
}

/**
 * Looks at what is there and decides what goes; changes nothing. Whatever cannot be read stays, and then every object does.
 * @param now milliseconds since the epoch
 */
export function makeGcPlan(store: WorkspaceStore, rules: RetentionRules, now: number): Made {
  const usage = store.usage();
  const decided = new Decision(store, rules, usage, now).decide();
  const { capsules, unknown, needed } = decided;
  const interruptedBytes = rules.interrupted && usage.runs.get(rules.interrupted)?.capsule.allocated;
  const goneBytes =
    sum(capsules.filter(({ goes }) => goes).map(({ bytes }) => bytes)) + (interruptedBytes ?? 0);
  const left = usage.total.allocated - goneBytes;
  const { maxBytes } = rules;
  const sweep =
    unknown === undefined
      ? store.planSweep(needed.digests, maxBytes === undefined ? 0 : left - maxBytes)
      : NOTHING_TO_SWEEP;
  const plan: GcPlan = {
    capsules,
    pending: pendingRuns(store).map((run) => ({
      runId: run.runId,
      state: wordPending(run),
      goes: run.runId === rules.interrupted,
    })),
    sweep,
    sizeBytes: usage.total.allocated,
    sizeAfterBytes: left - sweep.freedBytes,
    ...(unknown && { unknown }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
  return { plan, needed };
}

class Decision {
  readonly #store: WorkspaceStore;
  readonly #rules: RetentionRules;
  readonly #usage: StoreUsage;
  readonly #sealed: readonly RunId[];
  readonly #kept: ReadonlyMap<RunId, KeptWhy>;
  #unknown: Unknown | undefined;

  constructor(store: WorkspaceStore, rules: RetentionRules, usage: StoreUsage, now: number) {
    this.#store = store;
    this.#rules = rules;
    this.#usage = usage;
    this.#sealed = store.sealed();
    this.#kept = keptByRule(this.#sealed, store.pins(), rules, now);
  }

  decide(): { capsules: CapsuleFate[]; unknown: Unknown | undefined; needed: Needed } {
    const problems = this.#problems();
    const staying = this.#sealed.filter((runId) => this.#kept.has(runId));
    const candidates = this.#sealed.filter((runId) => !this.#kept.has(runId) && !problems.has(runId));
    let needed = this.#mark(staying);
    const fitting = this.#fitting(candidates, staying, needed);
    // What did not fit was added to find that out.
    if (fitting.size < candidates.length && this.#rules.maxBytes !== undefined)
      needed = this.#mark([...staying, ...fitting]);
    const capsules = this.#sealed.map((runId) => this.#fate(runId, fitting, problems.get(runId)));
    return { capsules, unknown: this.#unknown, needed };
  }

  /** Capsules that no rule keeps and that are not whole. What they need is not known. */
  #problems(): Map<RunId, AgentdiffError> {
    const problems = new Map<RunId, AgentdiffError>();
    for (const runId of this.#sealed) {
      const error = this.#kept.has(runId) ? undefined : capsuleProblem(this.#store, runId);
      if (error === undefined) continue;
      problems.set(runId, error);
      this.#unknown ??= { runId, error };
    }
    return problems;
  }

  #mark(runs: readonly RunId[]): Needed {
    const needed = new Needed(this.#store);
    if (this.#unknown !== undefined) return needed;
    const newest = this.#sealed.at(-1);
    const error = failureOf(() => needed.addRoots(newest, this.#rules.interrupted));
    if (error !== undefined) this.#unknown = { error };
    for (const runId of runs) this.#add(needed, runId);
    return needed;
  }

  #add(needed: Needed, runId: RunId): void {
    if (this.#unknown !== undefined) return;
    const error = failureOf(() => needed.addCapsule(runId));
    if (error !== undefined) this.#unknown = { runId, error };
  }

  /** Of the capsules that no rule keeps the newest ones that fit into the size. Where it is not known what goes with one, all do. */
  #fitting(candidates: readonly RunId[], staying: readonly RunId[], needed: Needed): Set<RunId> {
    const { maxBytes, keepLast, keepWithinMs } = this.#rules;
    if (maxBytes === undefined) {
      const all = keepLast === undefined && keepWithinMs === undefined ? candidates : [];
      for (const runId of all) this.#add(needed, runId);
      return new Set(all);
    }
    const fitting = new Set<RunId>();
    let capsuleBytes = sum(staying.map((runId) => this.#bytesOf(runId)));
    for (const runId of candidates.toReversed()) {
      this.#add(needed, runId);
      if (this.#unknown !== undefined) return new Set(candidates);
      capsuleBytes += this.#bytesOf(runId);
      if (this.#otherBytes() + capsuleBytes + needed.bytes > maxBytes) break;
      fitting.add(runId);
    }
    return fitting;
  }

  /** What is neither an object nor a capsule. */
  #otherBytes(): number {
    const { total, runs, shared } = this.#usage;
    const known = [...runs.values()].map(({ capsule, objects }) => capsule.allocated + objects.allocated);
    return Math.max(0, total.allocated - shared.allocated - sum(known));
  }

  #bytesOf(runId: RunId): number {
    return this.#usage.runs.get(runId)?.capsule.allocated ?? 0;
  }

  #fate(runId: RunId, fitting: ReadonlySet<RunId>, problem: AgentdiffError | undefined): CapsuleFate {
    const bytes = this.#bytesOf(runId);
    const kept = this.#kept.get(runId);
    if (kept !== undefined) return { runId, bytes, why: kept, goes: false };
    if (problem !== undefined) return { runId, bytes, why: 'unreadable', goes: false, problem: problem.code };
    if (fitting.has(runId)) return { runId, bytes, why: 'fits', goes: false };
    return { runId, bytes, why: this.#rules.maxBytes === undefined ? 'not-kept' : 'over-size', goes: true };
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
