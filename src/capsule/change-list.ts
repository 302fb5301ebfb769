import {
  AgentdiffError,
  compareInWalk,
  isWithin,
  type RelPath,
  ROOT_PATH,
  toJsonPath,
} from '../core/index.ts';
import type { Observed } from '../snapshot/index.ts';
import type { ChangeCounts, ChangeRecord, ChangeTotals, Decision, NotRecoverableReason } from './format.ts';

/** Counts changes. */
export class ChangeTally {
  readonly #counts: ChangeCounts = { created: 0, deleted: 0, modified: 0 };
  readonly #reasons = new Map<NotRecoverableReason, number>();
  readonly #decisions: Record<Decision, number> = { allow: 0, review: 0, deny: 0 };
  #recoverable = 0;
  #linked = 0;

  add({ before, after, reason, decision }: ChangeRecord): void {
    if (isLinked(before) || isLinked(after)) this.#linked++;
    this.#counts[before === undefined ? 'created' : after === undefined ? 'deleted' : 'modified']++;
    if (reason === undefined) this.#recoverable++;
    else this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    this.#decisions[decision]++;
  }

  totals(): ChangeTotals {
    const notRecoverable = [...this.#reasons].map(([reason, count]) => ({ reason, count }));
    return {
      counts: { ...this.#counts },
      recoverable: this.#recoverable,
      notRecoverable: notRecoverable.sort((a, b) => (a.reason < b.reason ? -1 : 1)),
      linked: this.#linked,
      decisions: { ...this.#decisions },
    };
  }
}

function isLinked(side: Observed | undefined): boolean {
  return side?.state.kind === 'file' && (side.particulars?.nlink ?? 1) > 1;
}

/**
 * Holds a list of changes to its rules, one record after the other. Memory is bounded by the depth of the tree:
 * paths come in the order of a walk (name by name, each compared by its bytes, a directory before what it holds), so duplicates meet
 * and every listed ancestor of an entry is still at hand.
 */
export class ChangeListCheck {
  /** The last entry and its listed ancestors, from the root down: each lies within the one before. */
  readonly #open: ChangeRecord[] = [];
  #last: RelPath | undefined;

  /** @throws CAPSULE_INVALID, naming the entry */
  add(record: ChangeRecord): void {
    const { path } = record;
    if (this.#last !== undefined && compareInWalk(this.#last, path) >= 0) {
      refuse(path, 'stands twice in the list or out of its order');
    }
    this.#last = path;
    checkRecord(record);
    this.#checkAncestors(record);
    this.#open.push(record);
  }

  #checkAncestors(record: ChangeRecord): void {
    for (let last = this.#open.at(-1); last !== undefined; last = this.#open.at(-1)) {
      if (isWithin(record.path, last.path)) break;
      this.#open.pop();
    }
    for (const ancestor of this.#open) {
      if (record.before) checkHolds(record.path, ancestor.before);
      if (record.after) checkHolds(record.path, ancestor.after);
      if (isUnknown(ancestor.before) || isUnknown(ancestor.after)) {
        refuse(record.path, 'lies below a directory that is unknown on one side');
      }
    }
  }
}

function checkRecord({ path, before, after, recoverable }: ChangeRecord): void {
  const isDirectory = before?.state.kind === 'directory' && after?.state.kind === 'directory';
  if (path === ROOT_PATH && !isDirectory) refuse(path, 'is the root, which is a directory before and after');
  if (!recoverable) return;
  if (isUnknown(before)) refuse(path, 'is called recoverable though what was there before is unknown');
  const left = after?.state.content;
  if (left?.is === 'unknown' && left.identity === undefined) {
    refuse(path, 'is called recoverable though what the run left there is unknown');
  }
}

function checkHolds(path: RelPath, ancestor: Observed | undefined): void {
  if (ancestor?.state.kind !== 'directory')
    refuse(path, 'lies below something that is no directory on that side');
}

function isUnknown(side: Observed | undefined): boolean {
  return side?.state.content.is === 'unknown';
}

function refuse(path: RelPath, why: string): never {
  const name = toJsonPath(path).path;
  throw new AgentdiffError('CAPSULE_INVALID', `entry ${JSON.stringify(name)} ${why}`, {
    data: { path: name },
  });
}
