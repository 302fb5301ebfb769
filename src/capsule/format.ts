/**
 * The capsule, format 1, as types: what its files hold. `docs/capsule-format.md` is the specification; the writer and the reader meet only
 * here and in `documents.ts`. The strict schemas in `schema.ts` are checked to describe exactly these types.
 */
import type { Digest, JsonPath, RunId } from '../core/index.ts';
import type { Anchoring, EntryKind } from '../fs/index.ts';
import type { Decision, Outcome } from '../policy/index.ts';
import type { CaptureLevel, Change, UnobservedReason } from '../snapshot/index.ts';

/** The format this tool writes, and the newest it reads. */
export const FORMAT = 1;

export type MemberName = 'SHA256SUMS' | 'capsule.json' | 'changes.jsonl' | 'events.jsonl' | 'policy.json';

/** The digests of all other members, as `sha256sum` prints them. */
export const MANIFEST = 'SHA256SUMS';

/** What the manifest lists, in its order. A capsule has these files, the manifest, and no other. */
export const LISTED_MEMBERS = ['capsule.json', 'changes.jsonl', 'events.jsonl', 'policy.json'] as const;

/** Every file of a capsule. */
export const CAPSULE_MEMBERS = [MANIFEST, ...LISTED_MEMBERS] as const;

export type ListedMember = (typeof LISTED_MEMBERS)[number];

/** Bytes. A longer file is refused before it is read; the two lists are read line by line, so only time bounds them. */
export const MAX_BYTES: Readonly<Record<MemberName, number>> = {
  SHA256SUMS: 64 * 1024,
  'capsule.json': 16 * 1024 * 1024,
  'changes.jsonl': 4 * 1024 ** 3,
  'events.jsonl': 4 * 1024 ** 3,
  'policy.json': 4 * 1024 * 1024,
};

/** Bytes of one line of a list, its newline not counted. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** Paths that each list of `coverage` names at most; the totals of what was unobserved are always true, and the tree objects hold them all. */
export const MAX_NAMED_PATHS = 1000;

/** Links out of the workspace that `coverage.outward` names one by one. */
export const MAX_NAMED_LINKS = 20;

/** `prev` of the first event. */
export const NO_PREVIOUS_LINE = '0'.repeat(64);

export type { Decision, Outcome } from '../policy/index.ts';

export type RunKind = 'run' | 'recover' | 'apply';
type ChosenBy = 'option' | 'environment' | 'policy-file' | 'git' | 'cwd';
type RuntimeName = 'local';
export type ReversibilityTier = 'contained' | 'snapshot' | 'partial' | 'none';

/** Why the before-state of a change cannot be put back, as far as the run itself knows. */
export type NotRecoverableReason =
  /** Its digest is known, its bytes were not kept (level `digest`, or a limit). */
  | 'content-not-kept'
  /** It came about while the first scan went on, before the command was started: it is not the command's to take back. */
  | 'before-command'
  /** It was looked at, not read (level `stat`, or a limit). */
  | 'not-read'
  | 'unreadable'
  /** It moved while it was read. */
  | 'unstable'
  /** Whether it existed, or what it was, before the run is not known. */
  | 'unknown-before'
  /** What the run left there is not known, so nobody could tell it from later work. */
  | 'unknown-after'
  /** Fifos, sockets and device nodes are not made again. */
  | 'unsupported-kind';

/** An absolute path; `pathBytes` (base64) is there when the bytes are not UTF-8. */
export interface AbsolutePathDocument {
  path: string;
  pathBytes?: string;
}

/** `capsule.json`. Times of day are ISO 8601 in UTC with milliseconds, durations are milliseconds of a monotonic clock. */
export interface CapsuleDocument {
  format: typeof FORMAT;
  runId: RunId;
  kind: RunKind;
  tool: { name: 'agentdiff'; version: string };
  /** The run inside which this one was started. */
  parentRun?: RunId;
  /** The run whose changes this one takes back (kind `recover`) or carries over (kind `apply`). */
  recovers?: RunId;
  task?: string;
  /** The child's arguments, the command first; for `recover` and `apply` those of agentdiff itself. */
  argv: string[];
  cwd: AbsolutePathDocument;
  workspace: WorkspaceDocument;
  times: TimesDocument;
  exit: ExitDocument;
  outcome: Outcome;
  snapshots: { before: SnapshotDocument; after: SnapshotDocument };
  /** SHA-256 of `policy.json` without its newline. */
  policyDigest: Digest;
  launch: { decision: Decision; rule: string };
  runtime: { name: RuntimeName; anchoring: Anchoring; guards: string[] };
  coverage: CoverageDocument;
  counts: ChangeCounts;
  reversibility: ReversibilityDocument;
  /** Runs of the same workspace that were active at the same time. */
  overlapping: RunId[];
  /** The newest capsule of the workspace when this run began, and the SHA-256 of its manifest. */
  previous?: { runId: RunId; digest: Digest };
}

interface WorkspaceDocument {
  /** 32 hex digits. */
  id: string;
  /** The real path. */
  root: AbsolutePathDocument;
  /** Decimal. */
  dev: string;
  ino: string;
  /** When the root was made, nanoseconds since the epoch, decimal: inode numbers are used again. Absent where it is not known. */
  born?: string;
  chosenBy: ChosenBy;
  /** How the user spelled it, when that is not the real path; it may be relative. */
  spelling?: AbsolutePathDocument;
}

export interface TimesDocument {
  startedAt: string;
  childStartedAt?: string;
  childEndedAt?: string;
  endedAt: string;
  durationMs: number;
  childDurationMs?: number;
}

/** How the child ended: `code`, or `signal` with `signalNumber`, or (not started) `errno` or nothing. Never two of them. */
export interface ExitDocument {
  started: boolean;
  code?: number;
  signal?: string;
  signalNumber?: number;
  errno?: string;
}

export interface SnapshotDocument {
  /** SHA-256 of the root tree object. */
  tree: Digest;
  /** The root directory's own metadata. */
  root: { mode: string; uid: number; gid: number };
  entries: number;
  files: number;
  /** Sum of the sizes of all files. */
  bytes: number;
}

export interface CoverageDocument {
  /** True when nothing is unobserved on either side. */
  complete: boolean;
  unobserved: {
    before: UnobservedDocument[];
    after: UnobservedDocument[];
    beforeTotal: number;
    afterTotal: number;
  };
  lowered: LoweredDocument[];
  /** Places of the after-snapshot that are not in `lowered`: of what the run left there, content was not kept. There when there are any. */
  loweredAfter?: LoweredDocument[];
  storeInsideWorkspace: boolean;
  /** Links that lead out of the workspace, before or after: what lies behind them is not observed. There when there are any. */
  outward?: { total: number; paths: JsonPath[] };
  /** There when the root directory was not at its path at the end: removed, or moved, or out of sight. */
  root?: 'removed' | 'not-at-its-path';
}

export interface UnobservedDocument extends JsonPath {
  reason: UnobservedReason;
}

export interface LoweredDocument extends JsonPath {
  level: CaptureLevel;
  rule: string;
  /** What the policy says to it; a limit speaks for itself. */
  reason?: string;
  /** Absent at level `none`: nobody looked. */
  files?: number;
  bytes?: number;
}

export interface ChangeCounts {
  created: number;
  deleted: number;
  modified: number;
}

/** The facts; the words for them come from `wordReversibility` alone, so a capsule cannot claim more than it says here. */
interface ReversibilityDocument {
  tier: ReversibilityTier;
  recoverable: number;
  /** Ordered by reason, each reason once, no zero counts. */
  notRecoverable: { reason: NotRecoverableReason; count: number }[];
  /** Changed files that had, or have, several names; there when there are any. The first capsules do not say it. */
  linked?: number;
}

/** One line of `changes.jsonl`. */
export interface ChangeDocument extends JsonPath {
  before?: StateDocument;
  after?: StateDocument;
  level: CaptureLevel;
  decision: Decision;
  rule: string;
  recoverable: boolean;
  /** There exactly when `recoverable` is false. */
  reason?: NotRecoverableReason;
}

/** One side of a change. At most one of `digest`, `identity`, `device`, `unknown`; none for a fifo or a socket. */
export interface StateDocument {
  kind: EntryKind;
  /** Four octal digits. */
  mode: string;
  uid: number;
  gid: number;
  size: number;
  digest?: Digest;
  identity?: string;
  device?: string;
  unknown?: { reason: UnobservedReason; identity?: string };
  /** For information, never compared. */
  info?: { mtimeNs: string; nlink: number; inode: string };
}

interface ChangeVerdict {
  readonly level: CaptureLevel;
  readonly decision: Decision;
  readonly rule: string;
  readonly recoverable: boolean;
  /** There exactly when `recoverable` is false. */
  readonly reason?: NotRecoverableReason;
}

/** A change with what the run decided about it: the in-memory form of one line of `changes.jsonl`. */
export interface ChangeRecord extends Change, ChangeVerdict {}

/** What one event says; `run-started` is always the first and `sealing` the last, both written by the writer itself. */
export type EventBody =
  | { type: 'run-started'; runId: RunId; pid: number }
  | { type: 'snapshot-taken'; which: 'before' | 'after'; tree: Digest; durationMs: number }
  | { type: 'launch-decided'; decision: Decision; rule: string }
  | { type: 'child-started'; pid: number }
  | { type: 'signal-received'; signal: string }
  | { type: 'signal-passed'; signal: string; pid: number }
  | { type: 'child-ended'; code?: number; signal?: string }
  | { type: 'launch-failed'; errno: string }
  | { type: 'plan-made'; digest: Digest; transitions: number }
  | { type: 'consent-given'; by: 'terminal' | 'yes' | 'approval' }
  | ({ type: 'recover-step'; result: StepResult; reason?: string } & JsonPath)
  | { type: 'sealing'; by: 'run' | 'seal' };

type StepResult = 'restored' | 'removed' | 'already-right' | 'refused';

/** One line of `events.jsonl`: `prev` is the SHA-256 of the line before, without its newline. */
export type EventDocument = EventBody & { seq: number; at: string; prev: string };

/** What `writeChanges` counted while it wrote. */
export interface ChangeTotals {
  readonly counts: ChangeCounts;
  readonly recoverable: number;
  readonly notRecoverable: { reason: NotRecoverableReason; count: number }[];
  /** Changed files that had, or have, several names. */
  readonly linked: number;
  readonly decisions: Readonly<Record<Decision, number>>;
}
