import type { CapsuleDocument, NotRecoverableReason, ReversibilityTier } from './format.ts';

export interface ReversibilityFacts {
  readonly recoverable: number;
  readonly notRecoverable: readonly { reason: NotRecoverableReason; count: number }[];
  /** Nothing was unobserved, before or after. */
  readonly coverageComplete: boolean;
  /** Places that were looked at less closely than the normal level. */
  readonly lowered: number;
  readonly storeInsideWorkspace: boolean;
  /** The changes are held in a layer and have not reached the workspace. */
  readonly held: boolean;
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
  return { tier: 'none', summary: `${facts.recoverable}`, limits: [] };
}

/** What a capsule's document says of it. */
export function reversibilityOf(
  document: Pick<CapsuleDocument, 'reversibility' | 'coverage'>,
): Reversibility {
  const { reversibility, coverage } = document;
  return wordReversibility({
    recoverable: reversibility.recoverable,
    notRecoverable: reversibility.notRecoverable,
    coverageComplete: coverage.complete,
    lowered: coverage.lowered.length,
    storeInsideWorkspace: coverage.storeInsideWorkspace,
    held: reversibility.tier === 'contained',
  });
}
