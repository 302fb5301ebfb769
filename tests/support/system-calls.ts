import { constants } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';

/** Calls of `node:fs` that change something on the disk; opening counts where it can, see {@link changesDisk}. */
export const WRITING = [
  'openSync',
  'writeSync',
  'fsyncSync',
  'renameSync',
  'copyFileSync',
  'linkSync',
  'mkdirSync',
  'unlinkSync',
  'rmdirSync',
  'symlinkSync',
  'fchmodSync',
  'chmodSync',
  'ftruncateSync',
  'futimesSync',
  'lutimesSync',
] as const;

/** Calls that only look, and closing. */
export const READING = [
  'lstatSync',
  'fstatSync',
  'readSync',
  'readdirSync',
  'opendirSync',
  'readlinkSync',
  'closeSync',
] as const;

export type WritingCall = (typeof WRITING)[number];
type Call = WritingCall | (typeof READING)[number];

// Also in a program that is loaded from a `data:` URL, which cannot require by its own address.
const fs: Record<string, unknown> = createRequire('/')('node:fs');
const { O_CREAT, O_WRONLY, O_RDWR } = constants;

/** Opening for reading changes nothing. */
export function changesDisk(name: Call, flags: unknown): boolean {
  return name !== 'openSync' || (Number(flags) & (O_CREAT | O_WRONLY | O_RDWR)) !== 0;
}

/** Makes every later call of these names in this process ask `before` first, which may throw; until the answer is called. */
export function wrapCalls<N extends Call>(
  names: readonly N[],
  before: (name: N, args: readonly unknown[]) => void,
): () => void {
  const originals = names.map((name) => [name, fs[name] as (...args: unknown[]) => unknown] as const);
  for (const [name, original] of originals) {
    fs[name] = (...args: unknown[]): unknown => {
      before(name, args);
      return original(...args);
    };
  }
  syncBuiltinESMExports();
  return () => {
    for (const [name, original] of originals) fs[name] = original;
    syncBuiltinESMExports();
  };
}
