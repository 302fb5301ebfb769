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

/** What a process looked at, by paths as latin1 text; a path stands there as often as it was asked. */
export interface Looks {
  /** Files opened, directories not. */
  readonly opened: string[];
  /** Directories whose names were read. */
  readonly listed: string[];
  readonly lstats: string[];
}

/** Writes down every later look of this process below `root`, until the test ends or `stop` is called. */
export function watchLooks(root: string): Looks & { readonly stop: () => void } {
  const looks: Looks = { opened: [], listed: [], lstats: [] };
  const { O_DIRECTORY } = fs.constants;
  const listOf = (name: string, flags: unknown): string[] | undefined => {
    if (name === 'readdirSync' || name === 'opendirSync') return looks.listed;
    if (name === 'lstatSync') return looks.lstats;
    return (Number(flags) & O_DIRECTORY) === 0 ? looks.opened : undefined;
  };
  const stop = wrapCalls(['openSync', 'readdirSync', 'opendirSync', 'lstatSync'], (name, args) => {
    const list = listOf(name, args[1]);
    const at = list && absoluteBytes(args[0]);
    if (at === root) list?.push('');
    else if (at?.startsWith(`${root}/`)) list?.push(at.slice(root.length + 1));
  });
  onTestFinished(stop);
  return { ...looks, stop };
}

function absoluteBytes(argument: unknown): string {
  const text = Buffer.isBuffer(argument)
    ? argument.toString('latin1')
    : Buffer.from(String(argument)).toString('latin1');
  const match = /^(\/proc\/self\/fd\/\d+)([^]*)$/.exec(text);
  if (match?.[1] === undefined) return text;
  return fs.readlinkSync(match[1], { encoding: 'latin1' }) + (match[2] ?? '');
}
