import { type LoweredDocument, MAX_NAMED_PATHS } from '../../capsule/index.ts';
import type { Policy } from '../../policy/index.ts';
import type { CaptureLevel } from '../../snapshot/index.ts';

/** What one rule or limit lowered to one level. */
export interface LoweredGroup {
  readonly level: CaptureLevel;
  readonly rule: string;
  /** Why, when a rule of the policy says it; a limit speaks for itself. */
  readonly reason?: string;
  readonly places: number;
  /** Absent at level `none`: nobody looked. */
  readonly files?: number;
  /** Sum of the sizes of the files, as far as they were looked at; absent as `files`. */
  readonly bytes?: number;
  /** The first places, each a path as readable text. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 3;

/** Places by level and rule, the largest number of files first. */
export function groupLowered(
  lowered: readonly LoweredDocument[],
  policy?: Pick<Policy, 'capture'>,
): LoweredGroup[] {
  const groups = new Map<string, LoweredGroup>();
  for (const place of lowered) {
    const { path, level, rule, files = 0, bytes = 0 } = place;
    const key = `${level} ${rule}`;
    const known = groups.get(key);
    const reason = place.reason ?? policy?.capture.find((each) => each.rule === rule)?.reason;
    const examples = known?.examples ?? [];
    groups.set(key, {
      level,
      rule,
      ...(reason !== undefined && { reason }),
      places: (known?.places ?? 0) + 1,
      ...(level !== 'none' && { files: (known?.files ?? 0) + files, bytes: (known?.bytes ?? 0) + bytes }),
      examples: examples.length < MAX_EXAMPLES ? [...examples, path] : examples,
    });
  }
  return [...groups.values()].sort((a, b) => (b.files ?? 0) - (a.files ?? 0) || (a.rule < b.rule ? -1 : 1));
}

/** A capsule names so many places at most: a list as long as that may be the beginning of a longer one. */
export function mayBeCut(lowered: readonly unknown[]): boolean {
  return lowered.length >= MAX_NAMED_PATHS;
}
