import { z } from 'zod';
import { AgentdiffError, type Digest, isDigest } from '../core/index.ts';
import type { Policy } from './document.ts';

const MAX_RULES = 1000;
const MAX_TEXT = 1024;
/** Characters; more than any system takes. */
const MAX_PATH = 8192;

/**
 * Reads the policy document of a capsule. Strict: a key or value that this version does not know is refused, since it could mean anything.
 * The path rules must be those about policy files, of which all but the built-in one are plain paths, so no glob of a stranger is ever matched when decisions are checked; the globs of the
 * capture rules are data, not for compiling.
 * @throws POLICY_UNSUPPORTED with the places that do not fit in `data.issues`
 */
export function parsePolicy(json: unknown): Policy {
  const result = policySchema().safeParse(json);
  if (result.success) return result.data;
  throw new AgentdiffError('POLICY_UNSUPPORTED', 'this is not a policy that this version knows', {
    hint: 'it may have been written by a newer version',
    data: {
      issues: result.error.issues.slice(0, 10).map(({ path, message }) => `${path.join('.')}: ${message}`),
    },
  });
}

/** Made when asked for, so that loading the module costs nothing. */
function policySchema(): z.ZodType<Policy> {
  const text = z.string().min(1).max(MAX_TEXT);
  const amount = z.int().nonnegative();
  const capability = z.enum(['execute', 'backup', 'recover', 'apply', 'signal', 'trace']);
  const captureRule = z.strictObject({
    rule: text,
    glob: text,
    literal: z.literal(true).exactOptional(),
    level: z.enum(['content', 'digest', 'stat', 'structure', 'none']),
    reason: text,
    secrets: z.literal('digest').exactOptional(),
    when: z.strictObject({ kind: z.literal('directory'), beside: text.exactOptional() }).exactOptional(),
  });
  const digest = z.custom<Digest>((value) => typeof value === 'string' && isDigest(value));
  const denied = { rule: z.literal('policy-file'), decision: z.literal('deny') };
  const policyFile = z.strictObject({ ...denied, glob: z.literal('agentdiff.yaml') });
  const otherPolicyFile = z.strictObject({
    ...denied,
    glob: z.string().min(1).max(MAX_PATH),
    literal: z.literal(true),
  });
  const by = z.enum(['file', 'flag']).exactOptional();
  const limitsBy = {
    keptFileBytes: by,
    hashedFileBytes: by,
    newBytesPerRun: by,
    maxDepth: by,
    storeBytes: by,
    freeBytes: by,
    freePercent: by,
  };
  return z.strictObject({
    version: z.literal(1),
    name: z.enum(['built-in', 'file']),
    file: z.strictObject({ path: z.string().min(1).max(MAX_PATH), digest }).exactOptional(),
    capabilities: z.array(capability).max(capability.options.length),
    commands: z.strictObject({ default: z.literal('allow'), rules: z.array(z.never()).max(0) }),
    paths: z.strictObject({
      default: z.literal('allow'),
      rules: z.union([z.tuple([policyFile]), z.tuple([policyFile, otherPolicyFile])]),
    }),
    capture: z.array(captureRule).max(MAX_RULES),
    limits: z.strictObject({
      keptFileBytes: amount,
      hashedFileBytes: amount,
      newBytesPerRun: amount,
      maxDepth: amount,
      storeBytes: amount.exactOptional(),
      freeBytes: amount.exactOptional(),
      freePercent: z.number().min(0).max(100).exactOptional(),
    }),
    limitsBy: z.strictObject(limitsBy).exactOptional(),
  });
}
