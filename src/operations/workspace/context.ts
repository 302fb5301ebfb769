import type { ByteString } from '../../core/index.ts';
import type { ScanProgress } from '../../snapshot/index.ts';

/** Structured log of what an operation does, for `--verbose` and `--log-file`; the default keeps nothing. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** Sees one scan as it goes; it holds the event loop, so this is called from inside it. */
export interface ScanWatch {
  progress(seen: ScanProgress): void;
  /** The scan is over, be it with a snapshot or an error. Nothing else is said before. */
  end(): void;
}

/** All that an operation may know of the process it runs in; gathered once by the command line. */
export interface Context {
  readonly toolVersion: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Nanoseconds of a clock that never jumps. */
  readonly monotonic: () => bigint;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: ByteString;
  /** The user's home directory; undefined when there is none. */
  readonly home: ByteString | undefined;
  readonly log: Logger;
  /** The program of the threads that help with large trees, and how many; undefined: one thread does everything. */
  readonly scanThreads?: { readonly program: URL; readonly count: number } | undefined;
  /** Called at the start of each scan of a workspace; undefined where nobody watches. */
  readonly watchScan?: (which: 'before' | 'after') => ScanWatch;
}

/** Where the workspace and the store are, as the user said it. */
export interface Place {
  /** `--root` */
  readonly root?: ByteString;
  /** `--store`, else `AGENTDIFF_STORE`, else the default place; absolute. */
  readonly store: ByteString;
  /** True unless the store is in its default place. */
  readonly storeChosen: boolean;
  /** `--allow-root`: observe `/`, the home directory or a parent of the store all the same. */
  readonly allowAnyRoot: boolean;
}
