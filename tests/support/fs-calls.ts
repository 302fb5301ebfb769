import * as fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

/** Calls of `node:fs` that change something on the disk, opening with O_CREAT included. */
const WRITING = [
  'openSync',
  'writeSync',
  'fsyncSync',
  'renameSync',
  'linkSync',
  'mkdirSync',
  'unlinkSync',
  'rmdirSync',
  'symlinkSync',
  'fchmodSync',
  'chmodSync',
  'ftruncateSync',
] as const;

/** One call that is about to happen. */
export interface FsCall {
  readonly name: (typeof WRITING)[number];
  /** What its first argument leads to: a path, or the path behind a descriptor. */
  readonly target: string;
}

/** Makes every later writing call of this process ask `before` first, which may throw; until the test ends or the answer is called. */
export function interceptWrites(before: (call: FsCall) => void): () => void {
  const real: Record<string, unknown> = createRequire(import.meta.url)('node:fs');
  const originals = WRITING.map((name) => [name, real[name]] as const);
  const restore = (): void => {
    for (const [name, original] of originals) real[name] = original;
    syncBuiltinESMExports();
  };
  for (const [name, original] of originals) {
    if (typeof original !== 'function') continue;
    real[name] = (...args: unknown[]): unknown => {
      if (name !== 'openSync' || opensForWriting(args[1])) before({ name, target: targetOf(args[0]) });
      return original(...args);
    };
  }
  syncBuiltinESMExports();
  onTestFinished(restore);
  return restore;
}

function opensForWriting(flags: unknown): boolean {
  return (
    typeof flags === 'number' &&
    (flags & (fs.constants.O_CREAT | fs.constants.O_WRONLY | fs.constants.O_RDWR)) !== 0
  );
}

/** `/proc/self/fd/N/name` and descriptors say nothing to a reader of a test; the real path does. */
function targetOf(argument: unknown): string {
  const text = typeof argument === 'number' ? `/proc/self/fd/${argument}` : String(argument);
  const match = /^(\/proc\/self\/fd\/\d+)(.*)$/.exec(text);
  if (match?.[1] === undefined) return text;
  return `${fs.readlinkSync(match[1])}${match[2]}`;
}

/** The error of a failed system call, as Node throws it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code, errno: -1, syscall: 'injected' });
}
