import { isWithin, joinPath, type RelPath, ROOT_PATH, splitPath } from '../../core/index.ts';
import type { Dir } from '../../fs/index.ts';
import { observe } from '../../snapshot/index.ts';
import { type Draft, type Drafts, quoted, refuse } from './draft.ts';
import { Refusal, toRefusal } from './refusal.ts';

/** Refuses steps that are right each by itself and cannot be done together with the others as they were decided. */
export function refuseConflicts(drafts: Drafts, root: Dir): void {
  refuseSharedFiles(drafts);
  refuseOccupiedDirectories(drafts, root);
  refuseBelowRefused(drafts);
}

/** A file with several names may be replaced only where the plan sees to all of them; otherwise one name would keep what the run wrote. */
function refuseSharedFiles(drafts: Drafts): void {
  const names = new Map<string, Draft[]>();
  for (const draft of drafts.values()) {
    const { verdict, seen } = draft;
    if (verdict !== 'apply' || seen?.kind !== 'file' || seen.nlink < 2) continue;
    const inode = `${seen.dev}:${seen.ino}`;
    const group = names.get(inode);
    if (group === undefined) names.set(inode, [draft]);
    else group.push(draft);
  }
  for (const group of names.values()) {
    const links = group[0]?.seen?.nlink ?? 0;
    if (links === group.length) continue;
    for (const draft of group) {
      if (draft.wanted === undefined) continue;
      refuse(
        draft,
        new Refusal(
          'hard-linked',
          `the file has ${links} names, and this run changed ${group.length} of them`,
        ),
      );
    }
  }
}

/** A directory that has to go, or to make way, must hold nothing but what goes with it. Deepest first, so that a refusal climbs. */
function refuseOccupiedDirectories(drafts: Drafts, root: Dir): void {
  for (const draft of [...drafts.values()].reverse()) {
    if (draft.verdict !== 'apply' || draft.expected?.kind !== 'directory') continue;
    if (draft.wanted?.state.kind === 'directory') continue;
    const refusal = refusalOfContent(draft.path, drafts, root);
    if (refusal === undefined) continue;
    refuse(draft, refusal);
    // A directory that must make way for something else stays whole: taking half of it away would help nobody.
    if (draft.wanted !== undefined) refuseSubtree(draft.path, drafts);
  }
}

function refusalOfContent(path: RelPath, drafts: Drafts, root: Dir): Refusal | undefined {
  try {
    const foreign = namesIn(path, root).find((child) => !isRemoved(drafts.get(child)));
    return foreign && new Refusal('directory-not-empty', `it holds ${quoted(foreign)}, which stays`);
  } catch (error) {
    return toRefusal(error);
  }
}

function namesIn(path: RelPath, root: Dir): RelPath[] {
  const place = observe(root, path);
  if (place.found === 'blocked') return [];
  try {
    if (place.found === 'absent') return [];
    const dir = place.parent.openDir(place.name);
    try {
      return dir.names().map((name) => joinPath(path, name));
    } finally {
      dir.close();
    }
  } finally {
    place.parent.close();
  }
}

function isRemoved(draft: Draft | undefined): boolean {
  return draft !== undefined && draft.verdict === 'apply' && draft.wanted === undefined;
}

function refuseSubtree(path: RelPath, drafts: Drafts): void {
  const refusal = new Refusal('parent-refused', `${quoted(path)} had to be refused`);
  for (const draft of drafts.values()) {
    if (draft.path !== path && isWithin(draft.path, path) && draft.verdict === 'apply')
      refuse(draft, refusal);
  }
}

/** What is to be made inside a directory that is not put back after all is refused too. */
function refuseBelowRefused(drafts: Drafts): void {
  for (const draft of drafts.values()) {
    if (draft.verdict !== 'apply' || draft.wanted === undefined) continue;
    const parent = nearestAbove(draft.path, drafts);
    const needsParent = parent?.wanted?.state.kind === 'directory' && parent.expected?.kind !== 'directory';
    if (parent?.verdict === 'refused' && needsParent) {
      refuse(draft, new Refusal('parent-refused', `${quoted(parent.path)} had to be refused`));
    }
  }
}

function nearestAbove(path: RelPath, drafts: Drafts): Draft | undefined {
  const parent = splitPath(path)?.parent;
  return parent === undefined || parent === ROOT_PATH ? undefined : drafts.get(parent);
}
