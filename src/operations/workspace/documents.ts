import type {
  CapsuleDocument,
  ChangeTotals,
  CoverageDocument,
  ExitDocument,
  LoweredDocument,
  Outcome,
  RunKind,
  TimesDocument,
  UnobservedDocument,
} from '../../capsule/index.ts';
import {
  FORMAT,
  MAX_NAMED_LINKS,
  MAX_NAMED_PATHS,
  toAbsolutePathDocument,
  toSnapshotDocument,
  toTimeDocument,
  wordReversibility,
} from '../../capsule/write.ts';
import { type ByteString, type RunId, toJsonPath } from '../../core/index.ts';
import { type Policy, policyDigest } from '../../policy/index.ts';
import type { Lowering, Snapshot, Unobserved } from '../../snapshot/index.ts';
import { workspaceId } from '../../store/index.ts';
import type { Root } from './root.ts';

export interface SessionRequest {
  readonly kind: Extract<RunKind, 'run' | 'recover'>;
  readonly argv: readonly string[];
  readonly policy: Policy;
  /** Content of the before-snapshot that the store has no room for: is it an error, or merely not kept? */
  readonly whenFull: 'stop' | 'lower';
  /** Both scans read every file, whatever its times say. */
  readonly readsAll?: boolean;
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

/** All that a capsule's document is made of. Times are milliseconds since the epoch. */
export interface DocumentParts {
  readonly runId: RunId;
  readonly toolVersion: string;
  readonly cwd: ByteString;
  readonly root: Root;
  readonly request: SessionRequest;
  readonly snapshots: { readonly before: Snapshot; readonly after: Snapshot };
  readonly coverage: { readonly holdsStore: boolean; readonly state: CoverageDocument['root'] };
  readonly times: { readonly startedAt: number; readonly endedAt: number; readonly durationNs: bigint };
  readonly ending: Ending;
  readonly totals: ChangeTotals;
  readonly parentRun: RunId | undefined;
  readonly overlapping: readonly RunId[];
  readonly previous: CapsuleDocument['previous'];
}

export function toCapsuleDocument(parts: DocumentParts): CapsuleDocument {
  const { request, snapshots, ending, totals, parentRun, previous } = parts;
  const { kind, argv, task, recovers, policy } = request;
  const { before, after } = snapshots;
  const coverage = toCoverageDocument(before, after, parts.coverage, policy);
  return {
    format: FORMAT,
    runId: parts.runId,
    kind,
    tool: { name: 'agentdiff', version: parts.toolVersion },
    ...(parentRun && { parentRun }),
    ...(recovers && { recovers }),
    ...(task && { task }),
    argv: [...argv],
    cwd: toAbsolutePathDocument(parts.cwd),
    workspace: toWorkspaceDocument(parts.root),
    times: toTimesDocument(parts),
    exit: ending.exit,
    outcome: ending.outcome(totals),
    snapshots: { before: toSnapshotDocument(before), after: toSnapshotDocument(after) },
    policyDigest: policyDigest(policy),
    launch: ending.launch,
    runtime: { name: 'local', anchoring: parts.root.dir.anchoring, guards: [] },
    coverage,
    counts: totals.counts,
    reversibility: toReversibilityDocument(totals, coverage),
    overlapping: [...parts.overlapping],
    ...(previous && { previous }),
  };
}

function toWorkspaceDocument({ path, spelling, stat, chosenBy }: Root): CapsuleDocument['workspace'] {
  return {
    id: workspaceId(path),
    root: toAbsolutePathDocument(path),
    ...(spelling !== undefined && { spelling: toAbsolutePathDocument(spelling) }),
    dev: stat.dev.toString(),
    ino: stat.ino.toString(),
    ...(stat.bornNs !== undefined && { born: stat.bornNs.toString() }),
    chosenBy,
  };
}

function toTimesDocument({ times, ending }: DocumentParts): TimesDocument {
  return {
    startedAt: toTimeDocument(times.startedAt),
    ...ending.child,
    endedAt: toTimeDocument(times.endedAt),
    durationMs: Number(times.durationNs / 1_000_000n),
  };
}

/** Totals are true whatever their size; only the first paths are named, and the tree objects hold them all. */
function toCoverageDocument(
  before: Snapshot,
  after: Snapshot,
  root: { readonly holdsStore: boolean; readonly state: CoverageDocument['root'] },
  policy: Policy,
): CoverageDocument {
  const toLowered = (lowering: Lowering): LoweredDocument => toLoweredDocument(lowering, policy);
  const later = loweredLater(before, after);
  return {
    complete: before.unobserved.length === 0 && after.unobserved.length === 0,
    unobserved: {
      before: before.unobserved.slice(0, MAX_NAMED_PATHS).map(toUnobservedDocument),
      after: after.unobserved.slice(0, MAX_NAMED_PATHS).map(toUnobservedDocument),
      beforeTotal: before.unobserved.length,
      afterTotal: after.unobserved.length,
    },
    lowered: before.lowered.slice(0, MAX_NAMED_PATHS).map(toLowered),
    ...(later.length > 0 && { loweredAfter: later.slice(0, MAX_NAMED_PATHS).map(toLowered) }),
    storeInsideWorkspace: root.holdsStore,
    ...toOutwardDocument(before, after),
    ...(root.state !== undefined && { root: root.state }),
  };
}

/** Links of either side; the first ones are named. */
function toOutwardDocument(before: Snapshot, after: Snapshot): Pick<CoverageDocument, 'outward'> {
  const links = [...new Set([...before.outward, ...after.outward])];
  if (links.length === 0) return {};
  return { outward: { total: links.length, paths: links.slice(0, MAX_NAMED_LINKS).map(toJsonPath) } };
}

function toLoweredDocument({ path, level, rule, files, bytes }: Lowering, policy: Policy): LoweredDocument {
  const reason = policy.capture.find((each) => each.rule === rule)?.reason;
  return {
    ...toJsonPath(path),
    level,
    rule,
    ...(reason !== undefined && { reason }),
    ...(level !== 'none' && { files, bytes }),
  };
}

/** What the run left and the scan after it lowered: a place that was lowered before is named once. */
function loweredLater(before: Snapshot, after: Snapshot): Lowering[] {
  const known = new Set(before.lowered.map(({ path, level, rule }) => `${level} ${rule}\0${path}`));
  return after.lowered.filter(({ path, level, rule }) => !known.has(`${level} ${rule}\0${path}`));
}

function toUnobservedDocument({ path, reason }: Unobserved): UnobservedDocument {
  return { ...toJsonPath(path), reason };
}

/** What the capsule says of taking back; the words for it come from `wordReversibility` alone. */
function toReversibilityDocument(
  totals: ChangeTotals,
  coverage: CoverageDocument,
): CapsuleDocument['reversibility'] {
  const { recoverable, notRecoverable, linked } = totals;
  const { tier } = wordReversibility({
    recoverable,
    notRecoverable,
    coverageComplete: coverage.complete,
    lowered: coverage.lowered.length,
    storeInsideWorkspace: coverage.storeInsideWorkspace,
    held: false,
  });
  return { tier, recoverable, notRecoverable: [...notRecoverable], ...(linked > 0 && { linked }) };
}
