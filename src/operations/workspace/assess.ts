import type { ChangeRecord, NotRecoverableReason } from '../../capsule/index.ts';
import { canonicalJson } from '../../core/index.ts';
import type { CaptureLevel, Change, Content, State } from '../../snapshot/index.ts';
import type { ObjectReader } from '../../store/index.ts';

/** What the store tells about objects. */
type Kept = Pick<ObjectReader, 'has'>;

export type Assessment = Pick<ChangeRecord, 'level' | 'recoverable' | 'reason'>;

/**
 * Whether a change can be taken back, as far as the run itself knows: what would have to be put back was kept, and what would have to be
 * replaced can be told from later work. What came about before the command is not the run's to take back. Whether it is still so at the time of a recover, only a plan can say.
 */
export function assess(change: Change, objects: Kept, isBeforeCommand = false): Assessment {
  const reason = isBeforeCommand ? 'before-command' : reasonAgainst(change, objects);
  return { level: levelOf(change, objects), recoverable: reason === undefined, ...(reason && { reason }) };
}

function reasonAgainst({ before, after }: Change, objects: Kept): NotRecoverableReason | undefined {
  if (after?.state.content.is === 'unknown' && after.state.content.identity === undefined)
    return 'unknown-after';
  if (before === undefined || isMetadataOnly(after?.state, before.state)) return undefined;
  const { kind, content } = before.state;
  if (content.is === 'unknown')
    return content.reason === 'unreadable' || content.reason === 'unstable'
      ? content.reason
      : 'unknown-before';
  if (kind === 'directory') return undefined;
  if (kind !== 'file' && kind !== 'symlink') return 'unsupported-kind';
  if (content.is !== 'digest') return 'not-read';
  return objects.has(content.digest) ? undefined : 'content-not-kept';
}

/** Same kind and content: only permission bits or owner differ, so nothing has to be read from the store to go from one to the other. */
export function isMetadataOnly(expected: State | undefined, wanted: State): boolean {
  if (expected === undefined || expected.kind !== wanted.kind) return false;
  if (wanted.kind === 'directory')
    return expected.content.is !== 'unknown' && wanted.content.is !== 'unknown';
  return expected.size === wanted.size && isSameContent(expected.content, wanted.content);
}

function isSameContent(a: Content, b: Content): boolean {
  return a.is !== 'unknown' && canonicalJson(a) === canonicalJson(b);
}

/** The level at which the entry really was captured, which limits can make lower than its rule says. */
function levelOf({ before, after }: Change, objects: Kept): CaptureLevel {
  const content = (before ?? after)?.state.content;
  if (content?.is === 'identity') return 'stat';
  if (content?.is === 'unknown') return 'none';
  const kind = (before ?? after)?.state.kind;
  if (content?.is !== 'digest' || kind === 'directory') return 'content';
  return objects.has(content.digest) ? 'content' : 'digest';
}
