/** Writing the store. Reading it is in `index.ts`, which cannot reach this file. */
export type { ObjectBatch } from './batch.ts';
export type { Retention } from './retention/retention.ts';
export type { PendingRun } from './run.ts';
export { openWorkspaceForWriting, type WritableWorkspace } from './writable.ts';
