import { constants } from 'node:os';
import { errnoOf } from '../core/index.ts';

/** A signal that came to this process, and whether it was passed on to the child. */
export interface ReceivedSignal {
  readonly signal: string;
  readonly number: number;
  readonly passed: boolean;
}

/**
 * The signals that would end this process before the run is sealed. SIGUSR1 would instead make Node listen for a debugger.
 * SIGPIPE is ignored by Node already; SIGTSTP, SIGCONT and SIGWINCH keep their usual effect.
 */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'];

/** A terminal sends these to the whole foreground group, and so to the child itself. */
const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];

/** Catches the signals sent to this process from its making until {@link release}, and passes them on while there is a child. */
export class SignalRelay {
  readonly #terminal: boolean;
  readonly #onReceived: (received: ReceivedSignal, pid: number | undefined) => void;
  readonly #listener = (signal: NodeJS.Signals): void => this.#receive(signal);
  #pid: number | undefined;

  constructor(terminal: boolean, onReceived: (received: ReceivedSignal, pid: number | undefined) => void) {
    this.#terminal = terminal;
    this.#onReceived = onReceived;
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /** From now on signals are passed on to `pid`. */
  attach(pid: number): void {
    this.#pid = pid;
  }

  /** The child was waited for: its pid may belong to another process any moment. */
  detach(): void {
    this.#pid = undefined;
  }

  release(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }

  #receive(signal: NodeJS.Signals): void {
    const passed = this.#passOn(signal);
    this.#onReceived({ signal, number: constants.signals[signal], passed }, this.#pid);
  }

  #passOn(signal: NodeJS.Signals): boolean {
    if (this.#pid === undefined) return false;
    if (this.#terminal) return !FROM_TERMINAL.includes(signal) && send(this.#pid, signal);
    // A group with the child's number exists only if it did become the leader of its own session.
    return send(-this.#pid, signal) || send(this.#pid, signal);
  }
}

/**
 * Keeps this process alive through the signals that a {@link SignalRelay} catches, for work that must not end halfway.
 * @returns gives them their usual effect again; what came meanwhile is dropped
 */
export function holdSignals(): () => void {
  const relay = new SignalRelay(true, () => {});
  return () => relay.release();
}

/** False when there is nobody to get it, or it may not be sent (a child that changed its user). */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (errnoOf(error) === 'ESRCH' || errnoOf(error) === 'EPERM') return false;
    throw error;
  }
}
