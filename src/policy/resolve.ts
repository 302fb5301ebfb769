import { AgentdiffError, type Digest } from '../core/index.ts';
import type { CaptureLevel } from '../snapshot/index.ts';
import type { CaptureRule, LimitName, PathRule, Policy, PolicyLimits } from './document.ts';
import { compileGlob, readGlob, writtenGlob } from './glob.ts';

/** A user's wish for the capture level of what the glob matches. */
export interface CaptureFlag {
  /** Relative to the workspace root; a trailing slash makes it speak of directories only. */
  readonly glob: string;
  readonly level: CaptureLevel;
}

/** What the command line says; it comes before the policy file. */
export interface PolicyFlags {
  /** In the order of the command line. */
  readonly capture: readonly CaptureFlag[];
  readonly limits: Partial<PolicyLimits>;
}

/** What a policy file says, checked; it comes before what is built in. */
export interface FilePolicy {
  readonly capture: readonly CaptureRule[];
  readonly limits: Partial<PolicyLimits>;
}

/** Where a policy file lies. */
export interface PolicySource {
  /** As the user names it. */
  readonly path: string;
  /** SHA-256 of its bytes. */
  readonly digest: Digest;
  /** Its path relative to the workspace root when it lies below it, elsewhere than at the name that is denied anyway. */
  readonly inWorkspace?: string;
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

/** docs/policy.md says what each is for. */
const LIMITS: PolicyLimits = {
  keptFileBytes: 64 * MiB,
  hashedFileBytes: GiB,
  newBytesPerRun: 2 * GiB,
  maxDepth: 1000,
  storeBytes: 10 * GiB,
  freeBytes: GiB,
  freePercent: 5,
};

const deniedFile = (glob: string): PathRule => ({ rule: 'policy-file', glob, decision: 'deny' });

/**
 * The policy in force when nobody wrote one: every command is allowed, every change is allowed but those of the policy file,
 * and of directories that a tool can make again only the names are captured.
 * @param captureFlags come before the defaults, in their order
 * @throws USAGE when a glob is not one
 */
export function builtInPolicy(captureFlags: readonly CaptureFlag[] = []): Policy {
  return resolvePolicy({ capture: captureFlags, limits: {} });
}

/**
 * Flags before the policy file before what is built in.
 * @throws USAGE when the glob of a flag is not one
 */
export function resolvePolicy(flags: PolicyFlags, file?: FilePolicy & PolicySource): Policy {
  const { limits, limitsBy } = resolveLimits(flags.limits, file?.limits ?? {});
  return {
    version: 1,
    ...(file === undefined
      ? { name: 'built-in' }
      : { name: 'file', file: { path: file.path, digest: file.digest } }),
    capabilities: ['execute', 'backup', 'recover', 'apply', 'signal', 'trace'],
    commands: { default: 'allow', rules: [] },
    paths: { default: 'allow', rules: pathRules(file?.inWorkspace) },
    capture: [
      ...flags.capture.map(flagRule),
      ...(file?.capture ?? []),
      ...REGENERABLE_ANYWHERE.map((name) => regenerable(name, { kind: 'directory' })),
      regenerable('target', { kind: 'directory', beside: 'Cargo.toml' }),
    ],
    limits,
    ...(Object.keys(limitsBy).length > 0 && { limitsBy }),
  };
}

function pathRules(policyFile: string | undefined): PathRule[] {
  return [
    deniedFile('agentdiff.yaml'),
    ...(policyFile === undefined ? [] : [{ ...deniedFile(policyFile), literal: true } as const]),
  ];
}

/** The two that keep space free are one question: who answers it with one of them has answered it. */
function resolveLimits(
  flags: Partial<PolicyLimits>,
  file: Partial<PolicyLimits>,
): Required<Pick<Policy, 'limits' | 'limitsBy'>> {
  const limitsBy: { [name in LimitName]?: 'file' | 'flag' } = {};
  let limits: PolicyLimits = LIMITS;
  for (const [by, said] of [
    ['file', file],
    ['flag', flags],
  ] as const) {
    if (said.freeBytes !== undefined || said.freePercent !== undefined) {
      const { freeBytes: _bytes, freePercent: _percent, ...others } = limits;
      limits = others;
      delete limitsBy.freeBytes;
      delete limitsBy.freePercent;
    }
    limits = { ...limits, ...said };
    for (const name of Object.keys(said) as LimitName[]) limitsBy[name] = by;
  }
  return { limits, limitsBy };
}

function flagRule({ glob: text, level }: CaptureFlag): CaptureRule {
  const read = readGlob(text);
  if (read === undefined) {
    throw new AgentdiffError('USAGE', `not a glob below the workspace root: ${JSON.stringify(text)}`, {
      hint: 'globs are relative to the workspace root and never leave it',
    });
  }
  compileGlob(read.glob);
  return { rule: `flag: ${writtenGlob(read)}`, ...read, level, reason: 'asked for' };
}

function regenerable(name: string, when: NonNullable<CaptureRule['when']>): CaptureRule {
  return {
    rule: `regenerable: ${name}`,
    glob: `**/${name}`,
    level: 'structure',
    reason: 'a tool can make it again',
    secrets: 'digest',
    when,
  };
}
