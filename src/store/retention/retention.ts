import { type ByteString, type Name, newRunId, type RunId } from '../../core/index.ts';
import { removeTree, rename, syncDir } from '../../fs/write.ts';
import { writing } from '../failures.ts';
import { removedCapsuleName } from '../layout.ts';
import { removeLeftovers } from '../leftovers.ts';
import type { Lock } from '../lock.ts';
import { removeRun } from '../run.ts';
import type { StoreFolders } from '../unfinished.ts';
import type { DigestSet } from './digest-set.ts';
import type { SweepPlan } from './plan-sweep.ts';
import { sweep } from './sweep.ts';

/**
 * Removing, for one that has the workspace for itself while no run is active. Each call is whole on the disk when it returns, and may be cut
 * short at any point: what it was asked to keep is there all the same.
 */
export class Retention {
  readonly #base: ByteString;
  readonly #folders: StoreFolders;
  readonly #lock: Lock;
  readonly #now: number;
  #steps = 0;

  /** @param now milliseconds since the epoch */
  constructor(base: ByteString, folders: StoreFolders, lock: Lock, now: number) {
    this.#base = base;
    this.#folders = folders;
    this.#lock = lock;
    this.#now = now;
  }

  /** What ended processes left, of runs that are gone too. */
  removeLeftovers(): void {
    writing(this.#base, () => removeLeftovers(this.#folders, this.#now, true));
  }

  /** Takes a capsule out of sight by one rename and removes it. */
  removeCapsule(run: RunId): void {
    const { capsules } = this.#folders;
    const removed = removedCapsuleName(run);
    writing(this.#base, () => {
      rename(capsules, run as string as Name, capsules, removed);
      syncDir(capsules);
      removeTree(capsules, removed);
    });
    this.#lock.touch(this.#now);
  }

  /** Removes a run that was interrupted, whose process is gone; what its before-snapshot holds is nobody's then. */
  removeInterrupted(run: RunId): void {
    const { pending } = this.#folders;
    writing(this.#base, () => {
      // What nobody needs any more, an intent included, is one rename away from being no run at all.
      removeRun(pending, run as string as Name);
      syncDir(pending);
    });
    this.#lock.touch(this.#now);
  }

  /** See {@link sweep}. @returns packs that hold something damaged and stay */
  sweep(plan: SweepPlan, needed: DigestSet | undefined): Name[] {
    return sweep(plan, needed, {
      base: this.#base,
      folders: this.#folders,
      id: newRunId(this.#now, undefined),
      // Every step is a sign of life; a clock of its own would not make it a better one.
      onStep: () => this.#lock.touch(this.#now + ++this.#steps),
    });
  }
}
