/** Launches one permitted child and outlives its signals. The only user of node:child_process. */
export {
  type ChildEnd,
  type ChildResult,
  launch,
  type LaunchOptions,
  type ReceivedSignal,
  type Supervision,
  type SupervisorEvent,
} from './launch.ts';
export { probe, type ProbeResult } from './probe.ts';
export { SYNC_ARGV, syncFileSystem } from './sync-file-system.ts';
export { holdSignals } from './signals.ts';
