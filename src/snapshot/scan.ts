import {
  type Digest,
  digestOf,
  errnoOf,
  fromBytes,
  invariant,
  joinPath,
  type Name,
  type RelPath,
  ROOT_PATH,
  toBytes,
} from '../core/index.ts';
import { type Dir, FileMoved, isSameInode, type Stat } from '../fs/index.ts';
import { indexRecord } from '../store/index.ts';
import { isMoved, rootFailure } from './failures.ts';
import { FileReader, type Seen } from './file-content.ts';
import type { LevelDecision, ScanOptions } from './options.ts';
import { ProgressCounter } from './progress.ts';
import {
  contentWithoutBytes,
  digestContent,
  particularsOf,
  reasonOf,
  stateOf,
  unknownContent,
} from './stat-state.ts';
import type { Content, Snapshot, State, UnobservedReason } from './state.ts';
import { leadsOut } from './outward.ts';
import { type Mark, Tally } from './tally.ts';
import { encodeTree, type TreeEntry } from './tree.ts';

/**
 * Observes everything below `root` and puts content and trees into `options.objects`. What vanishes between being listed and being looked
 * at is absent; what cannot be looked at is recorded as unknown, with the reason. A directory whose entries come and go meanwhile is fine.
 * @throws ROOT_UNREADABLE when the root itself cannot be listed, SNAPSHOT_FAILED when that fails in another way than for want of
 * permission; failures of the store
 */
export function scanWorkspace(root: Dir, options: ScanOptions): Snapshot {
  return new Scan(options).run(root);
}

/** A directory that is being read. */
interface Frame {
  readonly dir: Dir;
  /** Undefined for the root. */
  readonly name: Name | undefined;
  readonly path: RelPath;
  readonly stat: Stat;
  readonly decision: LevelDecision;
  readonly names: readonly Name[];
  visited: number;
  readonly entries: TreeEntry[];
  readonly start: Mark;
}

/** So many levels are given up when the process runs out of open files, so that the files above and the store have handles to work with. */
const LEVELS_GIVEN_UP = 8;

const ROOT_DECISION: LevelDecision = { level: 'content', rule: 'default' };

class Scan {
  readonly #options: ScanOptions;
  readonly #files: FileReader;
  readonly #tally = new Tally();
  readonly #progress: ProgressCounter;
  /** The open directories from the root down: a stack of our own, because no depth of nesting may overflow the call stack. */
  readonly #stack: Frame[] = [];

  constructor(options: ScanOptions) {
    this.#options = options;
    this.#progress = new ProgressCounter(options);
    this.#files = new FileReader(options, this.#progress);
  }

  run(root: Dir): Snapshot {
    this.#pushRoot(root);
    try {
      for (;;) {
        const frame = this.#top();
        const name = frame.names[frame.visited++];
        if (name !== undefined) this.#visit(frame, name);
        else if (frame.name === undefined) return this.#result(frame);
        else this.#leave(frame, frame.name);
      }
    } finally {
      this.#closeFrom(1);
    }
  }

  #pushRoot(root: Dir): void {
    try {
      const stat = root.stat();
      this.#options.index.lookup(ROOT_PATH);
      this.#push(root, undefined, ROOT_PATH, stat, ROOT_DECISION);
    } catch (error) {
      throw rootFailure(error);
    }
  }

  #result({ stat, entries }: Frame): Snapshot {
    const tree = this.#put(encodeTree(entries));
    const root = { state: stateOf(stat, digestContent(tree)), particulars: particularsOf(stat) };
    return { tree, root, ...this.#tally.result() };
  }

  #visit(frame: Frame, name: Name): void {
    const path = joinPath(frame.path, name);
    if (this.#options.mounts.has(path)) return this.#visitMount(frame, name, path);
    let last: Seen | undefined;
    for (let attempt = 0; attempt < 2; attempt++) {
      let stat: Stat | undefined;
      try {
        stat = frame.dir.tryLstat(name);
      } catch (error) {
        // A directory whose names can be listed and not looked at (mode 0444) is unreadable as a whole.
        return this.#abandon(frame, isMoved(error) ? 'unstable' : reasonOf(errnoOf(error)), error);
      }
      if (stat === undefined) return;
      if (this.#isExcluded(stat)) return this.#addUnknown(frame, name, path, stat, unknownContent('store'));
      last = { dir: frame.dir, name, path, stat, record: this.#options.index.lookup(path) };
      try {
        return this.#observe(frame, last);
      } catch (error) {
        if (!isMoved(error)) throw error;
      }
    }
    if (last !== undefined) this.#addUnread(frame, last, 'unstable');
  }

  /** Nothing of a mount but its own metadata may be asked, and even that can fail. */
  #visitMount(frame: Frame, name: Name, path: RelPath): void {
    let stat: Stat | undefined;
    try {
      stat = frame.dir.tryLstat(name);
      if (stat === undefined) return;
    } catch {
      stat = undefined;
    }
    this.#addUnknown(frame, name, path, stat, unknownContent('mount'));
  }

  /** @throws FileMoved, before anything was counted, when the entry is not any more what was seen */
  #observe(frame: Frame, seen: Seen): void {
    const { path, name, stat } = seen;
    const decision = this.#options.levels(path, stat.kind, frame.names, frame.decision);
    if (decision.level === 'none') {
      const concerned = stat.kind === 'file' ? { files: 1, bytes: stat.size } : { files: 0, bytes: 0 };
      this.#tally.lowered(path, 'none', decision.rule, concerned);
      return this.#addUnknown(frame, name, path, stat, unknownContent('excluded'));
    }
    if (stat.kind === 'directory') return this.#enter(frame, seen, decision);
    if (stat.kind === 'file') return this.#addFile(frame, seen, decision);
    if (stat.kind === 'symlink') return this.#addSymlink(frame, seen);
    const content = contentWithoutBytes(stat);
    invariant(content !== undefined, 'an entry without bytes has a known content');
    this.#index(seen, undefined, false);
    this.#add(frame, name, stateOf(stat, content));
  }

  #enter(frame: Frame, seen: Seen, decision: LevelDecision): void {
    if (this.#stack.length > this.#options.limits.maxDepth) return this.#addUnread(frame, seen, 'too-deep');
    let dir: Dir | undefined;
    try {
      dir = frame.dir.openDir(seen.name);
      const stat = dir.stat();
      if (!isSameInode(stat, seen.stat)) throw new FileMoved();
      this.#push(dir, seen.name, seen.path, stat, decision);
    } catch (error) {
      dir?.close();
      const errno = errnoOf(error);
      // Gone, or no directory any more.
      if (errno === 'ENOENT' || errno === 'ENOTDIR' || errno === 'ELOOP') throw new FileMoved();
      if (isMoved(error)) throw error;
      this.#addRefused(frame, seen, reasonOf(errno));
    }
  }

  #push(dir: Dir, name: Name | undefined, path: RelPath, stat: Stat, decision: LevelDecision): void {
    const names = dir.names();
    const start = this.#tally.mark();
    this.#stack.push({ dir, name, path, stat, decision, names, visited: 0, entries: [], start });
    this.#options.indexOut?.add(path, indexRecord(stat, { kept: false }));
  }

  #leave({ dir, path, stat, decision, entries, start }: Frame, name: Name): void {
    const tree = this.#put(encodeTree(entries));
    this.#stack.pop();
    dir.close();
    const parent = this.#top();
    if (isLowering(decision, parent.decision)) {
      this.#tally.lowered(path, decision.level, decision.rule, this.#tally.since(start));
    }
    this.#add(parent, name, stateOf(stat, digestContent(tree)));
  }

  #addFile(frame: Frame, seen: Seen, decision: LevelDecision): void {
    const { path, name, stat } = seen;
    const { content, kept, limit } = this.#files.read(seen, decision);
    if (content.is === 'unknown') return this.#addRefused(frame, seen, content.reason);
    this.#tally.file(stat.size);
    const lowering = limit ?? (isLowering(decision, frame.decision) ? decision : undefined);
    if (lowering !== undefined) {
      this.#tally.lowered(path, lowering.level, lowering.rule, { files: 1, bytes: stat.size });
    }
    this.#index(seen, content.is === 'digest' ? content.digest : undefined, kept);
    this.#add(frame, name, stateOf(stat, content));
  }

  /** A link's target is always kept, whatever the level: it is as short as a path. */
  #addSymlink(frame: Frame, seen: Seen): void {
    let target: Buffer;
    try {
      target = toBytes(seen.dir.readlink(seen.name));
    } catch (error) {
      const errno = errnoOf(error);
      if (isMoved(error) || errno === 'ENOENT' || errno === 'EINVAL') throw new FileMoved();
      return this.#addRefused(frame, seen, reasonOf(errno));
    }
    if (leadsOut(seen.path, fromBytes(target), this.#options.rootPath)) this.#tally.outward(seen.path);
    const digest = this.#put(target);
    this.#index(seen, digest, this.#options.objects !== undefined);
    this.#add(frame, seen.name, { ...stateOf(seen.stat, digestContent(digest)), size: target.length });
  }

  /** An entry that the system did not let us open. When that is for want of open files, the directory itself is too deep for us. */
  #addRefused(frame: Frame, seen: Seen, reason: UnobservedReason): void {
    if (reason === 'too-deep' && frame.name !== undefined) this.#giveUpLevels();
    else this.#addUnread(frame, seen, reason);
  }

  /** An entry whose metadata is known and whose content is not. */
  #addUnread(frame: Frame, seen: Seen, reason: UnobservedReason): void {
    const { name, path, stat } = seen;
    if (stat.kind === 'file') this.#tally.file(stat.size);
    this.#index(seen, undefined, false);
    this.#addUnknown(frame, name, path, stat, unknownContent(reason, stat));
  }

  /** An entry that may not be looked into; where not even its metadata is known it counts as a directory. */
  #addUnknown(frame: Frame, name: Name, path: RelPath, stat: Stat | undefined, content: Content): void {
    invariant(content.is === 'unknown', 'only unknown content is unobserved');
    this.#tally.unobserved(path, content.reason);
    const state = stat && stateOf(stat, content);
    this.#add(frame, name, state ?? { kind: 'directory', mode: 0, uid: 0, gid: 0, size: 0, content });
  }

  #add(frame: Frame, name: Name, state: State): void {
    this.#tally.entry();
    this.#progress.entry(state.kind === 'file');
    frame.entries.push({ name, state });
  }

  #index({ path, stat }: Seen, digest: Digest | undefined, kept: boolean): void {
    this.#options.indexOut?.add(path, indexRecord(stat, digest === undefined ? { kept } : { digest, kept }));
  }

  /** No more files can be opened: gives up the deepest directories and goes on with what is beside them. */
  #giveUpLevels(): void {
    const depth = Math.max(1, this.#stack.length - LEVELS_GIVEN_UP);
    const frame = this.#stack[depth];
    invariant(frame !== undefined, 'there is a level to give up');
    this.#abandon(frame, 'too-deep');
  }

  /** Records an entered directory, and with it everything below, as unknown after all. */
  #abandon(frame: Frame, reason: UnobservedReason, cause?: unknown): void {
    const { name, path, stat, start } = frame;
    if (name === undefined) throw rootFailure(cause);
    this.#closeFrom(this.#stack.indexOf(frame));
    this.#tally.rewind(start);
    this.#addUnknown(this.#top(), name, path, stat, unknownContent(reason, stat));
  }

  #closeFrom(depth: number): void {
    for (const { dir } of this.#stack.splice(depth)) dir.close();
  }

  #top(): Frame {
    const frame = this.#stack.at(-1);
    invariant(frame !== undefined, 'the root is on the stack until the end');
    return frame;
  }

  #put(bytes: Buffer): Digest {
    return this.#options.objects?.put(bytes) ?? digestOf(bytes);
  }

  #isExcluded(stat: Stat): boolean {
    return this.#options.exclude.some((excluded) => isSameInode(excluded, stat));
  }
}

/** The rule lowers this entry, and is not merely the one that lowered the directory around it. */
function isLowering(decision: LevelDecision, parent: LevelDecision): boolean {
  if (decision.level === 'content') return false;
  return decision.level !== parent.level || decision.rule !== parent.rule;
}
