import type { ErrorCode } from './errors.ts';

/** What a status means for every command but `run` (docs/exit-codes.md). */
export const EXIT = { done: 0, findings: 1, usage: 2, partly: 3, refused: 4, internal: 125 } as const;

/** What a status means for `run`; any other status is the child's own, or 128 + n when signal n killed it. */
export const RUN_EXIT = { outcome: 3, failed: 125 } as const;

/** The one table from error code to exit status: for `run`, and for every other command. */
const EXIT_STATUS: Record<ErrorCode, readonly [run: number, other: number]> = {
  USAGE: [125, 2],
  PLATFORM_UNSUPPORTED: [125, 4],
  INPUT_NOT_UTF8: [125, 2],
  CWD_MISSING: [125, 4],
  ROOT_UNREADABLE: [125, 4],
  ROOT_REFUSED: [125, 4],
  ROOT_REPLACED: [125, 4],
  STORE_UNWRITABLE: [125, 4],
  STORE_NOT_OWNED: [125, 4],
  STORE_VERSION: [125, 4],
  STORE_FULL: [125, 4],
  STORE_DAMAGED: [125, 4],
  STORE_BUSY: [125, 4],
  OBJECT_MISSING: [125, 4],
  OBJECT_DAMAGED: [125, 4],
  SNAPSHOT_FAILED: [125, 4],
  POLICY_INVALID: [125, 4],
  POLICY_UNSUPPORTED: [125, 4],
  COMMAND_BLOCKED: [126, 4],
  COMMAND_NOT_FOUND: [127, 4],
  COMMAND_NOT_EXECUTABLE: [126, 4],
  LAUNCH_FAILED: [125, 4],
  SEAL_FAILED: [125, 4],
  RUN_UNKNOWN: [125, 2],
  RUN_AMBIGUOUS: [125, 2],
  RUN_UNSEALED: [125, 4],
  RUN_ACTIVE: [125, 4],
  CAPSULE_NOT_FOUND: [125, 2],
  CAPSULE_DAMAGED: [125, 4],
  CAPSULE_INVALID: [125, 4],
  CAPSULE_VERSION: [125, 4],
  PATH_INVALID: [125, 2],
  PATH_NOT_IN_RUN: [125, 2],
  NOT_APPROVED: [125, 4],
  SPACE_SHORT: [125, 4],
  /** Of SIGINT; another signal n gives 128 + n. */
  INTERRUPTED: [130, 130],
  OUTPUT_UNWRITABLE: [125, 4],
  INTERNAL: [125, 125],
};

/** The exit status for an error that ended `command` (the subcommand's name). */
export function exitStatusOf(code: ErrorCode, command: string): number {
  return EXIT_STATUS[code][command === 'run' ? 0 : 1];
}
