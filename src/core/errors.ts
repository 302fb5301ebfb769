/**
 * Every failure a user can meet has one code from this closed list; `docs/exit-codes.md` documents each.
 * Tests and callers compare codes, never texts.
 */
export type ErrorCode =
  | 'USAGE'
  | 'PLATFORM_UNSUPPORTED'
  | 'INPUT_NOT_UTF8'
  | 'CWD_MISSING'
  | 'ROOT_UNREADABLE'
  | 'ROOT_REFUSED'
  | 'ROOT_REPLACED'
  | 'STORE_UNWRITABLE'
  | 'STORE_NOT_OWNED'
  | 'STORE_VERSION'
  | 'STORE_FULL'
  | 'STORE_DAMAGED'
  | 'STORE_BUSY'
  | 'OBJECT_MISSING'
  | 'OBJECT_DAMAGED'
  | 'SNAPSHOT_FAILED'
  | 'POLICY_INVALID'
  | 'POLICY_UNSUPPORTED'
  | 'COMMAND_BLOCKED'
  | 'COMMAND_NOT_FOUND'
  | 'COMMAND_NOT_EXECUTABLE'
  | 'LAUNCH_FAILED'
  | 'SEAL_FAILED'
  | 'RUN_UNKNOWN'
  | 'RUN_AMBIGUOUS'
  | 'RUN_UNSEALED'
  | 'RUN_ACTIVE'
  | 'CAPSULE_NOT_FOUND'
  | 'CAPSULE_DAMAGED'
  | 'CAPSULE_INVALID'
  | 'CAPSULE_VERSION'
  | 'PATH_INVALID'
  | 'PATH_NOT_IN_RUN'
  | 'NOT_APPROVED'
  | 'SPACE_SHORT'
  | 'INTERRUPTED'
  | 'OUTPUT_UNWRITABLE'
  | 'INTERNAL';

export interface ErrorDetails {
  /** What the reader can do about it; printed as the second line. */
  hint?: string;
  /** Facts for `--json`: paths, expected and found values. Plain JSON values only. */
  data?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}

/** The only error class that is shown to a user without a stack trace. */
export class AgentdiffError extends Error {
  override readonly name = 'AgentdiffError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;

  /** @param message one line: what is wrong and where. Foreign text in it is escaped when it is printed. */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.data = details.data ?? {};
  }
}

/** The `errno` name of a failed system call (`ENOENT`, …), or undefined when `error` is not one. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof AgentdiffError || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Stops on a state that only a bug of ours can reach. */
export function invariant(condition: boolean, what: string): asserts condition {
  if (!condition) throw new AgentdiffError('INTERNAL', `internal error: ${what}`);
}
