import { type ByteString, toJsonPath } from '../../core/index.ts';
import type { Policy } from '../../policy/index.ts';
import type { Lowering, Snapshot, Unobserved } from '../../snapshot/index.ts';
import { groupLowered, type LoweredGroup } from './lowered.ts';

/** `rule`: the one that says `none`, where that is the reason. */
export type UnobservedPlace = Unobserved & { readonly rule?: string };

/** Said before the child starts. */
export type RunNotice =
  /** Content is not kept in these places, so changes there cannot be taken back. */
  | {
      readonly kind: 'not-kept';
      readonly lowered: readonly Lowering[];
      readonly groups: readonly LoweredGroup[];
    }
  /** These places were not observed, or not read: what happens there is not known, or cannot be taken back. */
  | { readonly kind: 'not-observed'; readonly places: readonly UnobservedPlace[] }
  /** The store lies in the workspace, within the child's reach. */
  | { readonly kind: 'store-inside'; readonly store: ByteString };

/** What a before-snapshot gives reason to say; the places not observed come first. */
export function* noticesOf({ lowered, unobserved }: Snapshot, policy: Policy): Generator<RunNotice> {
  // The store is left out for a reason that has a notice of its own, and the parent of a mount is whole.
  const places = unobserved.filter(({ reason }) => reason !== 'store');
  const rules = new Map(
    lowered.flatMap(({ path, level, rule }) => (level === 'none' ? [[path, rule] as const] : [])),
  );
  const named = places.map((place) => {
    const rule = rules.get(place.path);
    return place.reason === 'excluded' && rule !== undefined ? { ...place, rule } : place;
  });
  if (named.length > 0) yield { kind: 'not-observed', places: named };
  const kept = lowered.filter(({ level }) => level !== 'none');
  if (kept.length > 0)
    yield { kind: 'not-kept', lowered: kept, groups: groupLowered(kept.map(toNamed), policy) };
}

function toNamed({ path, ...rest }: Lowering): Parameters<typeof groupLowered>[0][number] {
  return { ...toJsonPath(path), ...rest };
}
