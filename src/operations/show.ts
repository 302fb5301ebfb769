import {
  type CapsuleDocument,
  CapsuleReader,
  type ChangeRecord,
  type EventDocument,
  type FileProblem,
} from '../capsule/index.ts';
import { AgentdiffError, type ByteString, type Digest, fromBytes, type RunId } from '../core/index.ts';
import type { Policy } from '../policy/index.ts';
import { parsePolicy } from '../policy/parse.ts';
import type { ObjectReader } from '../store/index.ts';
import { FILE_PROBLEMS } from './verify/file-problems.ts';
import type { Context, Place } from './workspace/context.ts';
import { groupLowered, type LoweredGroup, mayBeCut } from './workspace/lowered.ts';
import { openForReading, withCapsule } from './workspace/open.ts';

/** A change, and for a link where it led and leads, as far as that was kept. */
export interface ShownChange extends ChangeRecord {
  readonly targets?: { readonly before?: ByteString; readonly after?: ByteString };
}

/** A part of a damaged capsule that could not be read to its end. */
export interface Unreadable {
  readonly part: 'digest' | 'changes' | 'events';
  readonly why: string;
}

export interface ShowReport {
  readonly runId: RunId;
  /** Empty when the files are intact; otherwise what is shown may not be what was sealed. */
  readonly problems: readonly (FileProblem & { readonly what: string })[];
  readonly capsule: CapsuleDocument;
  /** SHA-256 of the manifest; absent when that cannot be read. */
  readonly digest?: Digest;
  /** Up to the damage, when they are named in `unreadable`. */
  readonly changes: readonly ShownChange[];
  readonly events: readonly EventDocument[];
  readonly unreadable: readonly Unreadable[];
  /** What was looked at less closely, by level and rule; of a list that the capsule cut it counts the beginning. */
  readonly lowered: readonly LoweredGroup[];
  readonly loweredCut: boolean;
}

/**
 * One run in full; a damaged capsule is shown as far as it can be read, with its problems.
 * @throws CAPSULE_DAMAGED, CAPSULE_INVALID when `capsule.json` itself cannot be read
 */
export function showRun(context: Context, place: Place, ref: string): ShowReport {
  const { store, close } = openForReading(context, place);
  try {
    return withCapsule(store, ref, (dir, runId) => {
      const reader = CapsuleReader.open(dir, { unchecked: true });
      const problems = reader.checkFiles().map((one) => ({ ...one, what: FILE_PROBLEMS[one.problem] }));
      const capsule = documentOf(reader, runId);
      const unreadable: Unreadable[] = [];
      const changes: ShownChange[] = [];
      const events: EventDocument[] = [];
      let digest: Digest | undefined;
      attempt('digest', unreadable, () => (digest = reader.digest()));
      attempt('changes', unreadable, () => {
        for (const change of reader.changes()) changes.push(withTargets(change, store.objects));
      });
      attempt('events', unreadable, () => {
        for (const event of reader.events()) events.push(event);
      });
      const places = capsule.coverage.lowered;
      const lowered = groupLowered(places, policyOf(reader));
      const known = { lowered, loweredCut: mayBeCut(places), ...(digest && { digest }) };
      return { runId, problems, capsule, ...known, changes, events, unreadable };
    });
  } finally {
    close();
  }
}

/** For the reasons of its rules; a policy that cannot be read is for `verify` to name. */
function policyOf(reader: CapsuleReader): Policy | undefined {
  try {
    return parsePolicy(reader.policy());
  } catch (error) {
    if (!(error instanceof AgentdiffError) || error.code === 'INTERNAL') throw error;
    return undefined;
  }
}

function documentOf(reader: CapsuleReader, runId: RunId): CapsuleDocument {
  try {
    return reader.document();
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
    const { code, message, data } = error;
    const hint = `\`agentdiff verify ${runId}\` names everything that is wrong with this capsule`;
    throw new AgentdiffError(code, message, { hint, data, cause: error });
  }
}

function attempt(part: Unreadable['part'], unreadable: Unreadable[], read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof AgentdiffError) || error.code === 'INTERNAL') throw error;
    unreadable.push({ part, why: error.message });
  }
}

function withTargets(change: ChangeRecord, objects: ObjectReader): ShownChange {
  const [before, after] = [targetOf(change.before, objects), targetOf(change.after, objects)];
  if (before === undefined && after === undefined) return change;
  return {
    ...change,
    targets: { ...(before !== undefined && { before }), ...(after !== undefined && { after }) },
  };
}

/** More than any system lets a link hold. Bytes. */
const MAX_TARGET_BYTES = 64 << 10;

/** Where a link led; undefined for what is no link, and for a target that is not in the store any more. */
function targetOf(side: ChangeRecord['before'], objects: ObjectReader): ByteString | undefined {
  if (side?.state.kind !== 'symlink' || side.state.content.is !== 'digest') return undefined;
  try {
    return fromBytes(objects.get(side.state.content.digest, MAX_TARGET_BYTES));
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
    return undefined;
  }
}
