import type {
  CapsuleDocument,
  ChangeTotals,
  CoverageDocument,
  UnobservedDocument,
} from '../../capsule/index.ts';
import { MAX_NAMED_PATHS, wordReversibility } from '../../capsule/write.ts';
import { toJsonPath } from '../../core/index.ts';
import type { Snapshot, Unobserved } from '../../snapshot/index.ts';

/** Totals are true whatever their size; only the first paths are named, and the tree objects hold them all. */
export function toCoverageDocument(
  before: Snapshot,
  after: Snapshot,
  root: { readonly holdsStore: boolean; readonly isRemoved: boolean },
): CoverageDocument {
  return {
    complete: before.unobserved.length === 0 && after.unobserved.length === 0,
    unobserved: {
      before: before.unobserved.slice(0, MAX_NAMED_PATHS).map(toUnobservedDocument),
      after: after.unobserved.slice(0, MAX_NAMED_PATHS).map(toUnobservedDocument),
      beforeTotal: before.unobserved.length,
      afterTotal: after.unobserved.length,
    },
    lowered: before.lowered
      .slice(0, MAX_NAMED_PATHS)
      .map(({ path, ...rest }) => ({ ...toJsonPath(path), ...rest })),
    storeInsideWorkspace: root.holdsStore,
    ...(root.isRemoved && { rootRemoved: true }),
  };
}

function toUnobservedDocument({ path, reason }: Unobserved): UnobservedDocument {
  return { ...toJsonPath(path), reason };
}

/** What the capsule says of taking back; the words for it come from `wordReversibility` alone. */
export function toReversibilityDocument(
  totals: ChangeTotals,
  coverage: CoverageDocument,
): CapsuleDocument['reversibility'] {
  const { recoverable, notRecoverable } = totals;
  const { tier } = wordReversibility({
    recoverable,
    notRecoverable,
    coverageComplete: coverage.complete,
    lowered: coverage.lowered.length,
    storeInsideWorkspace: coverage.storeInsideWorkspace,
    held: false,
  });
  return { tier, recoverable, notRecoverable: [...notRecoverable] };
}
