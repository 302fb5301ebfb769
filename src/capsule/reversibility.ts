import { showNumber } from '../core/index.ts';
import type { CaptureLevel } from '../snapshot/index.ts';
import {
  type CapsuleDocument,
  MAX_NAMED_PATHS,
  type NotRecoverableReason,
  type ReversibilityTier,
} from './format.ts';

export interface ReversibilityFacts extends CoverageFacts {
  readonly recoverable: number;
  readonly notRecoverable: readonly { reason: NotRecoverableReason; count: number }[];
  /** Changed files that had, or have, several names. */
  readonly linked?: number;
  /** The changes are held in a layer and have not reached the workspace. */
  readonly held: boolean;
}

/** What was observed, and how closely. */
export interface CoverageFacts {
  /** Nothing was unobserved. */
  readonly coverageComplete: boolean;
  /** Places that were looked at less closely than the normal level; lists stop at MAX_NAMED_PATHS. */
  readonly lowered: number;
  /** Of these, places at level `structure`. */
  readonly namesOnly?: number;
  /** Further places, of what the run left. */
  readonly loweredAfter?: number;
  readonly storeInsideWorkspace: boolean;
  /** Links that lead out of the workspace. */
  readonly outward?: number;
  /** The root directory was not at its path at the end. */
  readonly root?: CapsuleDocument['coverage']['root'];
}

/** What can be taken back and what cannot, in words. */
export interface Reversibility {
  readonly tier: ReversibilityTier;
  /** One qualified sentence. */
  readonly summary: string;
  /** What the sentence does not cover; never empty. */
  readonly limits: readonly string[];
}

/** The only place that words it; every renderer shows these texts. */
export function wordReversibility(facts: ReversibilityFacts): Reversibility {
  const tier = tierOf(facts);
  const total = totalOf(facts);
  return {
    tier,
    summary: total === 0 ? NO_CHANGE : SUMMARY[tier](facts.recoverable, total),
    limits: [
      ...facts.notRecoverable.map(wordReason),
      ...(facts.linked ? [wordLinked(facts.linked)] : []),
      ...wordLimits(facts),
    ],
  };
}

/** What no statement covers. */
export function wordLimits(facts: CoverageFacts): string[] {
  return [
    ...(facts.coverageComplete ? [] : [LIMITS.unobserved]),
    ...(facts.lowered > 0 ? [LIMITS.lowered(facts.lowered)] : []),
    ...(facts.loweredAfter ? [LIMITS.loweredAfter(facts.loweredAfter)] : []),
    ...(facts.namesOnly ? [LIMITS.namesOnly(facts.namesOnly)] : []),
    ...(facts.storeInsideWorkspace ? [LIMITS.store] : []),
    ...(facts.root === undefined ? [] : [LIMITS[facts.root]]),
    ...(facts.outward ? [LIMITS.outward(facts.outward)] : []),
    LIMITS.outside,
    LIMITS.remote,
  ];
}

/** What a capsule's document says of it. */
export function reversibilityOf(
  document: Pick<CapsuleDocument, 'reversibility' | 'coverage'>,
): Reversibility {
  const { reversibility, coverage } = document;
  return wordReversibility({
    recoverable: reversibility.recoverable,
    notRecoverable: reversibility.notRecoverable,
    ...(reversibility.linked !== undefined && { linked: reversibility.linked }),
    coverageComplete: coverage.complete,
    lowered: coverage.lowered.length,
    namesOnly: coverage.lowered.filter(({ level }) => level === 'structure').length,
    ...(coverage.loweredAfter !== undefined && {
      // An empty directory is no loss.
      loweredAfter: coverage.loweredAfter.filter(({ files }) => files !== 0).length,
    }),
    storeInsideWorkspace: coverage.storeInsideWorkspace,
    ...(coverage.root !== undefined && { root: coverage.root }),
    ...(coverage.outward !== undefined && { outward: coverage.outward.total }),
    held: reversibility.tier === 'contained',
  });
}

function tierOf(facts: ReversibilityFacts): ReversibilityTier {
  if (facts.held) return 'contained';
  const total = totalOf(facts);
  if (total > 0 && facts.recoverable === 0) return 'none';
  return facts.recoverable === total && facts.coverageComplete ? 'snapshot' : 'partial';
}

function totalOf(facts: ReversibilityFacts): number {
  return facts.notRecoverable.reduce((sum, { count }) => sum + count, facts.recoverable);
}

/** What may have changed although no change was seen, short; undefined when all was looked at that closely. */
export function wordUnseen({ lowered }: Pick<CapsuleDocument['coverage'], 'lowered'>): string | undefined {
  const at = (one: CaptureLevel): number => lowered.filter(({ level }) => level === one).length;
  const parts = [
    ...(at('structure')
      ? [`only names in ${countPlaces(at('structure'))}, an edit in place may not be seen`]
      : []),
    ...(at('stat')
      ? [`only metadata in ${countPlaces(at('stat'))}, a change that keeps size and times may not be seen`]
      : []),
    ...(at('none') ? [`nothing in ${countPlaces(at('none'))}`] : []),
  ];
  return parts.length === 0 ? undefined : `Looked at less closely: ${parts.join('; ')}.`;
}

const NO_CHANGE = 'No change to the workspace was recorded, so there is nothing to take back.';

/** What recover demands of every path, and the reason why no sentence here promises more. */
const CONDITION = 'each while its path is still as the run left it';

const SUMMARY: Readonly<Record<ReversibilityTier, (recoverable: number, total: number) => string>> = {
  contained: (_, total) =>
    `${changes(total)} held in a layer: the workspace has none of it until it is applied.`,
  snapshot: (recoverable, total) =>
    `${showNumber(recoverable)} of ${changes(total)} can be taken back, ${CONDITION}.`,
  partial: (recoverable, total) =>
    `${showNumber(recoverable)} of ${changes(total)} can be taken back, ${CONDITION}.`,
  none: (_, total) =>
    total === 1
      ? 'The one recorded change cannot be taken back.'
      : `None of ${changes(total)} can be taken back.`,
};

function changes(count: number): string {
  return count === 1 ? '1 recorded change' : `${showNumber(count)} recorded changes`;
}

const REASONS: Readonly<Record<NotRecoverableReason, string>> = {
  'content-not-kept': 'the content before the run was hashed but not kept',
  'before-command':
    'it appeared or changed during the first scan, before the command, and recover leaves it alone',
  'not-read': 'the content before the run was not read, only its metadata',
  unreadable: 'the content before the run could not be read',
  unstable: 'the content kept changing while it was read',
  'unknown-before': 'what was there before the run is not known',
  'unknown-after': 'what the run left there is not known, so later work could not be told from it',
  'unsupported-kind': 'fifos, sockets and device nodes are not made again',
};

function wordReason({ reason, count }: { reason: NotRecoverableReason; count: number }): string {
  return `${count === 1 ? '1 change' : `${showNumber(count)} changes`} cannot be taken back: ${REASONS[reason]}.`;
}

function wordLinked(count: number): string {
  const files =
    count === 1 ? '1 changed file has, or had,' : `${showNumber(count)} changed files have, or had,`;
  return `${files} several names (hard links): one is replaced only if the run changed all of its names, and comes back as a file of its own.`;
}

const LIMITS = {
  unobserved:
    'Part of the workspace was not observed: of those places names and metadata are seen at most, contents are not looked at and cannot be taken back.',
  lowered: (places: number): string =>
    `In ${countPlaces(places)} content was not kept, by rule or limit; what was changed or deleted there can be put back only where the store had its content already.`,
  loweredAfter: (places: number): string =>
    `In ${countPlaces(places)} content that the run left was not kept: to take that back, by removing or replacing it, cannot be undone.`,
  namesOnly: (places: number): string =>
    `In ${countPlaces(places)} only names were looked at: what was made, removed or renamed there is listed, an edit in place may not be.`,
  store: 'The store lies inside the workspace, within reach of the command.',
  outward: (links: number): string =>
    `${links === 1 ? '1 link leads' : `${showNumber(links)} links lead`} out of the workspace: what lies behind is not recorded.`,
  removed: 'The workspace root itself was removed: make the directory again at its path, and recover in it.',
  'not-at-its-path':
    'The workspace root is not at its path any more (moved, or out of sight): nothing can be taken back until it is there again.',
  outside:
    'Nothing outside the workspace is covered: other files (those behind links too), processes and settings of this machine.',
  remote:
    'Effects on remotes, networks, databases and services are not covered; what must not reach them has to be contained before the run.',
} as const;

function countPlaces(places: number): string {
  if (places >= MAX_NAMED_PATHS) return `${MAX_NAMED_PATHS} places or more`;
  return places === 1 ? '1 place' : `${places} places`;
}
