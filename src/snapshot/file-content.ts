import { AgentdiffError, type Digest, errnoOf, Hasher, type Name, type RelPath } from '../core/index.ts';
import { type Dir, FileMoved, readFile, type Stat } from '../fs/index.ts';
import type { IndexRecord } from '../store/index.ts';
import type { LevelDecision, ScanOptions } from './options.ts';
import type { ProgressCounter } from './progress.ts';
import { digestContent, identityOf, reasonOf, unknownContent } from './stat-state.ts';
import type { Content } from './state.ts';

/** One entry whose metadata was just seen. */
export interface Seen {
  readonly dir: Dir;
  readonly name: Name;
  readonly path: RelPath;
  readonly stat: Stat;
  /** What the index knows of the path. */
  readonly record: IndexRecord | undefined;
}

/** What became of a file's content. */
export interface FileContent {
  readonly content: Content;
  /** The object is in the store. */
  readonly kept: boolean;
  /** The limit that lowered it, and to what. */
  readonly limit?: LevelDecision;
}

type Plan = Pick<LevelDecision, 'level'> & { readonly limit?: LevelDecision };

/** Files up to this size are read at once, into the one buffer that all of them share; longer ones piece by piece. */
const BUFFER = 1 << 20;

/** Reads the files of one scan, each as closely as its level and the limits say, and only when the index does not know it. */
export class FileReader {
  readonly #options: ScanOptions;
  readonly #progress: ProgressCounter;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER);

  constructor(options: ScanOptions, progress: ProgressCounter) {
    this.#options = options;
    this.#progress = progress;
  }

  /**
   * The content of a regular file.
   * @throws FileMoved when it is not the file seen, or moved while it was read; failures of the store
   */
  read(seen: Seen, decision: LevelDecision): FileContent {
    const known = this.#knownDigest(seen);
    const plan = this.#plan(seen.stat.size, decision);
    if (plan.level === 'stat') {
      return { content: { is: 'identity', identity: identityOf(seen.stat) }, kept: false, ...limitOf(plan) };
    }
    const { objects } = this.#options;
    if (plan.level === 'digest' || objects === undefined) {
      return this.#hashed(known === undefined ? this.#hash(seen) : digestContent(known), plan);
    }
    if (known !== undefined && objects.has(known)) return { content: digestContent(known), kept: true };
    const { newBytes, newBytesRule } = this.#options.limits;
    if (objects.newBytes + seen.stat.size > newBytes) {
      return this.#hashed(this.#hash(seen), lowered('digest', newBytesRule));
    }
    const content = seen.stat.size <= BUFFER ? this.#putWhole(seen, objects) : this.#putStream(seen, objects);
    return { content, kept: content.is === 'digest' };
  }

  #knownDigest({ record, stat }: Seen): Digest | undefined {
    return record !== undefined && this.#options.index.trusted(record, stat) ? record.digest : undefined;
  }

  /** The level for a file of this size after the limits. */
  #plan(size: number, { level }: LevelDecision): Plan {
    const { keptFileBytes, hashedFileBytes } = this.#options.limits;
    if (level !== 'content' && level !== 'digest') return { level: 'stat' };
    if (size > hashedFileBytes) return lowered('stat', `limit: file over ${formatBytes(hashedFileBytes)}`);
    if (level === 'content' && size > keptFileBytes) {
      return lowered('digest', `limit: file over ${formatBytes(keptFileBytes)}`);
    }
    return { level };
  }

  /** Content that is not put. When the store has the object for another reason it is kept, whatever a limit said. */
  #hashed(content: Content, plan: Plan): FileContent {
    const kept = content.is === 'digest' && (this.#options.objects?.has(content.digest) ?? false);
    return { content, kept, ...(kept || content.is !== 'digest' ? {} : limitOf(plan)) };
  }

  #hash(seen: Seen): Content {
    const hasher = new Hasher();
    const failure = this.#readPieces(seen, (piece) => hasher.update(piece));
    return failure ?? digestContent(hasher.digest());
  }

  #putWhole(seen: Seen, objects: NonNullable<ScanOptions['objects']>): Content {
    const pieces: Uint8Array[] = [];
    // A small file is one piece, used where it lies; only a read that the system cut short makes more, and those are copied.
    const failure = this.#readPieces(seen, (piece) => {
      pieces.push(piece.length === seen.stat.size ? piece : Buffer.from(piece));
    });
    return (
      failure ??
      digestContent(
        objects.put(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)),
      )
    );
  }

  #putStream(seen: Seen, objects: NonNullable<ScanOptions['objects']>): Content {
    let failure: Content | undefined;
    try {
      const digest = objects.putStream(seen.stat.size, (sink) => {
        failure = this.#readPieces(seen, sink);
        if (failure !== undefined) throw new FileMoved();
      });
      return digestContent(digest);
    } catch (error) {
      if (failure !== undefined) return failure;
      throw error;
    }
  }

  #readPieces(seen: Seen, sink: (piece: Uint8Array) => void): Content | undefined {
    return readPieces(seen, this.#buffer, (piece) => {
      sink(piece);
      this.#progress.read(piece.length);
    });
  }
}

/**
 * Hands all of a file to `sink`.
 * @returns what to record when the system refuses to read it
 * @throws FileMoved, and what `sink` throws
 */
function readPieces(
  { dir, name, stat }: Seen,
  buffer: Buffer,
  sink: (piece: Uint8Array) => void,
): Content | undefined {
  let isInSink = false;
  const guarded = (piece: Uint8Array): void => {
    isInSink = true;
    sink(piece);
    isInSink = false;
  };
  try {
    readFile(dir, name, stat, guarded, buffer);
    return undefined;
  } catch (error) {
    if (isInSink || error instanceof FileMoved || error instanceof AgentdiffError) throw error;
    return unknownContent(reasonOf(errnoOf(error)), stat);
  }
}

function lowered(level: LevelDecision['level'], rule: string): Plan {
  return { level, limit: { level, rule } };
}

function limitOf({ limit }: Plan): { limit?: LevelDecision } {
  return limit === undefined ? {} : { limit };
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `64 MiB`, and plain bytes for what is no whole number of a unit, so that the figure is exact. */
function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && value % 1024 === 0 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value} ${UNITS[unit]}`;
}
