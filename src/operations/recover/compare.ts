import { isWithin, joinPath, namesOf, type RelPath, ROOT_PATH } from '../../core/index.ts';
import type { Dir, Stat } from '../../fs/index.ts';
import { isInState, isRootInState, observe, type State } from '../../snapshot/index.ts';
import { isMetadataOnly } from '../workspace/assess.ts';
import { type Draft, type Drafts, quoted, refuse } from './draft.ts';
import type { PlanInput } from './plan.ts';
import { Refusal, toRefusal } from './refusal.ts';

/**
 * Decides about one step by what is in the workspace now: as expected, as wanted, or neither.
 * @param drafts the steps before it have been decided about
 */
export function judge(draft: Draft, drafts: Drafts, input: PlanInput): void {
  try {
    const now = compareWithNow(draft, drafts, input);
    draft.verdict = now;
    if (now === 'apply') checkPossible(draft, input);
  } catch (error) {
    refuse(draft, toRefusal(error));
  }
}

function compareWithNow(draft: Draft, drafts: Drafts, { root, mounts }: PlanInput): 'apply' | 'already' {
  const { path, expected, wanted } = draft;
  if (path === ROOT_PATH) return compareRoot(draft, root);
  if (isMounted(path, mounts))
    throw new Refusal('mount-in-the-way', 'another file system is mounted there, or above it');
  const place = observe(root, path);
  if (place.found === 'blocked') return blockedBy(place, draft, drafts);
  if (place.found === 'absent') {
    place.parent.close();
    if (expected === undefined && wanted !== undefined) return 'apply';
    if (wanted === undefined) return 'already';
    throw new Refusal('changed-since', `expected ${describe(expected)}, found nothing`);
  }
  try {
    draft.seen = place.stat;
    if (expected !== undefined && isInState(place.parent, place.name, expected) === 'yes') return 'apply';
    if (wanted !== undefined && isInState(place.parent, place.name, wanted.state) === 'yes') return 'already';
  } finally {
    place.parent.close();
  }
  if (expected?.content.is === 'unknown' && expected.content.identity === undefined) {
    throw new Refusal('not-observed', 'what the run left there is not known');
  }
  throw new Refusal(
    'changed-since',
    `expected ${describe(expected)}, found ${describeFound(place.stat, expected)}`,
  );
}

function isMounted(path: RelPath, mounts: ReadonlySet<string>): boolean {
  if (mounts.size === 0) return false;
  return namesOf(path).some((_, i, names) => mounts.has(names.slice(0, i + 1).reduce(joinPath, ROOT_PATH)));
}

function compareRoot({ expected, wanted }: Draft, root: Dir): 'apply' | 'already' {
  if (expected !== undefined && isRootInState(root, expected)) return 'apply';
  if (wanted !== undefined && isRootInState(root, wanted.state)) return 'already';
  throw new Refusal('changed-since', 'the mode or owner of the root was changed after the run');
}

/** A parent is missing or in the way: right only if this very plan puts the directory back first. */
function blockedBy(
  place: { at: RelPath; why: 'link' | 'not-directory' | 'unreadable' | 'missing' },
  { expected, wanted }: Draft,
  drafts: Drafts,
): 'apply' | 'already' {
  const parent = drafts.get(place.at);
  const isPutBack = parent?.verdict === 'apply' && parent.wanted?.state.kind === 'directory';
  if (isPutBack && expected === undefined) return 'apply';
  if (wanted === undefined && (place.why === 'missing' || parent?.verdict === 'already')) return 'already';
  const at = quoted(place.at);
  if (parent?.verdict === 'refused') throw new Refusal('parent-refused', `${at} had to be refused`);
  if (place.why === 'link') throw new Refusal('parent-is-link', `${at} is a symlink now`);
  if (place.why === 'unreadable') throw new Refusal('not-permitted', `${at} may not be entered`);
  throw new Refusal('parent-changed', `${at} is ${place.why === 'missing' ? 'gone' : 'no directory now'}`);
}

/** The wanted state must be one that can be made from what was kept. */
function checkPossible(draft: Draft, { objects, lowered }: PlanInput): void {
  const { record, expected, wanted } = draft;
  if (record.reason === 'before-command')
    throw new Refusal('before-command', 'it appeared or changed during the first scan, before the command');
  if (wanted === undefined) return;
  const { kind, content } = wanted.state;
  if (isMetadataOnly(expected, wanted.state)) return;
  if (content.is === 'unknown')
    throw new Refusal('not-observed', `what was there before the run is not known (${content.reason})`);
  if (kind === 'directory') return;
  if (kind !== 'file' && kind !== 'symlink')
    throw new Refusal('unsupported-kind', `a ${kind} cannot be made again`);
  if (content.is !== 'digest' || record.reason === 'content-not-kept') {
    throw new Refusal('content-not-kept', `its content was not kept (${levelBehind(draft, lowered)})`);
  }
  if (!objects.has(content.digest))
    throw new Refusal('content-missing', 'its content is not in the store any more');
}

/** As the run itself tells it: the level and rule of the place, which for a file in it can be more than what was seen of the file. */
function levelBehind({ path, record }: Draft, lowered: PlanInput['lowered']): string {
  const places = lowered.filter((place) => isWithin(path, place.path));
  const place = places.toSorted((a, b) => b.path.length - a.path.length)[0];
  return place === undefined ? `level ${record.level}` : `level ${place.level} by ${place.rule}`;
}

function describe(state: State | undefined): string {
  if (state === undefined) return 'nothing';
  const mode = state.mode.toString(8).padStart(4, '0');
  if (state.kind === 'directory') return `a directory with mode ${mode}`;
  const content = state.content.is === 'digest' ? ` and SHA-256 ${state.content.digest.slice(0, 12)}…` : '';
  return `a ${state.kind} with mode ${mode}, ${state.size} bytes${content}`;
}

function describeFound(stat: Stat, expected: State | undefined): string {
  const mode = stat.mode.toString(8).padStart(4, '0');
  const isAlike = expected?.kind === stat.kind && expected.mode === stat.mode && expected.size === stat.size;
  return `a ${stat.kind} with mode ${mode}${stat.kind === 'directory' ? '' : `, ${stat.size} bytes`}${isAlike ? ', other content or owner' : ''}`;
}
