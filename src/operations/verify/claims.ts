import type { CapsuleDocument, CapsuleReader, DocumentProblem } from '../../capsule/index.ts';
import { AgentdiffError, type Digest } from '../../core/index.ts';
import { decideLaunch, type Policy } from '../../policy/index.ts';
import { parsePolicy } from '../../policy/parse.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import { type Claim, claim, type Finding, inconsistent, notChecked, type StoreAtHand } from './claim.ts';
import { SnapshotComparison } from './comparison.ts';
import { ContentCheck } from './contents.ts';
import { previousCapsuleOf } from '../workspace/previous.ts';
import { FILE_PROBLEMS, isFileProblem } from './file-problems.ts';

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
 * @param comparison what was told of every change already
 */
export function checkConsistency(
  reader: CapsuleReader,
  store: StoreAtHand,
  problems: readonly DocumentProblem[],
  isReadable: boolean,
  comparison?: SnapshotComparison,
): Claim {
  const name = 'documents-consistent';
  const findings = problems.filter(isContradiction).map(toFinding);
  if (findings.length > 0) return claim(name, findings, '');
  if (!isReadable) return notChecked(name, 'the documents cannot be relied on');
  if ('why' in store) return notChecked(name, `${store.why}; the documents agree with each other`);
  const document = reader.document();
  const policy = parsePolicy(reader.policy());
  findings.push(...launchFindings(document, policy));
  findings.push(...(comparison ?? compareAll(reader, store, document, policy)).findings());
  return claim(
    name,
    findings,
    'the changes are the difference of the snapshots, the decisions are what the policy says',
  );
}

function compareAll(
  reader: CapsuleReader,
  store: WorkspaceStore,
  document: CapsuleDocument,
  policy: Policy,
): SnapshotComparison {
  const comparison = new SnapshotComparison(store, document, policy);
  for (const record of reader.changes()) comparison.add(record);
  return comparison;
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

/**
 * What the capsule says can be put back is in the store and has its digest. Reads all of it.
 * @param contents what was told of every change already
 */
export function checkObjects(
  reader: CapsuleReader,
  store: StoreAtHand,
  isReadable: boolean,
  contents?: ContentCheck,
): Claim {
  if (!isReadable) return notChecked('objects-present', 'the documents cannot be relied on');
  if ('why' in store) return notChecked('objects-present', store.why);
  if (contents !== undefined) return contents.claim();
  const own = new ContentCheck(store);
  for (const record of reader.changes()) own.add(record);
  return own.claim();
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

function messageOf(error: unknown): string {
  if (error instanceof AgentdiffError) return error.message;
  throw error;
}
