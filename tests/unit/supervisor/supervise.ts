import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll } from 'vitest';
import type { ChildResult, SupervisorEvent } from '../../../src/supervisor/index.ts';
import { removeAll, temporaryDir } from '../../support/temporary.ts';

export const children = fileURLToPath(new URL('../../fixtures/children/', import.meta.url));

/**
 * The file of the driver, made before the tests of the calling file and removed after them. The launching process has to be one of its own:
 * signals, terminals and streams are a process's, not a test's.
 */
export function useDriver(): () => string {
  let directory = '';
  let driver = '';
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'agentdiff-driver-'));
    driver = await bundleDriver(directory);
  });
  afterAll(() => removeAll(directory));
  return () => driver;
}

async function bundleDriver(directory: string): Promise<string> {
  const outfile = join(directory, 'supervise.mjs');
  await build({
    entryPoints: [join(children, 'supervise.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: {
      js: "import { createRequire as r } from 'node:module'; const require = r(import.meta.url);",
    },
    logLevel: 'warning',
  });
  return outfile;
}

/** Ends what hangs; nothing that works takes nearly as long. */
const PATIENCE_MS = 60_000;

export interface Asked {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly terminal?: boolean;
  /** The working directory of the permit; the driver's own is always the root. */
  readonly cwd?: string;
  readonly input?: string | Buffer;
  /** After the child ended, the driver stops until {@link Driven.goOn}: its thread, or only its own course. Then it releases the signals. */
  readonly pause?: 'blocked' | 'waiting';
  /** How long it lives on after the release. */
  readonly idleMs?: number;
  /** The type of event at which the driver's listener throws. */
  readonly failing?: SupervisorEvent['type'];
}

export interface Report {
  readonly result: Pick<ChildResult, 'end' | 'pid' | 'received'>;
  readonly events: readonly SupervisorEvent[];
  readonly pid: number;
}

/** The command line that starts the driver, and the file in which it reports. */
export function driverCommand(driver: string, asked: Asked): { command: string[]; reportFile: string } {
  const { argv, cwd = '/', env, failing, terminal = false, pause, idleMs = 0 } = asked;
  const reportFile = join(temporaryDir(), 'report.json');
  const askedFile = `${reportFile}.asked`;
  const options = { argv, cwd, env, failing, terminal, pause, idleMs, report: reportFile };
  writeFileSync(askedFile, JSON.stringify(options));
  return { command: [process.execPath, driver, askedFile], reportFile };
}

export function readReport(file: string): Report {
  return JSON.parse(readFileSync(file, 'utf8')) as Report;
}

/** The driver as a running process. */
export class Driven {
  readonly process: ChildProcess;
  readonly #reportFile: string;
  #output = '';
  #errors = '';

  /** @param wrap what is put before the driver's command line */
  constructor(driver: string, asked: Asked, wrap: (argv: string[]) => string[] = (argv) => argv) {
    const { command: inner, reportFile } = driverCommand(driver, asked);
    this.#reportFile = reportFile;
    const [command = '', ...args] = wrap(inner);
    this.process = spawn(command, args, { cwd: '/', stdio: 'pipe' });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    this.process.stdin?.on('error', () => {});
    if (asked.terminal !== true) this.process.stdin?.end(asked.input ?? '');
  }

  get output(): string {
    return this.#output;
  }

  /** How the driver itself ended. */
  async ended(): Promise<{ code: number | null; signal: string | null }> {
    const { exitCode, signalCode } = this.process;
    if (exitCode !== null || signalCode !== null) return { code: exitCode, signal: signalCode };
    return new Promise((resolve) => {
      this.process.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  async report(): Promise<Report> {
    const { code, signal } = await this.ended();
    if (!existsSync(this.#reportFile)) throw new Error(`no report: ${code ?? signal}\n${this.#errors}`);
    return readReport(this.#reportFile);
  }

  async untilOutput(text: string): Promise<void> {
    await until(() => this.#output.includes(text), `output ${text}`);
  }

  /** The child ended; the driver was told of a signal; the signals are released. */
  async untilPhase(phase: 'ended' | 'received' | 'released'): Promise<void> {
    await until(() => existsSync(`${this.#reportFile}.${phase}`), phase);
  }

  /** Ends the pause that was asked for. */
  goOn(): void {
    writeFileSync(`${this.#reportFile}.go-on`, '');
  }
}

async function until(holds: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`waited in vain for: ${what}`);
}
