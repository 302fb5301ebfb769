import { AgentdiffError, type ByteString, type ErrorCode, errnoOf, lossyText } from '../core/index.ts';

const FULL: readonly string[] = ['ENOSPC', 'EDQUOT'];
const HINT = 'name another place with --store or AGENTDIFF_STORE';

/** Runs `action`; a failed system call becomes STORE_FULL or STORE_UNWRITABLE and names the store. Other errors come through. */
export function writing<T>(base: ByteString, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw writeFailure(base, error);
  }
}

function writeFailure(base: ByteString, error: unknown): unknown {
  const errno = systemErrno(error);
  if (errno === undefined) return error;
  const store = lossyText(base);
  const [code, what]: [ErrorCode, string] = FULL.includes(errno)
    ? ['STORE_FULL', 'no space in the store']
    : ['STORE_UNWRITABLE', 'the store cannot be written'];
  return new AgentdiffError(code, `${what}: ${store} (${errno})`, {
    hint: code === 'STORE_FULL' ? `free some space, or ${HINT}` : HINT,
    data: { store, errno },
    cause: error,
  });
}

/** Runs `action`; a failed system call means that the store is not as it was written. */
export function reading<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    const errno = systemErrno(cause);
    if (errno === undefined) throw cause;
    throw new AgentdiffError('STORE_DAMAGED', `the store cannot be read: ${what} (${errno})`, {
      data: { what, errno },
      cause,
    });
  }
}

/** Our own errors carry a `code` too. */
function systemErrno(error: unknown): string | undefined {
  return error instanceof AgentdiffError ? undefined : errnoOf(error);
}
