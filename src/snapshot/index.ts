/** Snapshots of a workspace: taking one, comparing two, and comparing one path with a recorded state. */
export { diffSnapshots, type SnapshotRoot, withParticulars } from './diff.ts';
export { type InState, isInState, isRootInState, observe, type Place } from './observe.ts';
export type { CaptureLimits, LevelDecision, LevelRules, ScanOptions, ScanProgress } from './options.ts';
export { type Scanned, scanWorkspace } from './scan.ts';
export { ScanThreads } from './threads.ts';
export type {
  CaptureLevel,
  Change,
  Content,
  Lowering,
  Observed,
  Particulars,
  Snapshot,
  State,
  StatIdentity,
  Unobserved,
  UnobservedReason,
} from './state.ts';
export { leadsOut } from './outward.ts';
export { decodeTree, encodeTree, type TreeEntry } from './tree.ts';
