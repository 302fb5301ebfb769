import { fromBytes, type Name, type RelPath, ROOT_PATH } from '../../core/index.ts';
import { type Dir, isSameInode } from '../../fs/index.ts';
import {
  changeLinkOwner,
  createFile,
  link,
  makeSymlink,
  removeFile,
  removeQuietly,
  setModified,
  temporaryName,
} from '../../fs/write.ts';
import { observe, type State } from '../../snapshot/index.ts';
import type { ObjectReader } from '../../store/index.ts';
import { Refusal } from './refusal.ts';

/** The state that an entry is to be in. */
export interface Wanted {
  readonly state: State;
  /** Modification time to put back; microseconds at best. */
  readonly mtimeNs?: bigint;
}

/** What is staged together. Bytes are those of the files' sizes. */
const BATCH_FILES = 500;
const BATCH_BYTES = 256 * 2 ** 20;

/** Below this many files one sync each is cheaper than one of the whole file system. */
const FEW_FILES = 8;

interface Prepared {
  readonly parent: Dir;
  readonly name: Name;
}

/**
 * Makes new files and links complete and durable under temporary names beside their places, before any name changes. Many are prepared
 * together, so that one sync makes all of them durable.
 */
export class Staging {
  readonly #root: Dir;
  readonly #objects: ObjectReader;
  readonly #syncFileSystem: () => boolean;
  /** By the state that they were made from: a swap finds its own by the very object that its step holds. */
  readonly #prepared = new Map<Wanted, Prepared>();
  /** Device numbers of file systems on which a link was made. */
  readonly #hasLinks = new Set<bigint>();

  /** @param syncFileSystem makes everything written to the root's file system durable; false when it could not */
  constructor(root: Dir, objects: ObjectReader, syncFileSystem: () => boolean) {
    this.#root = root;
    this.#objects = objects;
    this.#syncFileSystem = syncFileSystem;
  }

  /** Does `use` for each step, batch by batch, with what each batch needs prepared. Nothing prepared is left behind. */
  inBatches<T extends { readonly path: RelPath; readonly wanted?: Wanted }>(
    steps: readonly T[],
    use: (step: T) => void,
  ): void {
    for (const batch of batches(steps)) {
      try {
        this.#prepare(batch);
        for (const step of batch) use(step);
      } finally {
        this.#drop();
      }
    }
  }

  /**
   * The temporary name in `dir` under which the wanted file or link stands, complete and on the disk; the caller's to use up.
   * @throws Refusal, OBJECT_MISSING, OBJECT_DAMAGED, or the system's error
   */
  take(dir: Dir, wanted: Wanted): Name {
    const prepared = this.#prepared.get(wanted);
    if (prepared !== undefined && isSameInode(prepared.parent.stat(), dir.stat())) {
      this.#prepared.delete(wanted);
      prepared.parent.close();
      return prepared.name;
    }
    return stage(dir, wanted, this.#objects, 'durable');
  }

  /**
   * Makes sure that a staged entry can be put in place by a link, before anything is moved or removed for it. Asked once a file system.
   * @throws the system's error where no links can be made
   */
  ensureLinks(dir: Dir, staged: Name): void {
    const { dev } = dir.stat();
    if (this.#hasLinks.has(dev)) return;
    const trial = temporaryName();
    link(dir, staged, dir, trial);
    removeFile(dir, trial);
    this.#hasLinks.add(dev);
  }

  /** The store has what this state's content was. */
  isKept({ kind, content }: State): boolean {
    return kind !== 'file' || (content.is === 'digest' && this.#objects.has(content.digest));
  }

  #prepare(steps: readonly { readonly path: RelPath; readonly wanted?: Wanted }[]): void {
    if (steps.length < FEW_FILES) return;
    for (const { path, wanted } of steps) {
      if (wanted?.state.kind === 'file' && path !== ROOT_PATH) this.#prepareOne(path, wanted);
    }
    // Without that one sync nothing prepared may be used: each file is staged at its turn then, with a sync of its own.
    if (this.#prepared.size > 0 && !this.#syncFileSystem()) this.#drop();
  }

  /** What cannot be prepared is tried again at its turn, and refused there. */
  #prepareOne(path: RelPath, wanted: Wanted): void {
    let parent: Dir | undefined;
    try {
      const place = observe(this.#root, path);
      if (place.found === 'blocked') return;
      parent = place.parent;
      this.#prepared.set(wanted, { parent, name: stage(parent, wanted, this.#objects, 'later') });
    } catch {
      parent?.close();
    }
  }

  #drop(): void {
    for (const { parent, name } of this.#prepared.values()) {
      removeQuietly(parent, name);
      parent.close();
    }
    this.#prepared.clear();
  }
}

function* batches<T extends { readonly wanted?: Wanted }>(steps: readonly T[]): Generator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const step of steps) {
    batch.push(step);
    bytes += step.wanted?.state.size ?? 0;
    if (batch.length < BATCH_FILES && bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  yield batch;
}

/** When a content of files is on the disk: when its staging returns, or only after a later sync of the file system. */
type Durability = 'durable' | 'later';

/** Writes the wanted file or symlink under a temporary name beside its place. */
function stage(dir: Dir, wanted: Wanted, objects: ObjectReader, durability: Durability): Name {
  const { state } = wanted;
  if (state.content.is !== 'digest') throw new Refusal('content-not-kept', 'its content was not kept');
  const staged = temporaryName();
  if (state.kind === 'symlink') stageSymlink(dir, staged, wanted, objects.get(state.content.digest));
  else if (state.kind === 'file') stageFile(dir, staged, wanted, objects, durability);
  else throw new Refusal('unsupported-kind', `a ${state.kind} cannot be made again`);
  return staged;
}

function stageSymlink(dir: Dir, staged: Name, { state, mtimeNs }: Wanted, target: Buffer): void {
  makeSymlink(fromBytes(target), dir, staged);
  try {
    const made = dir.lstat(staged);
    if (made.uid !== state.uid || made.gid !== state.gid) changeLinkOwner(dir, staged, state.uid, state.gid);
    if (mtimeNs !== undefined) setModified(dir, staged, mtimeNs);
  } catch (error) {
    removeQuietly(dir, staged);
    throw error;
  }
}

function stageFile(
  dir: Dir,
  staged: Name,
  { state, mtimeNs }: Wanted,
  objects: ObjectReader,
  durability: Durability,
): void {
  if (state.content.is !== 'digest') return;
  const file = createFile(dir, staged, 0o600);
  try {
    objects.stream(state.content.digest, (piece) => file.write(piece));
    const made = file.stat();
    if (made.uid !== state.uid || made.gid !== state.gid) file.chown(state.uid, state.gid);
    // After chown, which clears setuid and setgid.
    file.chmod(state.mode);
    if (mtimeNs !== undefined) file.setModified(mtimeNs);
    if (durability === 'durable') file.sync();
  } catch (error) {
    removeQuietly(dir, staged);
    throw error;
  } finally {
    file.close();
  }
}
