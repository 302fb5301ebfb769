import * as fs from 'node:fs';
import type { Dir } from './dir.ts';

/** Linux's O_PATH: a handle that needs no right to read. */
const O_PATH = 0o10000000;

/**
 * Runs `use` while the process's working directory is `dir`, so that paths relative to it are resolved from the directory itself, whatever its own
 * path is and however long. Threads of the process are there too. What was the working directory is so again when this returns, also if it was moved
 * or removed meanwhile.
 * @param use gets the prefix that paths below `dir` need: nothing, or, where the working directory cannot be changed, the way to the handle
 */
export function inside<T>(dir: Dir, use: (prefix: string) => T): T {
  const before = dir.anchoring === 'handle' ? tryChange(dir) : undefined;
  try {
    return use(before === undefined ? `${dir.place}/` : '');
  } finally {
    if (before !== undefined) {
      process.chdir(`/proc/self/fd/${before}`);
      fs.closeSync(before);
    }
  }
}

/** @returns a handle on the directory that was the working directory before; undefined when it still is */
function tryChange(dir: Dir): number | undefined {
  let before: number | undefined;
  try {
    before = fs.openSync('.', O_PATH | fs.constants.O_DIRECTORY);
    process.chdir(dir.place);
    return before;
  } catch {
    // No right to search one of the two, or a thread, which has no say in this.
    if (before !== undefined) fs.closeSync(before);
    return undefined;
  }
}
