/** Pure: no I/O, no clock. Reading documents is in `parse.ts` and `file.ts`, which load zod and yaml: a run with the built-in policy needs neither. */
export { captureLevels } from './capture.ts';
export {
  type Capability,
  type CaptureRule,
  type Decided,
  type Decision,
  type LimitName,
  type PathRule,
  type Policy,
  policyDigest,
  type PolicyLimits,
} from './document.ts';
export {
  decideLaunch,
  isLaunchPermit,
  type LaunchDecision,
  type LaunchPermit,
  type LaunchRequest,
  type PermittedLaunch,
} from './launch.ts';
export { type Ending, type Outcome, outcomeOf } from './outcome.ts';
export { changeDecisions, worstOf } from './paths.ts';
export {
  builtInPolicy,
  type CaptureFlag,
  type FilePolicy,
  type PolicyFlags,
  type PolicySource,
  resolvePolicy,
} from './resolve.ts';
