import {
  AgentdiffError,
  compareBytes,
  errnoOf,
  fromBytes,
  joinPath,
  type Name,
  type RelPath,
  ROOT_PATH,
  toBytes,
} from '../core/index.ts';
import { type Dir, FileMoved, isSameInode, kindOfMode, type Stat } from '../fs/index.ts';
import { CONTENT, FLAG, IndexBuilder, RACY_NS, type StatIndex } from '../store/index.ts';
import { LEVELS, levelCode, reasonCode } from './codes.ts';
import { Contents, type FileSeen, isLowering, type Place } from './contents.ts';
import { isMoved, rootFailure } from './failures.ts';
import { type Judgement, judge, looksOf } from './judge.ts';
import { leadsOut } from './outward.ts';
import type { LevelDecision, ScanOptions } from './options.ts';
import { ProgressCounter } from './progress.ts';
import { knownDigest } from './rows.ts';
import { reasonOf } from './stat-state.ts';
import type { Snapshot, UnobservedReason } from './state.ts';
import { type Settled, snapshotOf, storeTrees } from './trees.ts';
import { MOVED } from './unmoved.ts';

export interface Scanned {
  readonly snapshot: Snapshot;
  /** For the next scan; the very one that was given when nothing moved. */
  readonly index: StatIndex;
}

/**
 * Observes everything below `root` and puts content and trees into `options.objects`. First all that the index knows is looked at, one lstat
 * an entry; then the directories in which something moved, and those above them, are observed anew, and the rest is taken over. What vanishes
 * between being listed and being looked at is absent; what cannot be looked at is recorded as unknown, with the reason. A directory whose
 * entries come and go meanwhile is fine.
 * @throws ROOT_UNREADABLE when the root itself cannot be listed, SNAPSHOT_FAILED when that fails in another way than for want of
 * permission; failures of the store
 */
export function scanWorkspace(root: Dir, options: ScanOptions): Scanned {
  const progress = new ProgressCounter(options);
  const rulesId = rulesOf(options);
  const judged = judge(root, options, rulesId, progress);
  const { index, indexSnapshot } = options;
  if (judged?.isWhole(0) === true) return { snapshot: indexSnapshot ?? snapshotOf(index), index };
  return new Scan(root, options, rulesId, judged, progress).run();
}

/** The root's own state, which has to be known. */
function statOf(root: Dir): Stat {
  try {
    return root.stat();
  } catch (error) {
    throw rootFailure(error);
  }
}

/** Names all that decides levels, so that an index of another scan is not taken for one of this. */
function rulesOf({ levelsId, limits, exclude }: ScanOptions): string {
  const { keptFileBytes, hashedFileBytes, maxDepth } = limits;
  const left = exclude.map(({ dev, ino }) => `${dev}:${ino}`);
  return [levelsId, keptFileBytes, hashedFileBytes, maxDepth, ...left].join(' ');
}

/** A directory that is to be observed. */
interface Visit {
  readonly path: RelPath;
  /** Its row in the new index. */
  readonly row: number;
  /** The directory around it in the new index; the root's is itself. */
  readonly parent: number;
  readonly depth: number;
  readonly identity: Pick<Stat, 'dev' | 'ino'>;
  readonly decision: LevelDecision;
  /** The directory of the index before that had this path. */
  readonly old: number | undefined;
  /** The verdict about `old` holds: it was made under the same decision. */
  readonly isJudged: boolean;
}

/** A directory while its entries are observed. */
interface Listing extends Place {
  readonly visit: Visit;
  readonly names: readonly Name[];
  readonly files: FileSeen[];
  readonly below: Visit[];
}

const ROOT_DECISION: LevelDecision = { level: 'content', rule: 'default' };

class Scan {
  readonly #root: Dir;
  readonly #options: ScanOptions;
  readonly #judged: Judgement | undefined;
  readonly #progress: ProgressCounter;
  readonly #old: StatIndex;
  readonly #builder: IndexBuilder;
  readonly #contents: Contents;
  readonly #settled: Settled[] = [];
  /** Directories to be visited, the next one last: a stack of our own, because no depth of nesting may overflow the call stack. */
  readonly #open: Visit[] = [];

  constructor(
    root: Dir,
    options: ScanOptions,
    rulesId: string,
    judged: Judgement | undefined,
    progress: ProgressCounter,
  ) {
    this.#root = root;
    this.#options = options;
    this.#judged = judged;
    this.#progress = progress;
    this.#old = options.index;
    this.#builder = new IndexBuilder(rulesId, options.startedAtNs - RACY_NS, options.index);
    this.#contents = new Contents(root, options, this.#builder, progress);
  }

  run(): Scanned {
    const stat = statOf(this.#root);
    const row = this.#builder.addRow('' as Name, stat);
    const old = this.#old.counts.dirs === 0 ? undefined : 0;
    const isJudged = this.#judged !== undefined;
    this.#open.push({
      path: ROOT_PATH,
      row,
      parent: 0,
      depth: 0,
      identity: stat,
      decision: ROOT_DECISION,
      old,
      isJudged,
    });
    for (let visit = this.#open.pop(); visit !== undefined; visit = this.#open.pop()) this.#visit(visit);
    this.#contents.finish();
    const index = this.#builder.finish();
    index.noteLooks(looksOf(index));
    storeTrees(index, this.#settled, (tree) => this.#options.objects.put(tree));
    return { snapshot: snapshotOf(index), index };
  }

  #visit(visit: Visit): void {
    const { old, isJudged } = visit;
    if (isJudged && old !== undefined && this.#judged?.isWhole(old) === true) this.#takeOver(visit, old);
    else this.#observe(visit);
  }

  #takeOver({ row, parent }: Visit, old: number): void {
    const from = this.#builder.dirs;
    this.#builder.copySubtree(old, row, parent);
    this.#settled.push([from, this.#builder.dirs]);
  }

  #observe(visit: Visit): void {
    const listing = this.#list(visit);
    if (listing === undefined) return;
    try {
      for (const file of listing.files) this.#contents.add(listing, file);
      // The first one is the next to be visited.
      this.#open.push(...listing.below.toReversed());
    } finally {
      listing.dir.close();
    }
  }

  /** @returns undefined when the directory cannot be observed, which is recorded then */
  #list(visit: Visit): Listing | undefined {
    const { path, identity, decision, row, parent } = visit;
    let dir: Dir | undefined;
    try {
      dir = this.#root.openBelow(path, identity);
      const directory = this.#builder.addDirectory(row, parent, levelCode(decision.level), decision.rule);
      const names =
        this.#verdictOf(visit) === MOVED.listing ? dir.names() : this.#old.namesOf(visit.old ?? 0);
      const listing = { visit, dir, path, identity, directory, decision, names, files: [], below: [] };
      this.#addEntries(listing);
      return listing;
    } catch (error) {
      dir?.close();
      this.#abandon(visit, error);
      return undefined;
    }
  }

  /** A directory that could not be entered or listed, or was replaced meanwhile. What was begun of it is taken back. */
  #abandon({ row, parent }: Visit, error: unknown): void {
    const errno = errnoOf(error);
    if (!isMoved(error) && (errno === undefined || error instanceof AgentdiffError)) throw error;
    if (row === 0) throw rootFailure(error);
    if (this.#builder.columns.directory[row] !== 0) this.#builder.removeLastDirectory();
    this.#builder.lookAgain(parent);
    if (errno === 'ENOENT') return this.#builder.setContent(row, CONTENT.absent);
    const isReplaced = errno === undefined || errno === 'ENOTDIR' || errno === 'ELOOP';
    this.#builder.setUnknown(row, reasonCode(isReplaced ? 'unstable' : reasonOf(errno)));
  }

  #verdictOf({ old, isJudged }: Visit): number {
    if (!isJudged || old === undefined) return MOVED.listing;
    return this.#judged?.verdicts.directories[old] ?? MOVED.listing;
  }

  #addEntries(listing: Listing): void {
    const { names, visit } = listing;
    const isAsBefore = this.#verdictOf(visit) !== MOVED.listing;
    const oldRows = this.#oldRows(visit.old, names);
    for (const [at, name] of names.entries()) {
      const old = oldRows[at];
      if (isAsBefore && old !== undefined && this.#isUnmoved(old, listing.decision))
        this.#copyEntry(listing, name, old);
      else this.#addEntry(listing, name, old);
    }
  }

  /** For each name its row in the index before. Both lists are in byte order. */
  #oldRows(directory: number | undefined, names: readonly Name[]): (number | undefined)[] {
    if (directory === undefined) return [];
    const [from] = this.#old.rowsOf(directory);
    const known = this.#old.namesOf(directory);
    let next = 0;
    return names.map((name) => {
      for (let other = known[next]; other !== undefined; other = known[++next]) {
        const order = compareBytes(other, name);
        if (order < 0) continue;
        return order === 0 ? from + next++ : undefined;
      }
      return undefined;
    });
  }

  #isUnmoved(old: number, { level }: LevelDecision): boolean {
    const { content, mode } = this.#old.columns;
    if (this.#judged?.verdicts.rows[old] === 1) return true;
    // At this level the names were all there was to look at, but for a file that is hashed all the same.
    if (level !== 'structure' || content[old] === CONTENT.unknown) return false;
    const kind = kindOfMode(mode[old] ?? 0);
    return kind !== 'directory' && (kind !== 'file' || content[old] === CONTENT.identity);
  }

  #copyEntry(listing: Listing, name: Name, old: number): void {
    const row = this.#builder.copyRow(old);
    if (kindOfMode(this.#old.columns.mode[old] ?? 0) !== 'directory') return;
    const path = joinPath(listing.path, name);
    const decision = this.#options.levels(path, 'directory', listing.names, listing.decision);
    this.#addBelow(
      listing,
      path,
      row,
      { dev: this.#old.device(old), ino: this.#old.ino(old) },
      decision,
      old,
    );
  }

  #addEntry(listing: Listing, name: Name, old: number | undefined): void {
    const path = joinPath(listing.path, name);
    if (this.#options.mounts.has(path)) return this.#addMount(listing, name);
    let last: Stat | undefined;
    for (let attempt = 0; attempt < 2; attempt++) {
      const stat = listing.dir.tryLstat(name);
      if (stat === undefined) return;
      last = stat;
      try {
        this.#addSeen(listing, name, path, stat, old);
        // What the index knows was counted when it was asked for.
        if (old === undefined || this.#judged === undefined) this.#progress.entry(stat.kind === 'file');
        return;
      } catch (error) {
        if (!isMoved(error)) throw error;
      }
    }
    this.#unobserved(listing, this.#builder.addRow(name, last), 'unstable');
  }

  /** Nothing of a mount but its own metadata may be asked, and even that can fail. */
  #addMount(listing: Listing, name: Name): void {
    let stat: Stat | undefined;
    try {
      stat = listing.dir.tryLstat(name);
      if (stat === undefined) return;
    } catch {
      stat = undefined;
    }
    this.#unobserved(listing, this.#builder.addRow(name, stat), 'mount');
  }

  /** @throws FileMoved, before anything was added, when the entry is not any more what was seen */
  #addSeen(listing: Listing, name: Name, path: RelPath, stat: Stat, old: number | undefined): void {
    if (this.#isExcluded(stat)) return this.#unobserved(listing, this.#builder.addRow(name, stat), 'store');
    const decision = this.#options.levels(path, stat.kind, listing.names, listing.decision);
    if (stat.kind === 'symlink' && decision.level !== 'none')
      return this.#addSymlink(listing, name, path, stat);
    if (old !== undefined && this.#keepsItsState(stat, decision, old)) return void this.#builder.copyRow(old);
    const row = this.#builder.addRow(name, stat);
    if (decision.level === 'none') {
      this.#builder.lower(row, levelCode('none'), decision.rule);
      this.#unobserved(listing, row, 'excluded');
    } else if (stat.kind === 'directory') {
      if (isLowering(decision, listing.decision))
        this.#builder.lower(row, levelCode(decision.level), decision.rule);
      this.#addBelow(listing, path, row, stat, decision, old);
    } else if (stat.kind === 'file') {
      listing.files.push({ name, row, stat, decision, known: this.#known(stat, old) });
    } else if (stat.kind === 'fifo' || stat.kind === 'socket') this.#builder.setContent(row, CONTENT.nothing);
    else this.#builder.setContent(row, CONTENT.device, Number(stat.rdev));
  }

  #addBelow(
    { visit, directory, below }: Listing,
    path: RelPath,
    row: number,
    identity: Visit['identity'],
    decision: LevelDecision,
    oldRow: number | undefined,
  ): void {
    const depth = visit.depth + 1;
    if (depth > this.#options.limits.maxDepth) {
      this.#builder.setUnknown(row, reasonCode('too-deep'));
      return this.#builder.lookAgain(directory);
    }
    const old = oldRow === undefined ? undefined : this.#old.columns.directory[oldRow] || undefined;
    const isJudged = visit.isJudged && old !== undefined && this.#wasDecided(old, decision);
    below.push({ path, row, parent: directory, depth, identity, decision, old, isJudged });
  }

  #wasDecided(old: number, { level, rule }: LevelDecision): boolean {
    const { dirLevel, dirRule } = this.#old.columns;
    return LEVELS[dirLevel[old] ?? 0] === level && this.#old.notes.rules[dirRule[old] ?? 0] === rule;
  }

  /**
   * At level `structure` edits in place are not looked for. Where the names of a directory had to be listed again they would show, whenever they
   * were made; only those of the span that is observed may be told.
   */
  #keepsItsState(stat: Stat, { level }: LevelDecision, old: number): boolean {
    const { sinceNs } = this.#options;
    if (level !== 'structure' || sinceNs === undefined || stat.ctimeNs >= sinceNs) return false;
    // Another file under the name came with a rename, which leaves its times: it is told, whenever it was written.
    if (this.#old.ino(old) !== stat.ino || this.#old.device(old) !== stat.dev) return false;
    const { content, mode } = this.#old.columns;
    return content[old] === CONTENT.identity && kindOfMode(mode[old] ?? 0) === stat.kind;
  }

  /** A link's target is always kept, whatever the level: it is as short as a path. */
  #addSymlink(listing: Listing, name: Name, path: RelPath, stat: Stat): void {
    let target: Buffer;
    try {
      target = toBytes(listing.dir.readlink(name));
    } catch (error) {
      const errno = errnoOf(error);
      if (isMoved(error) || errno === 'ENOENT' || errno === 'EINVAL') throw new FileMoved();
      return this.#unobserved(listing, this.#builder.addRow(name, stat), reasonOf(errno));
    }
    const row = this.#builder.addRow(name, stat);
    this.#builder.setContent(row, CONTENT.digest, target.length);
    this.#builder.setDigest(row, this.#options.objects.put(target), true);
    if (leadsOut(path, fromBytes(target), this.#options.rootPath)) this.#builder.setFlag(row, FLAG.outward);
  }

  #known(stat: Stat, old: number | undefined): FileSeen['known'] {
    const digest =
      old === undefined || !this.#options.hasWriteTimes ? undefined : knownDigest(this.#old, old, stat);
    return digest === undefined || old === undefined
      ? undefined
      : { digest, kept: this.#old.has(old, FLAG.kept) };
  }

  #unobserved({ directory }: Listing, row: number, reason: UnobservedReason): void {
    this.#builder.setUnknown(row, reasonCode(reason));
    this.#builder.lookAgain(directory);
  }

  #isExcluded(stat: Stat): boolean {
    return this.#options.exclude.some((excluded) => isSameInode(excluded, stat));
  }
}
