import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CapsuleDocument, ChangeRecord, Reversibility } from '../../src/capsule/index.ts';
import { renderDiffItem, renderDiffItemJson } from '../../src/cli/render/diff.ts';
import {
  renderDoctor,
  renderDoctorJson,
  renderExamination,
  renderExaminationJson,
} from '../../src/cli/render/doctor.ts';
import { renderError, renderErrorJson } from '../../src/cli/render/error.ts';
import { renderList, renderListJson } from '../../src/cli/render/list.ts';
import {
  renderPlan,
  renderPlanJson,
  renderRecover,
  renderRecoverJson,
  renderUnkept,
} from '../../src/cli/render/recover.ts';
import { renderNotice } from '../../src/cli/render/notice.ts';
import { renderRun, renderRunJson } from '../../src/cli/render/run.ts';
import { renderShow, renderShowJson } from '../../src/cli/render/show.ts';
import { PLAIN } from '../../src/cli/render/style.ts';
import { renderVerify, renderVerifyJson } from '../../src/cli/render/verify.ts';
import {
  AgentdiffError,
  type Digest,
  escapeText,
  fromBytes,
  lossyText,
  type RelPath,
  type RunId,
  toJsonPath,
} from '../../src/core/index.ts';
import type { DiffItem } from '../../src/operations/diff.ts';
import type { DoctorReport } from '../../src/operations/doctor.ts';
import type { ListReport } from '../../src/operations/list.ts';
import type { RecoverPlan, RecoverReport } from '../../src/operations/recover.ts';
import type { RunReport } from '../../src/operations/run.ts';
import type { ShowReport } from '../../src/operations/show.ts';
import type { CapsuleVerdict } from '../../src/operations/verify.ts';

const runId = '20261130T184726Z-4f9c2a1b' as RunId;
const digest = 'ab'.repeat(32) as Digest;

/** Controls but the newline, C1, and the characters that reorder or hide text. */
const FORBIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

/** Any text, and any bytes in their in-memory form; without NUL, which no system call takes. */
const foreign = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.replaceAll('\0', '') || 'x'),
  fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => fromBytes(bytes.map((byte) => byte || 1))),
  fc.constantFrom(
    'a\nb',
    'ok\r\u001b[2K\u001b]0;title\u0007.txt',
    '\u202egnp.exe',
    'x\u009b31m',
    '\u007f',
    '\ufeff',
    '\\n',
    '-rf',
    '__proto__',
  ),
);

/** Every report with `name` in each place where a tree, a child, a capsule or the system puts text. */
function reports(name: string): Map<string, string> {
  const path = name as RelPath;
  const text = lossyText(name);
  const words: Reversibility = { tier: 'partial', summary: text, limits: [text, text] };
  const capsule = capsuleWith(text);
  const state = {
    kind: 'symlink',
    mode: 0o777,
    uid: 0,
    gid: 0,
    size: 3,
    content: { is: 'digest', digest },
  } as const;
  const change: ChangeRecord = {
    path,
    before: { state, particulars: { mtimeNs: 1n, nlink: 1, inode: '1:2' } },
    level: 'content',
    decision: 'deny',
    rule: text,
    recoverable: false,
    reason: 'not-read',
  };
  const line = { path, kind: 'directory', entries: 3, extent: 'whole' } as const;
  const error = new AgentdiffError('RUN_UNKNOWN', text, { hint: text, data: { path: text } });
  const run: RunReport = {
    runId,
    root: name,
    sealed: { capsule, digest },
    exit: capsule.exit,
    summary: {
      created: [line, line],
      deleted: [line],
      modified: [line],
      repositories: [line],
      notRecoverable: [{ reason: 'not-read', count: 2, examples: [path] }],
    },
    launchProblem: error,
    exitStatus: 1,
  };
  const { sealed: _, ...unsealed } = run;
  const show: ShowReport = {
    runId,
    problems: [{ member: name, problem: 'extra', what: 'it was added' }],
    capsule,
    digest,
    changes: [{ ...change, targets: { before: name, after: name } }],
    events: [],
    unreadable: [{ part: 'changes', why: text }],
    lowered: [{ level: 'digest', rule: text, reason: text, places: 1, files: 1, bytes: 2, examples: [text] }],
    loweredCut: true,
  };
  const list: ListReport = {
    root: name,
    runs: [{ runId, state: 'sealed', argv: [text], task: text, exit: { started: false, errno: text } }],
  };
  const step = {
    path,
    action: 'restore',
    kind: 'symlink',
    verdict: 'refused',
    code: 'failed',
    detail: text,
  } as const;
  const plan: RecoverPlan = {
    runId,
    capsule: digest,
    digest,
    steps: [step, { ...step, verdict: 'apply', unkept: true }],
    counts: { apply: 1, already: 0, refused: 1 },
  };
  const recover: RecoverReport = {
    runId,
    recovers: runId,
    results: [
      { path, kind: 'file', result: 'refused', code: 'failed', detail: text },
      { path, kind: 'file', result: 'restored', note: text },
    ],
    counts: { restored: 1, removed: 0, 'already-right': 0, refused: 1 },
    sealError: error,
    exitStatus: 3,
  };
  const verdict: CapsuleVerdict = {
    ref: name,
    location: name,
    verdict: 'fails',
    problem: text,
    claims: [
      {
        claim: 'signed',
        status: 'fails',
        detail: text,
        findings: [{ code: 'changed', where: name, what: text }],
      },
    ],
  };
  const diff: DiffItem = { path, before: state, body: { is: 'symlink', before: name } };
  const patch: DiffItem = {
    path,
    before: state,
    after: state,
    body: { is: 'text', patch: `+${text.replaceAll('\n', '\r')}` },
  };
  const lowered = {
    groups: show.lowered,
    cut: true,
    unobserved: { total: 1, examples: [`${escapeText(text)} (unreadable)`] },
  };
  const doctor: DoctorReport = {
    store: name,
    checks: [{ id: 'x', title: text, status: 'failed', detail: text, advice: text }],
  };
  return new Map([
    ['run', renderRun(run, words, PLAIN)],
    ['run unsealed', renderRun(unsealed, undefined, PLAIN)],
    ['run.json', renderRunJson(run, words)],
    [
      'notice',
      renderNotice(
        {
          kind: 'not-kept',
          lowered: [{ path, level: 'stat', rule: text, files: 1, bytes: 2 }],
          groups: [
            { level: 'stat', rule: text, reason: text, places: 1, files: 1, bytes: 2, examples: [text] },
          ],
        },
        PLAIN,
      ),
    ],
    [
      'notice unread',
      renderNotice(
        {
          kind: 'not-observed',
          places: [
            { path, reason: 'unreadable' },
            { path, reason: 'excluded', rule: text },
          ],
        },
        PLAIN,
      ),
    ],
    ['notice store', renderNotice({ kind: 'store-inside', store: name }, PLAIN)],
    ['show', renderShow(show, words, PLAIN)],
    ['show.json', renderShowJson(show, words)],
    ['list', renderList(list, PLAIN)],
    ['list.json', renderListJson(list)],
    ['plan', renderPlan(plan, PLAIN)],
    ['unkept', renderUnkept(plan, PLAIN)],
    ['plan.json', renderPlanJson(plan)],
    ['recover', renderRecover(recover, PLAIN)],
    ['recover.json', renderRecoverJson(recover)],
    ['verify', renderVerify([verdict], PLAIN)],
    ['verify.json', renderVerifyJson([verdict])],
    ['diff', renderDiffItem(diff, PLAIN)],
    ['diff.json', renderDiffItemJson(diff)],
    ['patch', renderDiffItem(patch, PLAIN)],
    ['patch.json', renderDiffItemJson(patch)],
    ['doctor', renderDoctor(doctor, PLAIN)],
    ['doctor.json', renderDoctorJson(doctor)],
    ['examination', renderExamination({ runId, capsule: verdict, plan, lowered }, PLAIN)],
    ['examination.json', renderExaminationJson({ runId, capsule: verdict, plan })],
    ['error', renderError(error, PLAIN, false)],
    ['error.json', renderErrorJson(error, true)],
  ]);
}

function capsuleWith(text: string): CapsuleDocument {
  const place = toJsonPath(text as RelPath);
  const snapshot = { tree: digest, root: { mode: '0755', uid: 0, gid: 0 }, entries: 1, files: 1, bytes: 1 };
  const unobserved = [{ ...place, reason: 'unreadable' as const }];
  return {
    format: 1,
    runId,
    kind: 'run',
    tool: { name: 'agentdiff', version: '0.1.0' },
    task: text,
    argv: [text, text],
    cwd: place,
    workspace: { id: '0'.repeat(32), root: place, dev: '1', ino: '2', chosenBy: 'git' },
    times: { startedAt: '2026-11-30T18:47:26.000Z', endedAt: '2026-11-30T18:47:27.000Z', durationMs: 1000 },
    exit: { started: false, errno: text },
    outcome: 'blocked',
    snapshots: { before: snapshot, after: snapshot },
    policyDigest: digest,
    launch: { decision: 'deny', rule: text },
    runtime: { name: 'local', anchoring: 'handle', guards: [text] },
    coverage: {
      complete: false,
      unobserved: { before: unobserved, after: unobserved, beforeTotal: 3, afterTotal: 3 },
      lowered: [{ ...place, level: 'stat', rule: text, files: 1, bytes: 2 }],
      loweredAfter: [{ ...place, level: 'stat', rule: text, reason: text, files: 1, bytes: 2 }],
      storeInsideWorkspace: true,
    },
    counts: { created: 2, deleted: 1, modified: 1 },
    reversibility: { tier: 'partial', recoverable: 1, notRecoverable: [{ reason: 'not-read', count: 2 }] },
    overlapping: [],
  };
}

const lineCounts = new Map([...reports('x')].map(([kind, text]) => [kind, text.split('\n').length]));

describe('renderers', () => {
  it('let no control character through, and no text break its line', () => {
    fc.assert(
      fc.property(foreign, (name) => {
        for (const [kind, text] of reports(name)) {
          // A tab in a line of a file stays, so that a patch fits.
          const shown =
            kind === 'patch' ? text.replaceAll(/^([-+ ].*)$/gm, (line) => line.replaceAll('\t', ' ')) : text;
          expect(FORBIDDEN.exec(shown)?.[0], `${kind}: ${JSON.stringify(text)}`).toBeUndefined();
          expect(text.split('\n').length, `${kind}: ${JSON.stringify(text)}`).toBe(lineCounts.get(kind));
          expect(text.endsWith('\n')).toBe(true);
        }
      }),
    );
  });

  it('write JSON in ASCII that says the same', () => {
    fc.assert(
      fc.property(foreign, (name) => {
        for (const [kind, text] of reports(name)) {
          if (!kind.endsWith('.json')) continue;
          expect(text).toMatch(/^[\u0020-\u007e]*\n$/);
          expect(() => JSON.parse(text) as unknown).not.toThrow();
        }
        const error = new AgentdiffError('USAGE', lossyText(name));
        const parsed = JSON.parse(renderErrorJson(error, false)) as { error: { message: string } };
        expect(parsed.error.message).toBe(lossyText(name));
      }),
    );
  });

  it('keep a summary short whatever happened', () => {
    const longest = Math.max(
      ...[...reports('x'.repeat(300))]
        .filter(([kind]) => kind === 'run')
        .map(([, text]) => text.split('\n').length),
    );
    expect(longest).toBeLessThanOrEqual(14);
  });
});
