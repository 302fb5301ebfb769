/** Pure: no I/O, no clock. Reading a policy document is in `parse.ts`, the only part that loads zod: a run with the built-in policy needs none. */
export { captureLevels } from './capture.ts';
export {
  builtInPolicy,
  type Capability,
  type CaptureFlag,
  type CaptureRule,
  type Decided,
  type Decision,
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
