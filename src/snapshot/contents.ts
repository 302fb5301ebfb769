import {
  AgentdiffError,
  type Digest,
  digestOf,
  errnoOf,
  Hasher,
  type Name,
  type RelPath,
} from '../core/index.ts';
import { type Dir, FileMoved, readFile, readWhole, type Stat } from '../fs/index.ts';
import { CONTENT, DIGEST_BYTES, type IndexBuilder } from '../store/index.ts';
import { levelCode, reasonCode } from './codes.ts';
import { isMoved } from './failures.ts';
import type { LevelDecision, ScanOptions } from './options.ts';
import type { ProgressCounter } from './progress.ts';
import {
  encodeStat,
  READ,
  readFiles,
  type ReadRequest,
  type ReadResult,
  refusal,
  STAT_FIELDS,
} from './reading.ts';
import { reasonOf } from './stat-state.ts';
import type { UnobservedReason } from './state.ts';

/** A directory whose files are to be read, perhaps later. */
interface GroupPlace {
  readonly path: RelPath;
  readonly identity: Pick<Stat, 'dev' | 'ino'>;
  /** Its number in the new index. */
  readonly directory: number;
  readonly decision: LevelDecision;
}

/** A directory that is being observed. */
export interface Place extends GroupPlace {
  readonly dir: Dir;
}

/** A regular file whose metadata was just seen. */
export interface FileSeen {
  readonly name: Name;
  /** In the new index. */
  readonly row: number;
  readonly stat: Stat;
  readonly decision: LevelDecision;
  /** What the index before knew of the content, in this very state. */
  readonly known: { readonly digest: Digest; readonly kept: boolean } | undefined;
}

interface Waiting {
  readonly place: GroupPlace;
  readonly file: FileSeen;
  readonly plan: Plan;
}

interface Plan {
  readonly level: LevelDecision['level'];
  /** What lowers the file, if something does. */
  readonly lowering: LevelDecision | undefined;
  /** The lowering is by a limit: it is none when the store has the content for another reason. */
  readonly isLimit: boolean;
}

/** A file that was hashed and whose content the store does not have. */
interface Unkept {
  readonly row: number;
  readonly digest: Digest;
  readonly lowering: LevelDecision | undefined;
  /** The directory in which the next scan has to look again. */
  readonly retryIn: number | undefined;
}

/** Files up to this size are read in groups, by any thread; longer ones piece by piece, by this one. */
const SMALL_BYTES = 1 << 20;

/** A group ends when it has so many files or bytes. */
const GROUP = { files: 256, bytes: 2 << 20 } as const;

/**
 * The contents of one scan's files: reads each as closely as its level and the limits say, only when the index does not know it, and writes
 * into the new index what came of it.
 */
export class Contents {
  readonly #root: Dir;
  readonly #options: ScanOptions;
  readonly #builder: IndexBuilder;
  readonly #progress: ProgressCounter;
  readonly #sent = new Map<number, { request: ReadRequest; waiting: Waiting[] }>();
  readonly #buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);
  readonly #unkept: Unkept[] = [];
  /** An error in this moment is one of the store, not of the file that is read. */
  #isStoring = false;
  /** Small files so far. */
  #queued = 0;
  #waiting: Waiting[] = [];
  #bytes = 0;

  constructor(root: Dir, options: ScanOptions, builder: IndexBuilder, progress: ProgressCounter) {
    this.#root = root;
    this.#options = options;
    this.#builder = builder;
    this.#progress = progress;
  }

  /**
   * Takes a file on; its row is complete at the latest when {@link finish} returns.
   * @throws failures of the store
   */
  add(place: Place, file: FileSeen): void {
    const plan = this.#plan(file, place.decision);
    const { objects } = this.#options;
    const { known, row, stat } = file;
    if (plan.level === 'stat') {
      this.#builder.setContent(row, CONTENT.identity);
      this.#lower(row, plan.lowering);
    } else if (known !== undefined && plan.level === 'digest') {
      this.#hashed(row, known.digest, plan);
    } else if (
      known !== undefined &&
      ((known.kept && stat.size <= SMALL_BYTES) || objects.has(known.digest, stat.size))
    ) {
      this.#kept(row, known.digest, plan);
    } else if (stat.size > SMALL_BYTES) {
      this.#readLarge(place, file, plan);
    } else {
      this.#queue({ place, file, plan });
    }
  }

  /** Everything that was taken on is done when this returns. */
  finish(): void {
    this.#readGroup();
    const { threads } = this.#options;
    while (threads !== undefined && this.#sent.size > 0) this.#take(threads.wait());
    for (const unkept of this.#unkept) this.#settle(unkept);
  }

  #plan({ stat: { size }, decision }: FileSeen, above: LevelDecision): Plan {
    const { keptFileBytes, hashedFileBytes } = this.#options.limits;
    const { level } = decision;
    const lowering = isLowering(decision, above) ? decision : undefined;
    if (level !== 'content' && level !== 'digest') return { level: 'stat', lowering, isLimit: false };
    if (size > hashedFileBytes) return limited('stat', `limit: file over ${formatBytes(hashedFileBytes)}`);
    if (level === 'content' && size > keptFileBytes)
      return limited('digest', `limit: file over ${formatBytes(keptFileBytes)}`);
    return { level, lowering, isLimit: false };
  }

  #queue(waiting: Waiting): void {
    this.#queued++;
    this.#waiting.push(waiting);
    this.#bytes += waiting.file.stat.size;
    if (this.#waiting.length < GROUP.files && this.#bytes < GROUP.bytes) return;
    this.#readGroup();
  }

  /** Gives the group to another thread, or reads it when all have enough to do. */
  #readGroup(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    const request = requestOf(waiting, this.#bytes);
    this.#waiting = [];
    this.#bytes = 0;
    const { threads } = this.#options;
    if (threads !== undefined) this.#take(threads.collect());
    const areWorth = threads?.areWorth({ looks: 0, files: this.#queued }) === true;
    const id = areWorth ? threads?.submit(this.#root.place, request) : undefined;
    if (id === undefined) this.#store(waiting, readFiles(this.#root, request));
    else this.#sent.set(id, { request, waiting });
  }

  #take(answers: readonly { id: number; result: ReadResult | undefined }[]): void {
    for (const { id, result } of answers) {
      const sent = this.#sent.get(id);
      if (sent === undefined) continue;
      this.#sent.delete(id);
      // What was sent away is gone from here: the request is made again.
      this.#store(sent.waiting, result ?? readFiles(this.#root, requestOf(sent.waiting, sent.request.bytes)));
    }
  }

  #store(waiting: readonly Waiting[], { outcomes, digests, content }: ReadResult): void {
    const hex = Buffer.from(digests.buffer);
    let offset = 0;
    for (const [at, { place, file, plan }] of waiting.entries()) {
      const bytes = content.subarray(offset, offset + file.stat.size);
      offset += file.stat.size;
      const outcome = outcomes[at] ?? READ.moved;
      if (outcome === READ.done) {
        const digest = hex.toString('hex', at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES) as Digest;
        this.#storeSmall(place, file, plan, digest, bytes);
      } else if (outcome === READ.moved) this.#readAgain(place, file, plan);
      else this.#unread(place, file.row, refusal(outcome));
    }
    this.#progress.read(offset);
  }

  #storeSmall(place: GroupPlace, file: FileSeen, plan: Plan, digest: Digest, bytes: Uint8Array): void {
    const { objects } = this.#options;
    if (plan.level === 'digest') return this.#hashed(file.row, digest, plan);
    if (!this.#fits(file.stat.size) && !objects.has(digest)) return this.#overBudget(place, file.row, digest);
    objects.putHashed(digest, bytes);
    this.#kept(file.row, digest, plan);
  }

  #readLarge(place: Place, file: FileSeen, plan: Plan): void {
    const { objects } = this.#options;
    const { name, row, stat } = file;
    const isKept = plan.level === 'content' && this.#fits(stat.size);
    try {
      // A clone takes no space, so no limit is in its way.
      const cloned = file.decision.level === 'content' ? objects.putFile(place.dir, name, stat) : undefined;
      if (cloned !== undefined) return this.#kept(row, cloned, plan);
      const digest = isKept
        ? objects.putStream(stat.size, (sink) => this.#pieces(place.dir, name, stat, sink))
        : this.#hash(place.dir, name, stat);
      if (isKept) this.#kept(row, digest, plan);
      else if (plan.level === 'digest') this.#hashed(row, digest, plan);
      else if (objects.has(digest, stat.size)) this.#kept(row, digest, plan);
      else this.#overBudget(place, row, digest);
    } catch (error) {
      this.#failed(place, row, error);
    }
  }

  #hash(dir: Dir, name: Name, stat: Stat): Digest {
    const hasher = new Hasher();
    this.#pieces(dir, name, stat, (piece) => hasher.update(piece));
    return hasher.digest();
  }

  #pieces(dir: Dir, name: Name, stat: Stat, sink: (piece: Uint8Array) => void): void {
    readFile(
      dir,
      name,
      stat,
      (piece) => {
        this.#isStoring = true;
        sink(piece);
        this.#isStoring = false;
        this.#progress.read(piece.length);
      },
      this.#buffer,
    );
  }

  /** A file that was not any more what was seen gets one more look, on its own. */
  #readAgain(place: GroupPlace, file: FileSeen, plan: Plan): void {
    let dir: Dir | undefined;
    try {
      dir = this.#root.openBelow(place.path, place.identity);
      const stat = dir.tryLstat(file.name);
      if (stat === undefined) return this.#absent(place, file.row);
      this.#builder.setStat(file.row, stat);
      if (stat.kind !== 'file') throw new FileMoved();
      if (stat.size > SMALL_BYTES) return this.#readLarge({ ...place, dir }, { ...file, stat }, plan);
      const bytes = Buffer.allocUnsafe(stat.size);
      readWhole(dir, file.name, stat, bytes);
      this.#storeSmall(place, { ...file, stat }, plan, digestOf(bytes), bytes);
    } catch (error) {
      this.#failed(place, file.row, error);
    } finally {
      dir?.close();
    }
  }

  #failed(place: GroupPlace, row: number, error: unknown): void {
    if (isMoved(error)) return this.#unread(place, row, 'unstable');
    const errno = errnoOf(error);
    // Failures of the store, and our own mistakes.
    if (this.#isStoring || errno === undefined || error instanceof AgentdiffError) throw error;
    if (errno === 'ENOENT') return this.#absent(place, row);
    this.#unread(place, row, reasonOf(errno));
  }

  #absent({ directory }: GroupPlace, row: number): void {
    this.#builder.setContent(row, CONTENT.absent);
    this.#builder.lookAgain(directory);
  }

  #unread({ directory }: GroupPlace, row: number, reason: UnobservedReason): void {
    this.#builder.setUnknown(row, reasonCode(reason));
    this.#builder.lookAgain(directory);
  }

  #kept(row: number, digest: Digest, { lowering, isLimit }: Plan): void {
    this.#builder.setDigest(row, digest, true);
    if (!isLimit) this.#lower(row, lowering);
  }

  #hashed(row: number, digest: Digest, { lowering }: Plan): void {
    if (this.#has(row, digest)) this.#builder.setDigest(row, digest, true);
    else this.#unkept.push({ row, digest, lowering, retryIn: undefined });
  }

  #has(row: number, digest: Digest): boolean {
    return this.#options.objects.has(digest, this.#builder.columns.size[row]);
  }

  /** What another file or link has put meanwhile is kept after all. */
  #settle({ row, digest, lowering, retryIn }: Unkept): void {
    const isKept = this.#has(row, digest);
    this.#builder.setDigest(row, digest, isKept);
    if (isKept) return;
    this.#lower(row, lowering);
    if (retryIn !== undefined) this.#builder.lookAgain(retryIn);
  }

  #fits(size: number): boolean {
    const { objects, limits } = this.#options;
    return objects.newBytes + size <= limits.newBytes;
  }

  /** The next scan may have room for it. */
  #overBudget({ directory }: GroupPlace, row: number, digest: Digest): void {
    const lowering = { level: 'digest', rule: this.#options.limits.newBytesRule } as const;
    this.#unkept.push({ row, digest, lowering, retryIn: directory });
  }

  #lower(row: number, lowering: LevelDecision | undefined): void {
    if (lowering !== undefined) this.#builder.lower(row, levelCode(lowering.level), lowering.rule);
  }
}

/** The rule lowers this entry, and is not merely the one that lowered the directory around it. */
export function isLowering(decision: LevelDecision, above: LevelDecision): boolean {
  if (decision.level === 'content') return false;
  return decision.level !== above.level || decision.rule !== above.rule;
}

function requestOf(waiting: readonly Waiting[], bytes: number): ReadRequest {
  const stats = new BigInt64Array(waiting.length * STAT_FIELDS);
  const directories: { path: RelPath; dev: bigint; ino: bigint; files: number }[] = [];
  let last: GroupPlace | undefined;
  for (const [at, { place, file }] of waiting.entries()) {
    stats.set(encodeStat(file.stat), at * STAT_FIELDS);
    const current = directories.at(-1);
    if (current !== undefined && place === last) current.files++;
    else directories.push({ path: place.path, ...place.identity, files: 1 });
    last = place;
  }
  return { directories, names: waiting.map(({ file }) => file.name), stats, bytes };
}

function limited(level: LevelDecision['level'], rule: string): Plan {
  return { level, lowering: { level, rule }, isLimit: true };
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
