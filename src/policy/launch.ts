import {
  type ByteString,
  canonicalJson,
  type Digest,
  digestOf,
  invariant,
  isMarked,
  lossyText,
  toBytes,
} from '../core/index.ts';
import { type Decided, type Policy, policyDigest } from './document.ts';

/** What is asked for: exactly this argv, in exactly this directory, for this workspace. */
export interface LaunchRequest {
  readonly argv: readonly [command: string, ...rest: string[]];
  /** Absolute. */
  readonly cwd: ByteString;
  readonly workspaceId: string;
}

/** What a permit allows to be launched, and the digest of the request and policy that it was given for. */
export interface PermittedLaunch {
  readonly argv: LaunchRequest['argv'];
  readonly cwd: ByteString;
  readonly requestDigest: Digest;
}

export interface LaunchDecision extends Decided {
  /** Absent when the decision is `deny`. */
  readonly permit?: LaunchPermit;
}

/** Known to this file alone, so that reaching the class through a permit's `constructor` makes no other permit. */
const KEY = Symbol('launch permit');

/** Consent to one launch, made by {@link decideLaunch} only. It carries a copy of the request, which cannot be altered. */
export class LaunchPermit {
  readonly #launch: PermittedLaunch;

  constructor(key: symbol, launch: PermittedLaunch) {
    invariant(key === KEY, 'a launch permit is made by the policy only');
    this.#launch = Object.freeze({ ...launch, argv: Object.freeze([...launch.argv] as const) });
  }

  /** What is permitted. Throws a TypeError on anything that only looks like a permit. */
  get launch(): PermittedLaunch {
    return this.#launch;
  }

  static isPermit(value: unknown): value is LaunchPermit {
    return typeof value === 'object' && value !== null && #launch in value;
  }
}

/**
 * True for what {@link decideLaunch} made, false for copies, look-alikes and parsed documents. The supervisor is given this function,
 * because it may not reach into the policy itself.
 */
export function isLaunchPermit(value: unknown): value is LaunchPermit {
  return LaunchPermit.isPermit(value);
}

/**
 * Decides about one launch. The capability `execute` comes first; then the policy's default for commands.
 * What the command would do is not analysed: an allowed launch says nothing about its effects.
 */
export function decideLaunch(policy: Policy, request: LaunchRequest): LaunchDecision {
  if (!policy.capabilities.includes('execute')) return { decision: 'deny', rule: 'capability: execute' };
  const decided: Decided = { decision: policy.commands.default, rule: 'default' };
  if (decided.decision === 'deny') return decided;
  const { argv, cwd } = request;
  return {
    ...decided,
    permit: new LaunchPermit(KEY, { argv, cwd, requestDigest: requestDigest(policy, request) }),
  };
}

function requestDigest(policy: Policy, { argv, cwd, workspaceId }: LaunchRequest): Digest {
  const cwdBytes = isMarked(cwd) ? { cwdBytes: toBytes(cwd).toString('base64') } : {};
  return digestOf(
    canonicalJson({
      argv,
      cwd: lossyText(cwd),
      ...cwdBytes,
      workspace: workspaceId,
      policy: policyDigest(policy),
    }),
  );
}
