import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { constants } from 'node:os';
import { AgentdiffError, errnoOf, invariant, isMarked } from '../core/index.ts';
import type { LaunchPermit, PermittedLaunch } from '../policy/index.ts';
import { type ReceivedSignal, SignalRelay } from './signals.ts';

export type { ReceivedSignal } from './signals.ts';

/**
 * How the child ended. `not-started` carries the system's error name: ENOENT (no such command, or its interpreter is missing),
 * EACCES (not executable, or a directory), E2BIG and so on.
 *
 * Node names no real-time signal (34 and up) and reports a child killed by one as exited with 0; nothing here can tell them apart.
 */
export type ChildEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string; readonly number: number }
  | { readonly kind: 'not-started'; readonly errno: string };

export interface ChildResult {
  readonly end: ChildEnd;
  /** Absent when the child was not started. */
  readonly pid?: number;
  /** Nanoseconds by the clock of the options. */
  readonly startedAtNs: bigint;
  readonly endedAtNs: bigint;
  /** Signals that came to this process while the child ran, in order. */
  readonly received: readonly ReceivedSignal[];
}

/** What the supervisor saw and did, in the words of the capsule's events. */
export type SupervisorEvent =
  | { readonly type: 'child-started'; readonly pid: number }
  | { readonly type: 'launch-failed'; readonly errno: string }
  | { readonly type: 'signal-received'; readonly signal: string }
  | { readonly type: 'signal-passed'; readonly signal: string; readonly pid: number }
  | { readonly type: 'child-ended'; readonly code?: number; readonly signal?: string };

export interface LaunchOptions {
  /** The policy's `isLaunchPermit`. */
  readonly isPermit: (value: unknown) => value is LaunchPermit;
  /** The child's whole environment; its PATH is the one in which the command is looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Has this process a controlling terminal (`/dev/tty` can be opened)? Not the same as: is stdin a terminal. */
  readonly terminal: boolean;
  /** Nanoseconds of a clock that never goes back. */
  readonly now: () => bigint;
  /** Called as it happens, until {@link Supervision.release}. What it throws while the child runs is thrown by `ended`, after the child. */
  readonly onEvent: (event: SupervisorEvent) => void;
}

/** A launch under way. */
export interface Supervision {
  /** @throws LAUNCH_FAILED for an end that has no other name, and what `onEvent` threw */
  readonly ended: Promise<ChildResult>;
  /** Gives signals their usual effect on this process again. For when the run is sealed: until then they do not end it. */
  readonly release: () => void;
}

/**
 * Starts what the permit allows and nothing else: this argv, without a shell of ours, in this directory, with our own stdin, stdout and
 * stderr, of which not a byte is read or written here.
 *
 * With a terminal the child stays in our process group, where Ctrl-C, Ctrl-Z and the window size reach it; a SIGINT or SIGQUIT to us
 * counts as typed and is not sent on. Without one it leads a session of its own, and signals to us are sent to its group.
 * @throws INTERNAL when `permit` is not one of the policy's, INPUT_NOT_UTF8 for the working directory; nothing was started then
 */
export function launch(permit: LaunchPermit, options: LaunchOptions): Supervision {
  invariant(options.isPermit(permit), 'a launch needs a permit of the policy');
  const { cwd } = permit.launch;
  if (isMarked(cwd))
    throw new AgentdiffError('INPUT_NOT_UTF8', 'the working directory has a name that is not UTF-8');
  const journal = new Journal(options.onEvent);
  const relay = new SignalRelay(options.terminal, (received, pid) => journal.signal(received, pid));
  return { ended: supervise(permit.launch, options, relay, journal), release: () => relay.release() };
}

/** Up to its first `await` this runs at once: the relay knows the child before any signal can be seen. */
async function supervise(
  { argv, cwd }: PermittedLaunch,
  { env, terminal, now }: LaunchOptions,
  relay: SignalRelay,
  journal: Journal,
): Promise<ChildResult> {
  const [command, ...args] = argv;
  const startedAtNs = now();
  let endedAtNs = startedAtNs;
  let received: readonly ReceivedSignal[] = [];
  const child = start(command, args, { stdio: 'inherit', cwd, env, detached: !terminal });
  child.process?.once('exit', () => {
    endedAtNs = now();
    relay.detach();
    received = [...journal.received];
  });
  const pid = child.process?.pid;
  if (pid !== undefined) {
    relay.attach(pid);
    journal.tell({ type: 'child-started', pid });
  }
  const end = await child.end;
  journal.tell(endEvent(end));
  journal.rethrow();
  return { end, ...(pid !== undefined && { pid }), startedAtNs, endedAtNs, received };
}

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Started {
  /** Absent when the system refused at once. It may refuse later too: then the process has no pid. */
  readonly process?: ChildProcess;
  /** @throws LAUNCH_FAILED */
  readonly end: Promise<ChildEnd>;
}

/** Node tells some refusals by throwing and the others by an event; here each is an end. */
function start(command: string, args: readonly string[], options: SpawnOptions): Started {
  // What execvp says of the empty name; Node does not let it be tried.
  if (command === '') return { end: Promise.resolve({ kind: 'not-started', errno: 'ENOENT' }) };
  try {
    const process = spawn(command, args, options);
    const exit = new Promise<Exit>((resolve, reject) => {
      process.once('error', reject);
      process.once('exit', (code, signal) => resolve({ code, signal }));
    });
    return { process, end: endOf(exit) };
  } catch (cause) {
    return { end: endOf(Promise.reject(cause)) };
  }
}

async function endOf(exit: Promise<Exit>): Promise<ChildEnd> {
  try {
    const { code, signal } = await exit;
    if (signal !== null) return { kind: 'signalled', signal, number: constants.signals[signal] };
    invariant(code !== null, 'a child ends with a code or by a signal');
    return { kind: 'exited', code };
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno !== undefined && Object.hasOwn(constants.errno, errno)) return { kind: 'not-started', errno };
    throw new AgentdiffError('LAUNCH_FAILED', 'the command could not be launched', { cause });
  }
}

function endEvent(end: ChildEnd): SupervisorEvent {
  switch (end.kind) {
    case 'not-started':
      return { type: 'launch-failed', errno: end.errno };
    case 'signalled':
      return { type: 'child-ended', signal: end.signal };
    case 'exited':
      return { type: 'child-ended', code: end.code };
  }
}

/** Tells the events. A listener that fails must not leave a child unattended: its error waits until the child ended. */
class Journal {
  readonly received: ReceivedSignal[] = [];
  readonly #onEvent: (event: SupervisorEvent) => void;
  #failure: { readonly error: unknown } | undefined;

  constructor(onEvent: (event: SupervisorEvent) => void) {
    this.#onEvent = onEvent;
  }

  signal(received: ReceivedSignal, pid: number | undefined): void {
    this.received.push(received);
    this.tell({ type: 'signal-received', signal: received.signal });
    if (received.passed && pid !== undefined)
      this.tell({ type: 'signal-passed', signal: received.signal, pid });
  }

  tell(event: SupervisorEvent): void {
    try {
      this.#onEvent(event);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
