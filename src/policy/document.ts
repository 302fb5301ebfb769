import { AgentdiffError, canonicalJson, type Digest, digestOf } from '../core/index.ts';
import type { CaptureLevel } from '../snapshot/index.ts';
import { compileGlob, relativeGlob } from './glob.ts';

/** `allow`, `review` (a person should look) or `deny`. */
export type Decision = 'allow' | 'review' | 'deny';

/** What a privileged operation must be granted before it starts. */
export type Capability = 'execute' | 'backup' | 'recover' | 'apply' | 'signal' | 'trace';

/** A decision and the rule that made it; `default` when no rule spoke. */
export interface Decided {
  readonly decision: Decision;
  readonly rule: string;
}

/** Decides about the entry that the glob matches and about everything below it. */
export interface PathRule {
  readonly rule: string;
  readonly glob: string;
  readonly decision: Decision;
}

/** Sets the capture level of the entry that the glob matches and of everything below it; the first rule that matches wins. */
export interface CaptureRule {
  readonly rule: string;
  readonly glob: string;
  readonly level: CaptureLevel;
  /** Why, for the disclosure. */
  readonly reason: string;
  readonly when?: {
    /** Only for an entry of this kind: a file or a link of that name is something else. */
    readonly kind: 'directory';
    /** Only when the same directory has an entry of this name too. */
    readonly beside?: string;
  };
}

/** Where capture stops by size; each lowering is recorded. All but `maxDepth` in bytes. */
export interface PolicyLimits {
  /** A larger file is hashed and not kept. */
  readonly keptFileBytes: number;
  /** A larger file is not read at all. */
  readonly hashedFileBytes: number;
  /** New content kept by one run. */
  readonly newBytesPerRun: number;
  /** Directories nested deeper are named and not entered; a scan holds one open file a level. */
  readonly maxDepth: number;
}

/** A policy with everything resolved, as it stands in a capsule: plain JSON values only. */
export interface Policy {
  readonly version: 1;
  readonly name: 'built-in';
  readonly capabilities: readonly Capability[];
  readonly commands: { readonly default: Decision; readonly rules: readonly never[] };
  readonly paths: { readonly default: Decision; readonly rules: readonly PathRule[] };
  readonly capture: readonly CaptureRule[];
  readonly limits: PolicyLimits;
}

/** A user's wish for the capture level of what the glob matches. */
export interface CaptureFlag {
  /** Relative to the workspace root. */
  readonly glob: string;
  readonly level: CaptureLevel;
}

const REGENERABLE_ANYWHERE = [
  'node_modules',
  '.venv',
  'venv',
  '.tox',
  '.nox',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
] as const;

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/**
 * The policy in force when nobody wrote one: every command is allowed, every change is allowed but those of the policy file,
 * and of directories that a tool can make again only the names are captured.
 * @param captureFlags come before the defaults, in their order
 * @throws USAGE when a glob is not one
 */
export function builtInPolicy(captureFlags: readonly CaptureFlag[] = []): Policy {
  return {
    version: 1,
    name: 'built-in',
    capabilities: ['execute', 'backup', 'recover', 'apply', 'signal', 'trace'],
    commands: { default: 'allow', rules: [] },
    paths: { default: 'allow', rules: [{ rule: 'policy-file', glob: 'agentdiff.yaml', decision: 'deny' }] },
    capture: [
      ...captureFlags.map(flagRule),
      ...REGENERABLE_ANYWHERE.map((name) => regenerable(name, { kind: 'directory' })),
      regenerable('target', { kind: 'directory', beside: 'Cargo.toml' }),
    ],
    limits: {
      keptFileBytes: 64 * MiB,
      hashedFileBytes: GiB,
      newBytesPerRun: 2 * GiB,
      maxDepth: 1000,
    },
  };
}

function flagRule({ glob: text, level }: CaptureFlag): CaptureRule {
  const glob = relativeGlob(text);
  if (glob === undefined) {
    throw new AgentdiffError('USAGE', `not a glob below the workspace root: ${JSON.stringify(text)}`, {
      hint: 'globs are relative to the workspace root and never leave it',
    });
  }
  compileGlob(glob);
  return { rule: `flag: ${glob}`, glob, level, reason: 'asked for' };
}

function regenerable(name: string, when: NonNullable<CaptureRule['when']>): CaptureRule {
  return {
    rule: `regenerable: ${name}`,
    glob: `**/${name}`,
    level: 'structure',
    reason: 'a tool can make it again',
    when,
  };
}

/** Two policies with the same digest say the same. */
export function policyDigest(policy: Policy): Digest {
  return digestOf(canonicalJson(policy));
}
