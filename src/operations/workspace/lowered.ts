import { MAX_NAMED_PATHS } from '../../capsule/index.ts';
import type { Policy } from '../../policy/index.ts';
import type { CaptureLevel } from '../../snapshot/index.ts';

/** What one rule or limit lowered to one level. */
export interface LoweredGroup {
  readonly level: CaptureLevel;
  readonly rule: string;
  /** Why, when a rule of the policy says it; a limit speaks for itself. */
  readonly reason?: string;
  readonly places: number;
  readonly files: number;
  /** Sum of the sizes of the files, as far as they were looked at. */
  readonly bytes: number;
}

interface Lowered {
  readonly level: CaptureLevel;
  readonly rule: string;
  readonly files: number;
  readonly bytes: number;
}

/** Places by level and rule, the largest number of files first. */
export function groupLowered(lowered: readonly Lowered[], policy?: Pick<Policy, 'capture'>): LoweredGroup[] {
  const groups = new Map<string, LoweredGroup>();
  for (const { level, rule, files, bytes } of lowered) {
    const key = `${level} ${rule}`;
    const known = groups.get(key);
    const reason = policy?.capture.find((each) => each.rule === rule)?.reason;
    groups.set(key, {
      level,
      rule,
      ...(reason !== undefined && { reason }),
      places: (known?.places ?? 0) + 1,
      files: (known?.files ?? 0) + files,
      bytes: (known?.bytes ?? 0) + bytes,
    });
  }
  return [...groups.values()].sort((a, b) => b.files - a.files || (a.rule < b.rule ? -1 : 1));
}

/** A capsule names so many places at most: a list as long as that may be the beginning of a longer one. */
export function mayBeCut(lowered: readonly unknown[]): boolean {
  return lowered.length >= MAX_NAMED_PATHS;
}
