import { canonicalJson, type Digest, digestOf } from '../core/index.ts';
import type { CaptureLevel } from '../snapshot/index.ts';

/** `allow`, `review` (a person should look) or `deny`. */
export type Decision = 'allow' | 'review' | 'deny';

/** What a privileged operation must be granted before it starts. */
export type Capability = 'execute' | 'backup' | 'recover' | 'apply' | 'signal' | 'trace';

/** A decision and the rule that made it; `default` when no rule spoke. */
export interface Decided {
  readonly decision: Decision;
  readonly rule: string;
}

/** Which paths a rule speaks of: what the glob matches and everything below it. */
interface Matched {
  readonly glob: string;
  /** `glob` is one path, every character of it as it stands. */
  readonly literal?: true;
}

/** Decides about the entry that the glob matches and about everything below it. */
export interface PathRule extends Matched {
  readonly rule: string;
  readonly decision: Decision;
}

/** Sets the capture level of the entry that the glob matches and of everything below it; the first rule that matches wins. */
export interface CaptureRule extends Matched {
  readonly rule: string;
  readonly level: CaptureLevel;
  /** Why, for the disclosure. */
  readonly reason: string;
  /** Files whose names look as if they held a secret are hashed all the same. */
  readonly secrets?: 'digest';
  readonly when?: {
    /** Only for an entry of this kind: a file or a link of that name is something else. */
    readonly kind: 'directory';
    /** Only when the same directory has an entry of this name too. */
    readonly beside?: string;
  };
}

/**
 * Where capture stops by size; each lowering is recorded. All but `maxDepth` and `freePercent` in bytes. The optional ones came later: a capsule
 * without them had no such limit.
 */
export interface PolicyLimits {
  /** A larger file is hashed and not kept. */
  readonly keptFileBytes: number;
  /** A larger file is not read at all. */
  readonly hashedFileBytes: number;
  /** New content kept by one run. */
  readonly newBytesPerRun: number;
  /** Directories nested deeper are named and not entered; a scan holds one open file a level. */
  readonly maxDepth: number;
  /** What the store may hold of this workspace. */
  readonly storeBytes?: number;
  /** So much of the store's file system stays free. Of two that are given, the one that asks for less. */
  readonly freeBytes?: number;
  /** As `freeBytes`, in hundredths of the file system. */
  readonly freePercent?: number;
}

export type LimitName = keyof PolicyLimits;

/** A policy with everything resolved, as it stands in a capsule: plain JSON values only. */
export interface Policy {
  readonly version: 1;
  /** `file`: a policy file was read; what it does not say is as built in. */
  readonly name: 'built-in' | 'file';
  /** The policy file as the user names it, and the SHA-256 of its bytes. */
  readonly file?: { readonly path: string; readonly digest: Digest };
  readonly capabilities: readonly Capability[];
  readonly commands: { readonly default: Decision; readonly rules: readonly never[] };
  readonly paths: { readonly default: Decision; readonly rules: readonly PathRule[] };
  readonly capture: readonly CaptureRule[];
  readonly limits: PolicyLimits;
  /** Which limits are not the built-in ones, and who set them. */
  readonly limitsBy?: { readonly [name in LimitName]?: 'file' | 'flag' };
}

/** Two policies with the same digest say the same. */
export function policyDigest(policy: Policy): Digest {
  return digestOf(canonicalJson(policy));
}
