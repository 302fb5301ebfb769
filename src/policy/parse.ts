import { z } from 'zod';
import { AgentdiffError } from '../core/index.ts';
import type { Policy } from './document.ts';

const MAX_RULES = 1000;
const MAX_TEXT = 1024;

/**
 * Reads the policy document of a capsule. Strict: a key or value that this version does not know is refused, since it could mean anything.
 * The path rules must be the built-in ones, so no glob of a stranger is ever matched when decisions are checked; the globs of the
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
    level: z.enum(['content', 'digest', 'stat', 'structure', 'none']),
    reason: text,
    when: z.strictObject({ kind: z.literal('directory'), beside: text.exactOptional() }).exactOptional(),
  });
  return z.strictObject({
    version: z.literal(1),
    name: z.literal('built-in'),
    capabilities: z.array(capability).max(capability.options.length),
    commands: z.strictObject({ default: z.literal('allow'), rules: z.array(z.never()).max(0) }),
    paths: z.strictObject({
      default: z.literal('allow'),
      rules: z.tuple([
        z.strictObject({
          rule: z.literal('policy-file'),
          glob: z.literal('agentdiff.yaml'),
          decision: z.literal('deny'),
        }),
      ]),
    }),
    capture: z.array(captureRule).max(MAX_RULES),
    limits: z.strictObject({
      keptFileBytes: amount,
      hashedFileBytes: amount,
      newBytesPerRun: amount,
      maxDepth: amount,
    }),
  });
}
