/** The strict schemas of the documents: unknown keys, other types and open-ended numbers are refused. */
import { z } from 'zod';
import { AgentdiffError, type Digest, isDigest, isRunId, type RunId } from '../core/index.ts';
import {
  type CapsuleDocument,
  type ChangeDocument,
  type EventDocument,
  MAX_NAMED_LINKS,
  MAX_NAMED_PATHS,
  type MemberName,
} from './format.ts';

const digest = z.custom<Digest>((value) => typeof value === 'string' && isDigest(value), 'not a SHA-256');
const runId = z.custom<RunId>((value) => typeof value === 'string' && isRunId(value), 'not a run id');
const count = z.int().nonnegative();
const id = z.int().nonnegative().max(0xffff_ffff);
/** Device and inode numbers are 64 bits, which Node hands out as signed ones. */
const decimal = z.string().regex(/^(0|-?[1-9]\d{0,19})$/);
const nanoseconds = z.string().regex(/^(0|-?[1-9]\d{0,29})$/);
const octalMode = z.string().regex(/^[0-7]{4}$/);
const statIdentity = z.string().regex(/^-?\d{1,20}:-?\d{1,20}:\d{1,20}:-?\d{1,30}:-?\d{1,30}$/);
const isoTime = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const milliseconds = z.number().nonnegative();
const signalName = z.string().regex(/^SIG[A-Z0-9+]{1,16}$/);
const errno = z.string().regex(/^E[A-Z0-9]{1,30}$/);
const base64 = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/);

const decision = z.enum(['allow', 'review', 'deny']);
const level = z.enum(['content', 'digest', 'stat', 'structure', 'none']);
const unobservedReason = z.enum([
  'unreadable',
  'unstable',
  'mount',
  'store',
  'too-deep',
  'excluded',
  'failed',
]);
const notRecoverableReason = z.enum([
  'content-not-kept',
  'before-command',
  'not-read',
  'unreadable',
  'unstable',
  'unknown-before',
  'unknown-after',
  'unsupported-kind',
]);

/** The words of a change, for those who read its line without the schema. */
export const DECISIONS = decision.options;
export const LEVELS = level.options;
export const NOT_RECOVERABLE_REASONS = notRecoverableReason.options;

const pathMembers = { path: z.string(), pathBytes: base64.exactOptional() };
const absolutePath = z.strictObject(pathMembers);

const state = z.strictObject({
  kind: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'character-device', 'block-device']),
  mode: octalMode,
  uid: id,
  gid: id,
  size: count,
  digest: digest.exactOptional(),
  identity: statIdentity.exactOptional(),
  device: z
    .string()
    .regex(/^\d{1,10}:\d{1,10}$/)
    .exactOptional(),
  unknown: z
    .strictObject({ reason: unobservedReason, identity: statIdentity.exactOptional() })
    .exactOptional(),
  info: z
    .strictObject({
      mtimeNs: nanoseconds,
      nlink: count,
      inode: z.string().regex(/^-?\d{1,20}:-?\d{1,20}$/),
    })
    .exactOptional(),
});

export const changeSchema = z.strictObject({
  ...pathMembers,
  before: state.exactOptional(),
  after: state.exactOptional(),
  level,
  decision,
  rule: z.string(),
  recoverable: z.boolean(),
  reason: notRecoverableReason.exactOptional(),
});

const link = { seq: z.int().positive(), at: isoTime, prev: z.string().regex(/^[0-9a-f]{64}$/) };
const pid = z.int().positive();

export const eventSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('run-started'), runId, pid, ...link }),
  z.strictObject({
    type: z.literal('snapshot-taken'),
    which: z.enum(['before', 'after']),
    tree: digest,
    durationMs: milliseconds,
    ...link,
  }),
  z.strictObject({ type: z.literal('launch-decided'), decision, rule: z.string(), ...link }),
  z.strictObject({ type: z.literal('child-started'), pid, ...link }),
  z.strictObject({ type: z.literal('signal-received'), signal: signalName, ...link }),
  z.strictObject({ type: z.literal('signal-passed'), signal: signalName, pid, ...link }),
  z.strictObject({
    type: z.literal('child-ended'),
    code: count.exactOptional(),
    signal: signalName.exactOptional(),
    ...link,
  }),
  z.strictObject({ type: z.literal('launch-failed'), errno, ...link }),
  z.strictObject({ type: z.literal('plan-made'), digest, transitions: count, ...link }),
  z.strictObject({
    type: z.literal('consent-given'),
    by: z.enum(['terminal', 'yes', 'approval']),
    ...link,
  }),
  z.strictObject({
    type: z.literal('recover-step'),
    ...pathMembers,
    result: z.enum(['restored', 'removed', 'already-right', 'refused']),
    reason: z.string().exactOptional(),
    ...link,
  }),
  z.strictObject({ type: z.literal('sealing'), by: z.enum(['run', 'seal']), ...link }),
]);

const snapshot = z.strictObject({
  tree: digest,
  root: z.strictObject({ mode: octalMode, uid: id, gid: id }),
  entries: count,
  files: count,
  bytes: count,
});
const unobserved = z.array(z.strictObject({ ...pathMembers, reason: unobservedReason })).max(MAX_NAMED_PATHS);

const lowered = z.strictObject({
  ...pathMembers,
  level,
  rule: z.string(),
  reason: z.string().exactOptional(),
  files: count.exactOptional(),
  bytes: count.exactOptional(),
});

const coverage = z.strictObject({
  complete: z.boolean(),
  unobserved: z.strictObject({
    before: unobserved,
    after: unobserved,
    beforeTotal: count,
    afterTotal: count,
  }),
  lowered: z.array(lowered),
  loweredAfter: z.array(lowered).min(1).max(MAX_NAMED_PATHS).exactOptional(),
  storeInsideWorkspace: z.boolean(),
  outward: z
    .strictObject({
      total: z.int().positive(),
      paths: z.array(z.strictObject(pathMembers)).max(MAX_NAMED_LINKS),
    })
    .exactOptional(),
  root: z.enum(['removed', 'not-at-its-path']).exactOptional(),
});

const workspace = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{32}$/),
  root: absolutePath,
  dev: decimal,
  ino: decimal,
  born: decimal.exactOptional(),
  chosenBy: z.enum(['option', 'environment', 'policy-file', 'git', 'cwd']),
  spelling: absolutePath.exactOptional(),
});

const times = z.strictObject({
  startedAt: isoTime,
  childStartedAt: isoTime.exactOptional(),
  childEndedAt: isoTime.exactOptional(),
  endedAt: isoTime,
  durationMs: milliseconds,
  childDurationMs: milliseconds.exactOptional(),
});

const exit = z.strictObject({
  started: z.boolean(),
  code: z.int().min(0).max(255).exactOptional(),
  signal: signalName.exactOptional(),
  signalNumber: z.int().min(1).max(64).exactOptional(),
  errno: errno.exactOptional(),
});

export const capsuleSchema = z.strictObject({
  format: z.literal(1),
  runId,
  kind: z.enum(['run', 'recover', 'apply']),
  tool: z.strictObject({ name: z.literal('agentdiff'), version: z.string() }),
  parentRun: runId.exactOptional(),
  recovers: runId.exactOptional(),
  task: z.string().exactOptional(),
  argv: z.array(z.string()).min(1),
  cwd: absolutePath,
  workspace,
  times,
  exit,
  outcome: z.enum([
    'passed',
    'review',
    'denied',
    'blocked',
    'failed',
    'timed-out',
    'interrupted',
    'unsealed',
  ]),
  snapshots: z.strictObject({ before: snapshot, after: snapshot }),
  policyDigest: digest,
  launch: z.strictObject({ decision, rule: z.string() }),
  runtime: z.strictObject({
    name: z.enum(['local']),
    anchoring: z.enum(['handle', 'path']),
    guards: z.array(z.string()),
  }),
  coverage,
  counts: z.strictObject({ created: count, deleted: count, modified: count }),
  reversibility: z.strictObject({
    tier: z.enum(['contained', 'snapshot', 'partial', 'none']),
    recoverable: count,
    notRecoverable: z.array(z.strictObject({ reason: notRecoverableReason, count: z.int().positive() })),
    linked: z.int().positive().exactOptional(),
  }),
  overlapping: z.array(runId),
  previous: z.strictObject({ runId, digest }).exactOptional(),
});

/** Only that it is an object: what stands in it is the policy module's to judge. */
export const policySchema = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

/**
 * Judges a parsed document by its schema.
 * @throws CAPSULE_INVALID, naming the first places that are wrong, never their values
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, member: MemberName, line?: number): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fields = result.error.issues.slice(0, 10).map((issue) => `${issue.path.join('.')}: ${issue.code}`);
  const place = line === undefined ? member : `${member}, line ${line}`;
  throw new AgentdiffError('CAPSULE_INVALID', `${place}: not as the format says (${fields.join('; ')})`, {
    data: { problem: 'invalid', member, ...(line !== undefined && { line }), ...pathOf(value), fields },
  });
}

/** The entry's own name, where it has one. */
function pathOf(value: unknown): { path?: string } {
  if (typeof value !== 'object' || value === null || !('path' in value)) return {};
  return typeof value.path === 'string' ? { path: value.path } : {};
}

/** Does not compile unless the schemas describe exactly the types of `format.ts`. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = T extends (infer E)[]
  ? Flat<E>[]
  : T extends string | number | boolean
    ? T
    : { [K in keyof T]: Flat<T[K]> };
type SameDocument<A, B> = Same<Flat<A>, Flat<B>>;

true satisfies SameDocument<z.infer<typeof capsuleSchema>, CapsuleDocument>;
true satisfies SameDocument<z.infer<typeof changeSchema>, ChangeDocument>;
true satisfies SameDocument<z.infer<typeof eventSchema>, EventDocument>;
