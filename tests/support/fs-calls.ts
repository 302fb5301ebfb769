import * as fs from 'node:fs';
import { onTestFinished } from 'vitest';
import { changesDisk, wrapCalls, WRITING, type WritingCall } from './system-calls.ts';

/** One call that is about to happen. */
export interface FsCall {
  readonly name: WritingCall;
  /** What it changes: a path, or the path behind a descriptor. */
  readonly target: string;
}

/** Makes every later writing call of this process ask `before` first, which may throw; until the test ends or the answer is called. */
export function interceptWrites(before: (call: FsCall) => void): () => void {
  const restore = wrapCalls(WRITING, (name, args) => {
    if (changesDisk(name, args[1]))
      before({ name, target: targetOf(name === 'copyFileSync' ? args[1] : args[0]) });
  });
  onTestFinished(restore);
  return restore;
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
