import { CapsuleReader } from '../../capsule/index.ts';
import { AgentdiffError, type Digest, isDigest, type RunId } from '../../core/index.ts';
import { decodeTree, type State } from '../../snapshot/index.ts';
import { DigestSet, type WorkspaceStore } from '../../store/index.ts';
import { pendingRuns } from '../workspace/intent.ts';

/** Why it is not known which objects are needed: then none may go. */
export interface Unknown {
  /** The run whose needs cannot be told; absent when it is the stat index. */
  readonly runId?: RunId;
  readonly error: AgentdiffError;
}

/**
 * The objects that something in the store needs. One set holds all digests seen, so that what many snapshots share is walked once; the memory is
 * some 70 bytes for each object, whatever the number of capsules.
 */
export class Needed {
  readonly digests = new DigestSet();
  /** Trees of which the contents below are in the set too; of every tree in the set all trees below are. */
  readonly #whole = new DigestSet();
  readonly #store: WorkspaceStore;
  #bytes = 0;

  constructor(store: WorkspaceStore) {
    this.#store = store;
  }

  /** Bytes of all of them, each once. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * What no capsule's end takes away: the before-snapshots of interrupted runs, and what the last scan found, because the next one relies on it.
   * @param going an interrupted run that is to go
   * @throws OBJECT_…, STORE_DAMAGED, CAPSULE_…
   */
  addRoots(newest: RunId | undefined, going?: RunId): void {
    for (const { runId, intent } of pendingRuns(this.#store)) {
      if (runId === going || this.#store.readIntent(runId) === undefined) continue;
      if (intent === undefined || !isDigest(intent.before)) throw unreadableIntent(runId);
      this.#addWhole(intent.before);
    }
    if (newest === undefined) return;
    withReader(this.#store, newest, (reader) => this.#addWhole(reader.document().snapshots.after.tree));
  }

  /**
   * What a sealed capsule needs: the trees of both snapshots, so that it can be verified, and what its changes hold before and after.
   * @throws OBJECT_…, STORE_DAMAGED, CAPSULE_…
   */
  addCapsule(runId: RunId): void {
    withReader(this.#store, runId, (reader) => {
      const { before, after } = reader.document().snapshots;
      this.#addTrees(before.tree);
      this.#addTrees(after.tree);
      for (const change of reader.changes()) {
        for (const observed of [change.before, change.after]) this.#addContent(observed?.state);
      }
    });
  }

  #addContent(state: State | undefined): void {
    if (state?.content.is === 'digest' && state.kind !== 'directory') this.#add(state.content.digest);
  }

  /** @returns whether it is new */
  #add(digest: Digest): boolean {
    if (!this.digests.add(digest)) return false;
    // A content that was hashed and not kept is not there, and costs nothing.
    this.#bytes += this.#store.objects.namedSize(digest) ?? 0;
    return true;
  }

  #addTrees(root: Digest): void {
    for (const stack = [root]; stack.length > 0; ) {
      const tree = stack.pop();
      if (tree === undefined || !this.#add(tree)) continue;
      for (const { state } of decodeTree(this.#store.objects.get(tree))) {
        if (state.kind === 'directory' && state.content.is === 'digest') stack.push(state.content.digest);
      }
    }
  }

  #addWhole(root: Digest): void {
    for (const stack = [root]; stack.length > 0; ) {
      const tree = stack.pop();
      if (tree === undefined || !this.#whole.add(tree)) continue;
      this.#add(tree);
      for (const { state } of decodeTree(this.#store.objects.get(tree))) {
        if (state.kind === 'directory' && state.content.is === 'digest') stack.push(state.content.digest);
        else this.#addContent(state);
      }
    }
  }
}

function unreadableIntent(runId: RunId): AgentdiffError {
  return new AgentdiffError('STORE_DAMAGED', `the intent of the interrupted run ${runId} cannot be read`, {
    data: { runId },
  });
}

/** @throws CAPSULE_NOT_FOUND, and what `use` throws */
function withReader<T>(store: WorkspaceStore, runId: RunId, use: (reader: CapsuleReader) => T): T {
  const dir = store.openCapsule(runId);
  if (dir === undefined)
    throw new AgentdiffError('CAPSULE_NOT_FOUND', `the capsule of run ${runId} cannot be opened`);
  try {
    return use(CapsuleReader.open(dir));
  } finally {
    dir.close();
  }
}

/** Why a capsule is not removed although no rule keeps it: nobody could say what it was. @returns undefined when it is whole */
export function capsuleProblem(store: WorkspaceStore, runId: RunId): AgentdiffError | undefined {
  return failureOf(() =>
    withReader(store, runId, (reader) => {
      const [problem] = reader.checkFiles();
      if (problem !== undefined)
        throw new AgentdiffError('CAPSULE_DAMAGED', `the capsule of run ${runId} is not intact`);
      reader.document();
    }),
  );
}

/** What `action` fails with. Anything but an error of ours comes through. */
export function failureOf(action: () => void): AgentdiffError | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (!(error instanceof AgentdiffError) || error.code === 'INTERNAL') throw error;
    return error;
  }
}
