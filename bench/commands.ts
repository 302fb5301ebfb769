import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { performance } from 'node:perf_hooks';

/** The benchmark cannot go on; the message is for people. */
export class BenchError extends Error {}

export interface Call {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Ended {
  /** From before the start of the process to its end, milliseconds. */
  readonly ms: number;
  readonly stdout: string;
}

const TIME = '/usr/bin/time';

/** Starts commands, one at a time, with an environment of their own, and ends the one at hand when the benchmark is interrupted. */
export class Commands {
  readonly #env: Readonly<Record<string, string>>;
  readonly #scratch: string;
  readonly #interrupted: AbortSignal;

  /** @param scratch a directory for small files of this class */
  constructor(env: Readonly<Record<string, string>>, scratch: string, interrupted: AbortSignal) {
    this.#env = env;
    this.#scratch = scratch;
    this.#interrupted = interrupted;
  }

  /** Milliseconds that a command takes. @throws BenchError unless it ends with status 0 */
  async ms(argv: readonly string[], call: Call): Promise<number> {
    return (await this.#start(argv, call, 'ignore')).ms;
  }

  /** What a command prints. */
  async output(argv: readonly string[], call: Call): Promise<string> {
    return (await this.#start(argv, call, 'pipe')).stdout;
  }

  /** The largest resident set of a command, in MB (10^6 bytes): of the largest of its processes, or, without GNU time, of the first one. */
  async peakMb(argv: readonly string[], call: Call): Promise<number> {
    if (!fs.existsSync(TIME)) return this.#polledPeakMb(argv, call);
    const file = path.join(this.#scratch, 'peak');
    await this.#start([TIME, '-f', '%M', '-o', file, ...argv], call, 'ignore');
    return (Number(fs.readFileSync(file, 'utf8').trim().split('\n').at(-1)) * 1024) / 1e6;
  }

  async #polledPeakMb(argv: readonly string[], call: Call): Promise<number> {
    let peakKb = 0;
    let timer: NodeJS.Timeout | undefined;
    const watch = ({ pid }: ChildProcess): void => {
      timer = setInterval(() => {
        const status = readIfThere(`/proc/${pid}/status`);
        peakKb = Math.max(peakKb, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
      }, 5);
    };
    await this.#start(argv, call, 'ignore', watch).finally(() => clearInterval(timer));
    return (peakKb * 1024) / 1e6;
  }

  #start(
    [file = '', ...args]: readonly string[],
    { cwd, env }: Call,
    stdout: 'ignore' | 'pipe',
    started: (child: ChildProcess) => void = () => undefined,
  ): Promise<Ended> {
    this.#interrupted.throwIfAborted();
    return new Promise((resolve, reject) => {
      const begin = performance.now();
      const child = spawn(file, args, {
        cwd,
        env: { ...this.#env, ...env },
        stdio: ['ignore', stdout, 'pipe'],
      });
      let [out, errors, ms] = ['', '', 0];
      const stop = (): unknown => child.kill('SIGTERM');
      this.#interrupted.addEventListener('abort', stop, { once: true });
      child.stdout?.on('data', (piece: Buffer) => (out += piece.toString('utf8')));
      child.stderr?.on('data', (piece: Buffer) => (errors = (errors + piece.toString('utf8')).slice(-2000)));
      child.on('error', (error) => reject(new BenchError(`${file} cannot be started: ${error.message}`)));
      child.on('exit', () => (ms = performance.now() - begin));
      child.on('close', (status, signal) => {
        this.#interrupted.removeEventListener('abort', stop);
        if (this.#interrupted.aborted) reject(this.#interrupted.reason);
        else if (status === 0) resolve({ ms, stdout: out });
        else
          reject(new BenchError(`${[file, ...args].join(' ')}\n  ended with ${status ?? signal}: ${errors}`));
      });
      started(child);
    });
  }
}

function readIfThere(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
