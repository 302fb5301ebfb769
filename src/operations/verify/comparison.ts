import { type CapsuleDocument, type ChangeRecord, fromSnapshotDocument } from '../../capsule/index.ts';
import { AgentdiffError, lossyText } from '../../core/index.ts';
import { changeDecisions, type Policy } from '../../policy/index.ts';
import { type Change, diffSnapshots } from '../../snapshot/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import { type Finding, inconsistent } from './claim.ts';
import { isSameState } from './same-state.ts';

/** Holds the list of changes, as it is read, to the difference of the two snapshots and to what the policy decides. In flat memory. */
export class SnapshotComparison {
  readonly #actual: Iterator<Change>;
  readonly #decide: ReturnType<typeof changeDecisions>;
  readonly #findings: Finding[] = [];
  /** Something was found after which the two lists cannot be laid side by side. */
  #isEnded = false;

  constructor(store: WorkspaceStore, { snapshots }: CapsuleDocument, policy: Policy) {
    const [before, after] = [fromSnapshotDocument(snapshots.before), fromSnapshotDocument(snapshots.after)];
    this.#actual = diffSnapshots(store.objects, before, after);
    this.#decide = changeDecisions(policy);
  }

  /** The next change of the list. */
  add(recorded: ChangeRecord): void {
    if (this.#isEnded) return;
    const next = this.#next();
    if (next === 'unknown') return;
    if (next === undefined) {
      this.#end(recorded, 'the list names a change that the snapshots do not show');
    } else if (!isSameChange(recorded, next)) {
      this.#end(next, DIFFERS);
    } else {
      const { decision, rule } = this.#decide(next);
      if (decision === recorded.decision && rule === recorded.rule) return;
      const what = `the policy says ${decision} by rule ${rule} of this change`;
      this.#findings.push(inconsistent(lossyText(next.path), what));
    }
  }

  /** What was found, when the whole list was added. */
  findings(): readonly Finding[] {
    if (!this.#isEnded) {
      const next = this.#next();
      if (next !== undefined && next !== 'unknown') this.#end(next, DIFFERS);
      this.#isEnded = true;
    }
    return this.#findings;
  }

  #next(): Change | 'unknown' | undefined {
    try {
      const next = this.#actual.next();
      return next.done === true ? undefined : next.value;
    } catch (error) {
      if (!(error instanceof AgentdiffError)) throw error;
      const code = error.code === 'OBJECT_MISSING' ? 'missing' : 'damaged';
      this.#findings.push({ code, what: `the snapshots cannot be compared: ${error.message}` });
      this.#isEnded = true;
      return 'unknown';
    }
  }

  #end({ path }: Pick<Change, 'path'>, what: string): void {
    this.#findings.push(inconsistent(lossyText(path), what));
    this.#isEnded = true;
  }
}

const DIFFERS = 'the list of changes differs here from the difference of the snapshots';

function isSameChange(recorded: ChangeRecord, actual: Change): boolean {
  return (
    recorded.path === actual.path &&
    isSameState(recorded.before?.state, actual.before?.state) &&
    isSameState(recorded.after?.state, actual.after?.state)
  );
}
