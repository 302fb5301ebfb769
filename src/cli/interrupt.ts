import { constants } from 'node:os';
import { AgentdiffError } from '../core/index.ts';

/** A signal that came before the command was started. */
class Interruption extends AgentdiffError {
  /** 128 + the signal's number, as a shell would see it. */
  readonly exitStatus: number;

  constructor(signal: NodeJS.Signals) {
    super('INTERRUPTED', 'interrupted before the command started; nothing was run', { data: { signal } });
    this.exitStatus = 128 + constants.signals[signal];
  }
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export interface Interrupts {
  /** @throws INTERRUPTED when a signal came since the watch began */
  readonly check: () => Promise<void>;
  /** Gives the signals their usual effect again. */
  readonly release: () => void;
}

/** A scan holds the event loop, so a signal during it is seen by the check behind it, and not before. */
export function watchInterrupts(): Interrupts {
  let seen: NodeJS.Signals | undefined;
  const listener = (signal: NodeJS.Signals): void => void (seen ??= signal);
  for (const signal of SIGNALS) process.on(signal, listener);
  return {
    async check() {
      // Once around the whole loop, wherever in it this begins: what came meanwhile is handed out there.
      for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
      if (seen !== undefined) throw new Interruption(seen);
    },
    release() {
      for (const signal of SIGNALS) process.off(signal, listener);
    },
  };
}
