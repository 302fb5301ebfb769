import {
  type CapsuleDocument,
  type CapsuleReader,
  type ChangeRecord,
  type DocumentProblem,
  fromSnapshotDocument,
} from '../../capsule/index.ts';
import { AgentdiffError, type Digest, lossyText, type RelPath } from '../../core/index.ts';
import { changeDecisions, decideLaunch, type Policy } from '../../policy/index.ts';
import { parsePolicy } from '../../policy/parse.ts';
import { type Change, diffSnapshots } from '../../snapshot/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import { previousCapsuleOf } from '../workspace/previous.ts';
import { isSameState } from './same-state.ts';
import { FILE_PROBLEMS, isFileProblem } from './file-problems.ts';

export type ClaimName =
  | 'files-intact'
  | 'schema-valid'
  | 'documents-consistent'
  | 'objects-present'
  | 'signed'
  | 'chained'
  | 'expected-digest';

/** `not-checked` is no success: it says that nobody looked, and why. */
export type ClaimStatus = 'holds' | 'fails' | 'not-checked';

export interface Finding {
  /** A word from a closed list, e.g. `changed`, `missing`, `inconsistent`, `nothing-to-compare`. */
  readonly code: string;
  /** A file of the capsule, or a path of the workspace. Foreign text. */
  readonly where?: string;
  /** Foreign text may be in it. */
  readonly what: string;
}

/** One statement about a capsule, judged on its own. */
export interface Claim {
  readonly claim: ClaimName;
  readonly status: ClaimStatus;
  readonly detail: string;
  readonly findings: readonly Finding[];
}

/** The part of a store that holds what a capsule speaks of, or why there is none to compare with. */
export type StoreAtHand = WorkspaceStore | { readonly why: string };

/** Findings of one claim beyond this many are counted, not listed. */
const MAX_FINDINGS = 100;

/** Every file of the capsule is there and has the digest that the manifest names, and nothing else is there. */
export function checkFilesIntact(reader: CapsuleReader): Claim {
  const findings = reader
    .checkFiles()
    .map(({ member, problem }) => ({ code: problem, where: member, what: FILE_PROBLEMS[problem] }));
  return claim('files-intact', findings, 'every file has the digest that SHA256SUMS names');
}

/** Every document is what the format says. @param problems what the reader's `checkDocuments` found */
export function checkSchema(reader: CapsuleReader, problems: readonly DocumentProblem[]): Claim {
  const findings = problems.filter((problem) => !isContradiction(problem)).map(toFinding);
  if (findings.length === 0) findings.push(...policyFindings(reader));
  return claim('schema-valid', findings, 'every document is what format 1 says');
}

/** Valid by itself, and at odds with another document or with the line before. */
function isContradiction({ problem }: DocumentProblem): boolean {
  return problem === 'inconsistent' || problem === 'broken-chain';
}

function toFinding({ member, problem, detail }: DocumentProblem): Finding {
  return { code: problem, where: member, what: detail };
}

function policyFindings(reader: CapsuleReader): Finding[] {
  try {
    parsePolicy(reader.policy());
    return [];
  } catch (error) {
    return [policyFinding(error)];
  }
}

/** Without a manifest no document's digest can be compared: that is a fault of the manifest. */
function policyFinding(error: unknown): Finding {
  const what = messageOf(error);
  const { member, problem } = error instanceof AgentdiffError ? error.data : {};
  if (typeof member !== 'string' || !isFileProblem(problem))
    return { code: 'invalid', where: 'policy.json', what };
  return { code: problem, where: member, what: FILE_PROBLEMS[problem] };
}

/**
 * The documents agree with each other, the changes are the difference of the two snapshots, and the decisions are what the policy says of them.
 * @param problems what the reader's `checkDocuments` found
 */
export function checkConsistency(
  reader: CapsuleReader,
  store: StoreAtHand,
  problems: readonly DocumentProblem[],
  isReadable: boolean,
): Claim {
  const name = 'documents-consistent';
  const findings = problems.filter(isContradiction).map(toFinding);
  if (findings.length > 0) return claim(name, findings, '');
  if (!isReadable) return notChecked(name, 'the documents cannot be relied on');
  if ('why' in store) return notChecked(name, `${store.why}; the documents agree with each other`);
  const document = reader.document();
  const policy = parsePolicy(reader.policy());
  findings.push(...launchFindings(document, policy));
  try {
    findings.push(...changeFindings(reader, document, policy, store));
  } catch (error) {
    findings.push({ code: codeOf(error), what: `the snapshots cannot be compared: ${messageOf(error)}` });
  }
  return claim(
    name,
    findings,
    'the changes are the difference of the snapshots, the decisions are what the policy says',
  );
}

function launchFindings({ launch, argv, cwd, workspace, kind }: CapsuleDocument, policy: Policy): Finding[] {
  const [command, ...rest] = argv;
  if (kind !== 'run' || command === undefined) return [];
  const { decision, rule } = decideLaunch(policy, {
    argv: [command, ...rest],
    cwd: cwd.path,
    workspaceId: workspace.id,
  });
  if (decision === launch.decision && rule === launch.rule) return [];
  return [inconsistent('capsule.json', `the policy says ${decision} by rule ${rule} of the launch`)];
}

function* changeFindings(
  reader: CapsuleReader,
  document: CapsuleDocument,
  policy: Policy,
  store: WorkspaceStore,
): Generator<Finding> {
  const { before, after } = document.snapshots;
  const decide = changeDecisions(policy);
  const recorded = reader.changes();
  for (const actual of diffSnapshots(
    store.objects,
    fromSnapshotDocument(before),
    fromSnapshotDocument(after),
  )) {
    const next = recorded.next();
    if (next.done || !isSameChange(next.value, actual)) {
      yield inconsistent(
        lossyText(actual.path),
        'the list of changes differs here from the difference of the snapshots',
      );
      return;
    }
    const { decision, rule } = decide(actual);
    if (decision !== next.value.decision || rule !== next.value.rule) {
      yield inconsistent(
        lossyText(actual.path),
        `the policy says ${decision} by rule ${rule} of this change`,
      );
    }
  }
  const extra = recorded.next();
  if (!extra.done)
    yield inconsistent(lossyText(extra.value.path), 'the list names a change that the snapshots do not show');
}

function isSameChange(recorded: ChangeRecord, actual: Change): boolean {
  return (
    recorded.path === actual.path &&
    isSameState(recorded.before?.state, actual.before?.state) &&
    isSameState(recorded.after?.state, actual.after?.state)
  );
}

/** So many contents are asked for together, to be read in the order in which they lie. */
const CHECKED_AT_ONCE = 16_384;

/** What the capsule says can be put back is in the store and has its digest. Reads all of it. */
export function checkObjects(reader: CapsuleReader, store: StoreAtHand, isReadable: boolean): Claim {
  const name = 'objects-present';
  if (!isReadable) return notChecked(name, 'the documents cannot be relied on');
  if ('why' in store) return notChecked(name, store.why);
  const findings: Finding[] = [];
  let checked = 0;
  let paths: RelPath[] = [];
  let digests: Digest[] = [];
  const check = (): void => {
    for (const [i, found] of store.objects.checkEach(digests).entries()) {
      if (found !== 'present')
        findings.push({
          code: found,
          where: lossyText(paths[i] ?? ''),
          what: `its kept content is ${found}`,
        });
    }
    checked += digests.length;
    paths = [];
    digests = [];
  };
  for (const { path, before, recoverable } of reader.changes()) {
    const state = before?.state;
    if (!recoverable || state?.content.is !== 'digest' || state.kind === 'directory') continue;
    paths.push(path);
    digests.push(state.content.digest);
    if (digests.length === CHECKED_AT_ONCE) check();
  }
  check();
  const detail =
    checked === 0
      ? 'no content is needed to take these changes back'
      : `${checked} kept contents are there with their digests`;
  return claim(name, findings, detail);
}

/** This version makes no signatures. */
export function notSigned(): Claim {
  return notChecked(
    'signed',
    'the capsule carries no signature; who can rewrite it can rewrite its checksums',
  );
}

/** The capsule that this one names as the one before it is the one in the store. */
export function checkChain(reader: CapsuleReader, store: StoreAtHand, isReadable: boolean): Claim {
  const name = 'chained';
  if (!isReadable) return notChecked(name, 'the documents cannot be relied on');
  const { previous } = reader.document();
  if (previous === undefined) return notChecked(name, 'it names no capsule before it');
  if ('why' in store) return notChecked(name, store.why);
  const found = previousCapsuleOf(store, previous.runId);
  if (found === undefined)
    return notChecked(name, `the capsule before it, ${previous.runId}, is not at hand`);
  const findings =
    found.digest === previous.digest
      ? []
      : [inconsistent('capsule.json', `the capsule of run ${previous.runId} is not the one it was`)];
  return claim(name, findings, `the capsule before it, ${previous.runId}, is the one it names`);
}

/** The digest that somebody kept elsewhere. */
export function checkExpected(reader: CapsuleReader, expect: Digest, isReadable: boolean): Claim {
  const found = isReadable ? reader.digest() : 'none';
  const findings =
    found === expect
      ? []
      : [{ code: 'other-digest', where: 'SHA256SUMS', what: `expected ${expect}, found ${found}` }];
  return claim('expected-digest', findings, 'it is the capsule whose digest was kept elsewhere');
}

function claim(name: ClaimName, findings: readonly Finding[], detail: string): Claim {
  if (findings.length === 0) return { claim: name, status: 'holds', detail, findings };
  const more = findings.length - MAX_FINDINGS;
  return {
    claim: name,
    status: 'fails',
    detail: `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}${more > 0 ? `, the first ${MAX_FINDINGS} are listed` : ''}`,
    findings: findings.slice(0, MAX_FINDINGS),
  };
}

function notChecked(name: ClaimName, detail: string): Claim {
  return { claim: name, status: 'not-checked', detail, findings: [] };
}

function inconsistent(where: string, what: string): Finding {
  return { code: 'inconsistent', where, what };
}

function codeOf(error: unknown): string {
  return error instanceof AgentdiffError && error.code === 'OBJECT_MISSING' ? 'missing' : 'damaged';
}

function messageOf(error: unknown): string {
  if (error instanceof AgentdiffError) return error.message;
  throw error;
}
