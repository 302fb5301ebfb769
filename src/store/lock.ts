import {
  AgentdiffError,
  type ByteString,
  canonicalJson,
  lossyText,
  type Name,
  randomHex,
} from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { createFile, removeQuietly, rename, setModified, temporaryName } from '../fs/write.ts';
import { writing } from './failures.ts';
import { isLockName, lockName, MODE } from './layout.ts';
import { ownerState, ownIdentity, readOwner } from './owner.ts';

/** What only one process at a time may do with a workspace's part of the store. */
export type Exclusive = 'gc' | 'recover' | 'pin';

/** Who works on the workspace alone. */
export interface Holder {
  readonly operation: string;
  readonly pid: number;
  /** ISO 8601, as the holder wrote it; empty when that cannot be read. */
  readonly since: string;
  /** It lives for sure; else it cannot be told, and it counts until {@link UNKNOWN_MS} after its last sign. */
  readonly surely: boolean;
}

/**
 * A holder of which nobody can tell whether it lives (another boot, pid namespace or machine) counts for ten minutes after its last sign: gc gives
 * one with every step. A stamp from the future counts no longer.
 */
export const UNKNOWN_MS = 10 * 60 * 1000;

/** A contender that finds another backs off and comes back this often: two that meet must not both give up. */
const ATTEMPTS = 12;
const PAUSE_MS = 25;

/**
 * A lock without a thing that could be taken over: every contender shows a file of its own, whole from the first moment, and then looks for
 * others. Of two, at least the one that looks last sees the other and backs off, so never do both go on. A dead one's file is nobody's.
 */
export class Lock {
  readonly #workspace: Dir;
  readonly #name: Name;

  private constructor(workspace: Dir, name: Name) {
    this.#workspace = workspace;
    this.#name = name;
  }

  /**
   * @param now milliseconds since the epoch
   * @throws STORE_BUSY naming the one that has it
   */
  static take(base: ByteString, workspace: Dir, operation: Exclusive, now: number): Lock {
    for (let attempt = 1; ; attempt++) {
      const name = writing(base, () => show(workspace, operation, now));
      const holder = writing(base, () => livingHolder(workspace, now, name));
      if (holder === undefined) return new Lock(workspace, name);
      removeQuietly(workspace, name);
      if (attempt === ATTEMPTS) throw busy(base, holder);
      pause(PAUSE_MS * Math.random());
    }
  }

  get name(): Name {
    return this.#name;
  }

  /** A sign of life, for those who cannot see the process. @param now milliseconds since the epoch */
  touch(now: number): void {
    setModified(this.#workspace, this.#name, BigInt(now) * 1_000_000n);
  }

  release(): void {
    removeQuietly(this.#workspace, this.#name);
  }
}

function show(workspace: Dir, operation: Exclusive, now: number): Name {
  const temporary = temporaryName();
  const file = createFile(workspace, temporary, MODE.file);
  try {
    file.write(
      Buffer.from(`${canonicalJson({ ...ownIdentity(), operation, since: new Date(now).toISOString() })}\n`),
    );
  } finally {
    file.close();
  }
  const name = lockName(randomHex(8));
  rename(workspace, temporary, workspace, name);
  return name;
}

/**
 * Another process that has, or is about to take, the workspace for itself.
 * @param now milliseconds since the epoch
 * @param own the caller's own lock
 */
function livingHolder(workspace: Dir, now: number, own?: Name): Holder | undefined {
  for (const name of workspace.names()) {
    if (!isLockName(name) || name === own) continue;
    const seen = workspace.tryLstat(name);
    const owner = readOwner(workspace, name);
    if (seen === undefined) continue;
    const state = ownerState(owner);
    const silentMs = Math.abs(now - Number(seen.mtimeNs / 1_000_000n));
    if (state === 'dead' || (state === 'unknown' && silentMs > UNKNOWN_MS)) continue;
    const { operation, since }: Readonly<Record<string, unknown>> = owner ?? {};
    return {
      operation: typeof operation === 'string' ? operation : 'another operation',
      pid: owner?.pid ?? 0,
      since: typeof since === 'string' ? since : '',
      surely: state === 'alive',
    };
  }
  return undefined;
}

/** How long a run that begins waits for one that works on the workspace alone. */
const WAITS = 200;
const WAIT_MS = 50;

/**
 * Waits up to ten seconds until no other process has the workspace for itself.
 * @throws STORE_BUSY
 */
export function awaitNoHolder(base: ByteString, workspace: Dir, now: number, own?: Name): void {
  for (let waited = 0; ; waited++) {
    const holder = livingHolder(workspace, now, own);
    if (holder === undefined) return;
    if (waited === WAITS) throw busy(base, holder);
    pause(WAIT_MS);
  }
}

function busy(base: ByteString, { operation, pid, since, surely }: Holder): AgentdiffError {
  const whose = surely ? `process ${pid}` : `process ${pid} of another boot, machine or pid namespace`;
  return new AgentdiffError(
    'STORE_BUSY',
    `${operation} works on this workspace in the store ${lossyText(base)}: ${whose}, since ${since || 'an unknown time'}`,
    {
      hint: surely
        ? 'wait until it has ended, then try again'
        : `wait until it has ended; it counts for ${UNKNOWN_MS / 60_000} minutes after its last sign of life`,
      data: { operation, pid, since, alive: surely },
    },
  );
}

/** Blocks this thread; nothing else of ours is at work while it waits for another process. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
