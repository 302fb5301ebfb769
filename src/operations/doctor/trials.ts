import { errnoOf, fromBytes, type Name } from '../../core/index.ts';
import type { Dir } from '../../fs/index.ts';
import {
  cloneFile,
  createFile,
  ensureDir,
  link,
  makeSymlink,
  removeFile,
  removeTree,
  rename,
  temporaryName,
} from '../../fs/write.ts';

/** What each trial in a scratch directory came to; nothing is left behind. */
export interface Trials {
  readonly anchored: boolean;
  readonly noFollow: boolean;
  readonly clone: boolean;
  /** Smallest step of a file's ctime that was seen, nanoseconds; undefined when none was seen within the attempts. */
  readonly clockStepNs: bigint | undefined;
  readonly byteNames: boolean;
  readonly hardLinks: boolean;
}

/** Gives `use` a scratch directory inside `store` and removes it afterwards. */
export async function withScratch<T>(store: Dir, use: (scratch: Dir, name: Name) => Promise<T>): Promise<T> {
  const name = temporaryName();
  const scratch = ensureDir(store, name);
  try {
    return await use(scratch, name);
  } finally {
    scratch.close();
    removeTree(store, name);
  }
}

export function runTrials(scratch: Dir): Trials {
  return {
    anchored: tryAnchoring(scratch),
    noFollow: tryNoFollow(scratch),
    clone: tryClone(scratch),
    clockStepNs: measureClockStep(scratch),
    byteNames: tryByteNames(scratch),
    hardLinks: tryHardLinks(scratch),
  };
}

const A = 'a' as Name;
const B = 'b' as Name;
const LINK = 'link' as Name;

/** A handle must go on showing its own directory after another one took the name. */
function tryAnchoring(scratch: Dir): boolean {
  if (scratch.anchoring !== 'handle') return false;
  const first = ensureDir(scratch, A);
  try {
    touch(first, A);
    rename(scratch, A, scratch, B);
    ensureDir(scratch, A).close();
    return first.names().length === 1;
  } finally {
    first.close();
    removeTree(scratch, A);
    removeTree(scratch, B);
  }
}

function tryNoFollow(scratch: Dir): boolean {
  touch(scratch, A);
  makeSymlink(A, scratch, LINK);
  try {
    scratch.openFile(LINK).close();
    return false;
  } catch (error) {
    return errnoOf(error) === 'ELOOP';
  } finally {
    removeFile(scratch, LINK);
    removeFile(scratch, A);
  }
}

function tryClone(scratch: Dir): boolean {
  touch(scratch, A);
  const source = scratch.openFile(A);
  try {
    cloneFile(source, scratch, B, 0o600);
    removeFile(scratch, B);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  } finally {
    source.close();
    removeFile(scratch, A);
  }
}

const CLOCK_ATTEMPTS = 5000;

function measureClockStep(scratch: Dir): bigint | undefined {
  const file = createFile(scratch, A, 0o600);
  let smallest: bigint | undefined;
  try {
    let last = file.stat().ctimeNs;
    for (let i = 0; i < CLOCK_ATTEMPTS; i++) {
      file.chmod(i % 2 === 0 ? 0o400 : 0o600);
      const now = file.stat().ctimeNs;
      const step = now - last;
      if (step > 0n && (smallest === undefined || step < smallest)) smallest = step;
      last = now;
    }
  } finally {
    file.close();
    removeFile(scratch, A);
  }
  return smallest;
}

function tryByteNames(scratch: Dir): boolean {
  const name = fromBytes(Buffer.from([0x66, 0xff])) as Name;
  try {
    touch(scratch, name);
    const isListed = scratch.names().includes(name);
    removeFile(scratch, name);
    return isListed;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

function tryHardLinks(scratch: Dir): boolean {
  touch(scratch, A);
  try {
    link(scratch, A, scratch, B);
    removeFile(scratch, B);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  } finally {
    removeFile(scratch, A);
  }
}

function touch(dir: Dir, name: Name): void {
  createFile(dir, name, 0o600).close();
}
