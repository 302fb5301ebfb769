import { errnoOf, type Name } from '../core/index.ts';
import type { Dir, OpenFile } from '../fs/index.ts';

/** Where one copy of an object lies. */
export interface Place {
  /** File name; unique in the store, so an open file can be used again. */
  readonly name: Name;
  readonly offset: number;
  readonly length: number;
  /** What names this place was compared with its checksum; else the object may be another, or none. */
  readonly isVerified: boolean;
  /** Throws the system's error. */
  readonly open: () => OpenFile | undefined;
}

/** Undefined when it cannot be opened, for whatever reason. */
export function tryOpenFile(dir: Dir, name: Name): OpenFile | undefined {
  try {
    return dir.openFile(name);
  } catch {
    return undefined;
  }
}

/** The subdirectory, or undefined when there is none. */
export function tryOpenDir(dir: Dir, name: Name): Dir | undefined {
  try {
    return dir.openDir(name);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
