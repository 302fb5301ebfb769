import * as fs from 'node:fs';
import * as path from 'node:path';
import type { CapsuleDocument, ChangeRecord, ChangeTotals } from '../../src/capsule/index.ts';
import { CapsuleWriter, toAbsolutePathDocument, wordReversibility } from '../../src/capsule/write.ts';
import {
  canonicalJson,
  type Digest,
  digestOf,
  fromBytes,
  parseRelPath,
  ROOT_PATH,
  type RunId,
} from '../../src/core/index.ts';
import { Dir } from '../../src/fs/index.ts';
import type { Content, Observed, State, StatIdentity } from '../../src/snapshot/index.ts';

export const RUN_ID = '20261130T184726Z-4f9c2a1b' as RunId;
export const AT = Date.UTC(2026, 10, 30, 18, 47, 26, 79);
export const POLICY = { version: 1, name: 'built-in', paths: { default: 'allow', rules: [] } };

export function state(kind: State['kind'], content: Content, more: Partial<State> = {}): Observed {
  const size = kind === 'file' ? 6 : 0;
  return { state: { kind, mode: 0o644, uid: 1000, gid: 1000, size, content, ...more } };
}

export function digest(text: string): Content {
  return { is: 'digest', digest: digestOf(text) };
}

export function identity(text = '2049:131:6:1700000000000000000:1700000000000000001'): StatIdentity {
  return text as StatIdentity;
}

const verdict = { level: 'content', decision: 'allow', rule: 'default', recoverable: true } as const;

/** One change, of a file that was modified unless said otherwise. */
export function change(name: string, more: Partial<ChangeRecord> = {}): ChangeRecord {
  const before = state('file', digest('before'));
  const after = state('file', digest('after'));
  return { path: parseRelPath(name), before, after, ...verdict, ...more };
}

function created(name: string, after: Observed, more: Partial<ChangeRecord> = {}): ChangeRecord {
  return { path: parseRelPath(name), after, ...verdict, ...more };
}

function deleted(name: string, before: Observed, more: Partial<ChangeRecord> = {}): ChangeRecord {
  return { path: parseRelPath(name), before, ...verdict, ...more };
}

/** A change of every kind, in the order of a walk. */
export function sampleChanges(): ChangeRecord[] {
  const directory = (mode: number): Observed => state('directory', digest('tree'), { mode });
  const particulars = { mtimeNs: 1_700_000_000_123_456_789n, nlink: 2, inode: '2049:131' };
  return [
    {
      path: ROOT_PATH,
      before: state('directory', digest('before'), { mode: 0o755 }),
      after: state('directory', digest('after'), { mode: 0o750 }),
      ...verdict,
    },
    change('__proto__', { before: { ...state('file', digest('one')), particulars } }),
    created('agentdiff.yaml', state('file', digest('rules')), { decision: 'deny', rule: 'policy-file' }),
    deleted('d', directory(0o755)),
    deleted('d/e', state('symlink', digest('nowhere'), { size: 7, mode: 0o777 })),
    deleted('d-e', state('fifo', { is: 'nothing' })),
    change('dev', {
      before: state('character-device', { is: 'device', number: '1:5' }),
      after: state('socket', { is: 'nothing' }),
      recoverable: false,
      reason: 'unsupported-kind',
    }),
    change('locked', {
      before: state('file', { is: 'unknown', reason: 'unreadable', identity: identity() }),
      level: 'none',
      recoverable: false,
      reason: 'unreadable',
    }),
    change('node_modules/a.js', {
      before: state('file', { is: 'identity', identity: identity() }),
      after: state('file', { is: 'identity', identity: identity('2049:131:6:1:2') }),
      level: 'stat',
      recoverable: false,
      reason: 'not-read',
    }),
    created('über\n', state('file', digest('x'), { mode: 0o4755 })),
    deleted(fromBytes(Buffer.from([0xfe])), state('file', digest('1'))),
    deleted(fromBytes(Buffer.from([0xff, 0x61])), state('file', digest('2'))),
  ];
}

export function sampleDocument(totals: ChangeTotals, more: Partial<CapsuleDocument> = {}): CapsuleDocument {
  const snapshot = (name: string, mode: string): CapsuleDocument['snapshots']['before'] => ({
    tree: digestOf(name),
    root: { mode, uid: 1000, gid: 1000 },
    entries: 12,
    files: 8,
    bytes: 48,
  });
  const { counts, recoverable, notRecoverable } = totals;
  const facts = {
    recoverable,
    notRecoverable,
    coverageComplete: false,
    lowered: 1,
    storeInsideWorkspace: false,
    held: false,
  };
  return {
    format: 1,
    runId: RUN_ID,
    kind: 'run',
    tool: { name: 'agentdiff', version: '0.1.0' },
    task: 'tidy up',
    argv: ['sh', '-c', 'rm -r d'],
    cwd: toAbsolutePathDocument(fromBytes(Buffer.from('/home/u/w\xff', 'latin1'))),
    workspace: {
      id: digestOf(canonicalJson({ root: { path: '/home/u/w' }, dev: '2049', ino: '131' })).slice(0, 32),
      root: { path: '/home/u/w' },
      dev: '2049',
      ino: '131',
      chosenBy: 'cwd',
    },
    times: {
      startedAt: '2026-11-30T18:47:26.079Z',
      childStartedAt: '2026-11-30T18:47:26.100Z',
      childEndedAt: '2026-11-30T18:47:27.100Z',
      endedAt: '2026-11-30T18:47:27.200Z',
      durationMs: 1121,
      childDurationMs: 1000,
    },
    exit: { started: true, code: 0 },
    outcome: 'denied',
    snapshots: { before: snapshot('before', '0755'), after: snapshot('after', '0750') },
    policyDigest: digestOf(canonicalJson(POLICY)),
    launch: { decision: 'allow', rule: 'default' },
    runtime: { name: 'local', anchoring: 'handle', guards: [] },
    coverage: {
      complete: false,
      unobserved: {
        before: [{ path: 'locked', reason: 'unreadable' }],
        after: [],
        beforeTotal: 1,
        afterTotal: 0,
      },
      lowered: [
        { path: 'node_modules', level: 'stat', rule: 'regenerable: node_modules', files: 3, bytes: 18 },
      ],
      storeInsideWorkspace: false,
    },
    counts,
    reversibility: { tier: wordReversibility(facts).tier, recoverable, notRecoverable },
    overlapping: ['20261130T184726Z-4f9c2a1a' as RunId],
    previous: { runId: '20261130T184600Z-00000000' as RunId, digest: digestOf('manifest') },
    ...more,
  };
}

/** Writes a capsule with a change of every kind into a fresh directory; its manifest's digest. */
export function writeSample(directory: string): Digest {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const dir = Dir.open(directory);
  try {
    const writer = CapsuleWriter.open(dir, { runId: RUN_ID, pid: 4711, at: AT });
    const before = digestOf('before');
    writer.addEvent(AT + 10, { type: 'snapshot-taken', which: 'before', tree: before, durationMs: 9 });
    writer.addEvent(AT + 20, { type: 'launch-decided', decision: 'allow', rule: 'default' });
    writer.addEvent(AT + 21, { type: 'child-started', pid: 4712 });
    writer.addEvent(AT + 1021, { type: 'child-ended', code: 0 });
    const after = digestOf('after');
    writer.addEvent(AT + 1040, { type: 'snapshot-taken', which: 'after', tree: after, durationMs: 8 });
    const totals = writer.writeChanges(sampleChanges());
    return writer.seal(AT + 1100, 'run', sampleDocument(totals), POLICY);
  } finally {
    dir.close();
  }
}

/** A file of a capsule, as text. */
export function readMemberText(directory: string, member: string): string {
  return fs.readFileSync(path.join(directory, member), 'utf8');
}

/** Puts a file in the place of a member, which is read-only. */
export function replaceMember(directory: string, member: string, content: string | Uint8Array): void {
  const file = path.join(directory, member);
  fs.rmSync(file, { recursive: true, force: true });
  fs.writeFileSync(file, content);
}

/** Writes the manifest anew over whatever is there: what a forger would do. */
export function forgeManifest(directory: string): void {
  const members = ['capsule.json', 'changes.jsonl', 'events.jsonl', 'policy.json'];
  const lines = members
    .filter((member) => fs.lstatSync(path.join(directory, member), { throwIfNoEntry: false })?.isFile())
    .map((member) => `${digestOf(fs.readFileSync(path.join(directory, member)))}  ${member}\n`);
  replaceMember(directory, 'SHA256SUMS', lines.join(''));
}

/** Writes the chain of `prev` anew over parsed events. */
export function chainEvents(events: readonly Record<string, unknown>[]): string {
  let prev = '0'.repeat(64);
  return events
    .map((event) => {
      const line = canonicalJson({ ...event, prev });
      prev = digestOf(line);
      return `${line}\n`;
    })
    .join('');
}
