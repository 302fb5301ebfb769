/** Reading the store: never writes, takes no lock, works on a read-only store. Everything that writes is in `write.ts`. */
export { capsulePath, storeOfCapsule } from './capsule-path.ts';
export { type Workspace, workspaceId } from './layout.ts';
export { type ObjectReader } from './objects.ts';
export { IndexBuilder } from './stat-index/builder.ts';
export { type Columns, CONTENT, DIGEST_BYTES, DIR_FLAG, FLAG, LEVEL_SHIFT } from './stat-index/columns.ts';
export {
  type IndexNotes,
  type IndexRecord,
  RACY_NS,
  StatIndex,
  statIdentity,
} from './stat-index/stat-index.ts';
export { Store, WorkspaceStore } from './store.ts';
export { DigestSet } from './retention/digest-set.ts';
export { MANY_PACKS, NOTHING_TO_SWEEP, type SweepPlan } from './retention/plan-sweep.ts';
export type { RunCost, Size, StoreUsage } from './retention/usage.ts';
