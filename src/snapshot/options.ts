import type { ByteString, Name, RelPath } from '../core/index.ts';
import type { EntryKind, Stat } from '../fs/index.ts';
import type { StatIndex } from '../store/index.ts';
import type { ObjectBatch } from '../store/write.ts';
import type { CaptureLevel, Snapshot } from './state.ts';
import type { ScanThreads } from './threads.ts';

/** How closely an entry is to be looked at, and what said so (`regenerable: node_modules`). */
export interface LevelDecision {
  readonly level: CaptureLevel;
  readonly rule: string;
}

/**
 * Decides the capture level of one entry; asked for every entry but the root, parents before children.
 * @param siblings all names in the entry's directory, in byte order
 * @param parent the decision for that directory: what a rule says of a directory holds for all below it, unless the function answers otherwise
 */
export type LevelRules = (
  path: RelPath,
  kind: EntryKind,
  siblings: readonly Name[],
  parent: LevelDecision,
) => LevelDecision;

export interface CaptureLimits {
  /** The content of a longer file is hashed, not kept. */
  readonly keptFileBytes: number;
  /** A longer file is not even hashed; its stat identity stands for its content. */
  readonly hashedFileBytes: number;
  /** Once a scan has put this many bytes into the store, further new content is hashed, not kept: the least of the budgets that bind it. */
  readonly newBytes: number;
  /** What a file that does not fit any more is lowered by, in words: `limit: new content of the run`. */
  readonly newBytesRule: string;
  /** Directories below this many others are not entered. */
  readonly maxDepth: number;
}

/** What a scan has done so far. */
export interface ScanProgress {
  readonly entries: number;
  /** Regular files among the entries. */
  readonly files: number;
  /** Bytes of content read; what the index knows is not read. */
  readonly bytes: number;
}

export interface ScanOptions {
  readonly levels: LevelRules;
  /** The root's own path without links, to tell absolute targets that stay inside. */
  readonly rootPath: ByteString;
  /** Directories that are left out: the store. */
  readonly exclude: readonly Pick<Stat, 'dev' | 'ino'>[];
  /** Mount points below the root. They are not entered. */
  readonly mounts: ReadonlySet<string>;
  /** What the scan before knew; what it shows to be unmoved is not looked at again. */
  readonly index: StatIndex;
  /** The snapshot that this index stands for, where it is at hand. */
  readonly indexSnapshot?: Snapshot | undefined;
  /** Two scans with the same text here, and the same limits of a file's size and of depth, decide the same levels. */
  readonly levelsId: string;
  /** Does the file system move a directory's times when a name in it comes or goes? Where that is not known, every directory is listed. */
  readonly hasDirectoryTimes: boolean;
  /**
   * Does every write to a file move its times? Where it does not (through a shared mapping on tmpfs), or is not to be relied on, every file is read
   * again.
   */
  readonly hasWriteTimes: boolean;
  /** When the scan begins, nanoseconds since the epoch by the clock that stamps the files. */
  readonly startedAtNs: bigint;
  /**
   * When the scan before began, if this one shows what was done since. What was touched earlier in a directory at level `structure` keeps the
   * state that the index has for it.
   */
  readonly sinceNs?: bigint | undefined;
  /** Where content and trees go. */
  readonly objects: Pick<ObjectBatch, 'has' | 'put' | 'putFile' | 'putHashed' | 'putStream' | 'newBytes'>;
  /** Helps with large trees; without it one thread does everything. */
  readonly threads?: ScanThreads | undefined;
  readonly limits: CaptureLimits;
  /** Called during the scan, every few hundred entries and every few MiB read at the latest. What it throws ends the scan. */
  readonly onProgress?: ((seen: ScanProgress) => void) | undefined;
}
