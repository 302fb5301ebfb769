import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const BIN = fileURLToPath(new URL('../../bin/agentdiff.js', import.meta.url));
const HOOK = hook();

/** Which calls count: those that change something on the disk, or all that touch it. */
export type CallKind = 'writing' | 'any';

export interface Place {
  readonly ws: string;
  readonly store: string;
  readonly home: string;
}

/** A real agentdiff that kills itself (SIGKILL) before the `at`-th call; its status, or -1 when it was killed. */
export function killed(place: Place, args: readonly string[], kind: CallKind, at: number): number {
  return start(place, args, { DIE_KIND: kind, DIE_AT: String(at) });
}

/** How many calls an undisturbed agentdiff makes. */
export function callsOf(place: Place, args: readonly string[], kind: CallKind): number {
  const report = path.join(place.home, 'calls');
  const status = start(place, args, { DIE_KIND: kind, DIE_REPORT: report });
  if (status !== 0) throw new Error(`the undisturbed command ended with ${status}`);
  return Number(fs.readFileSync(report, 'utf8'));
}

function start(
  { ws, store, home }: Place,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): number {
  const { status, signal, error } = spawnSync(process.execPath, ['--import', HOOK, BIN, ...args], {
    cwd: ws,
    env: { PATH: process.env['PATH'], HOME: home, AGENTDIFF_STORE: store, ...env },
    stdio: 'ignore',
    timeout: 60_000,
  });
  if (error) throw error;
  if (signal !== null && signal !== 'SIGKILL') throw new Error(`ended by ${signal}`);
  return status ?? -1;
}

/** The program that is loaded before agentdiff, as a URL that holds it. */
function hook(): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('../fixtures/die-at.ts', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
  });
  return `data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`;
}

/** `count` numbers below `total`, one from each of as many equal parts; the same ones for the same seed. */
export function sample(total: number, count: number, seed: number): number[] {
  let state = seed;
  // A linear congruential generator is enough to vary the moment.
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  const points = Array.from({ length: count }, (_, i) => Math.floor(((i + random()) * total) / count));
  return [...new Set(points)];
}
