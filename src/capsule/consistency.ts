/** Whether the documents of one capsule agree with each other. Whether they agree with the stored objects is asked elsewhere. */
import { AgentdiffError, canonicalJson, digestOf, ROOT_PATH } from '../core/index.ts';
import { ChangeTally } from './change-list.ts';
import { fromAbsolutePathDocument, fromSnapshotDocument, pathOfDocument } from './documents.ts';
import type { FileProblemWord } from './files.ts';
import {
  type CapsuleDocument,
  type ChangeRecord,
  type ChangeTotals,
  type EventDocument,
  type ListedMember,
  type LoweredDocument,
  MAX_NAMED_PATHS,
} from './format.ts';
import { wordReversibility } from './reversibility.ts';

type DocumentProblemWord = FileProblemWord | 'invalid' | 'broken-chain' | 'inconsistent';

/** A document that is not what the format says, or does not agree with another. */
export interface DocumentProblem {
  readonly member: ListedMember;
  readonly problem: DocumentProblemWord;
  /** One line; foreign text in it must be escaped when it is printed. */
  readonly detail: string;
}

/** What is compared: a reader's methods, which throw for a document that is not valid by itself. */
export interface Documents {
  document(): CapsuleDocument;
  policy(): object;
  changes(): Iterable<ChangeRecord>;
  events(): Iterable<EventDocument>;
}

/** Reads all documents and gathers what is wrong with each and between them; empty when all is well. */
export function checkDocuments(
  documents: Documents,
  onChange?: (change: ChangeRecord) => void,
): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  const say = (member: ListedMember, problem: DocumentProblemWord, detail: string): void => {
    problems.push({ member, problem, detail });
  };
  const read = <T>(member: ListedMember, action: () => T): T | undefined => {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof AgentdiffError)) throw error;
      say(member, wordOf(error), error.message);
      return undefined;
    }
  };
  const document = read('capsule.json', () => documents.document());
  const policyDigest = read('policy.json', () => digestOf(canonicalJson(documents.policy())));
  const changes = read('changes.jsonl', () => summaryOf(documents.changes(), onChange));
  const contradictions = read('events.jsonl', () => contradictionsOf(documents.events(), document));
  if (document === undefined) return problems;
  for (const detail of contradictionsWithin(document)) say('capsule.json', 'inconsistent', detail);
  if (policyDigest !== undefined && policyDigest !== document.policyDigest) {
    say('policy.json', 'inconsistent', 'not the policy that capsule.json names');
  }
  if (changes !== undefined && !agree(changes.totals, document)) {
    say('changes.jsonl', 'inconsistent', 'the changes are not those that capsule.json counts');
  }
  if (changes?.isBeforeCommandWrong === true || (document.kind !== 'run' && hasBeforeCommand(document))) {
    say('changes.jsonl', 'inconsistent', 'only what a run left can have come about before its command');
  }
  if (changes !== undefined && !isRootChange(changes.root, document)) {
    say('changes.jsonl', 'inconsistent', 'the change of the root is not that of the snapshots');
  }
  for (const detail of contradictions ?? []) say('events.jsonl', 'inconsistent', detail);
  return problems;
}

const WORDS: readonly DocumentProblemWord[] = [
  'missing',
  'not-a-file',
  'unreadable',
  'too-large',
  'cut-short',
  'changed',
  'broken-chain',
];

function wordOf(error: AgentdiffError): DocumentProblemWord {
  return WORDS.find((word) => word === error.data['problem']) ?? 'invalid';
}

/** @throws CAPSULE_INVALID or PATH_INVALID when a path in the document is not in its only form */
export function checkPaths({ workspace, cwd, coverage }: CapsuleDocument): void {
  fromAbsolutePathDocument(workspace.root);
  fromAbsolutePathDocument(cwd);
  const { unobserved, lowered, loweredAfter = [] } = coverage;
  for (const entry of [...unobserved.before, ...unobserved.after, ...lowered, ...loweredAfter])
    pathOfDocument(entry);
}

function summaryOf(
  changes: Iterable<ChangeRecord>,
  onChange: ((change: ChangeRecord) => void) | undefined,
): {
  totals: ChangeTotals;
  root: ChangeRecord | undefined;
  isBeforeCommandWrong: boolean;
} {
  const tally = new ChangeTally();
  let isBeforeCommandWrong = false;
  let root: ChangeRecord | undefined;
  for (const change of changes) {
    if (change.path === ROOT_PATH) root = change;
    // What is gone has no time of its change.
    if (change.reason === 'before-command' && change.after === undefined) isBeforeCommandWrong = true;
    tally.add(change);
    onChange?.(change);
  }
  return { totals: tally.totals(), root, isBeforeCommandWrong };
}

function hasBeforeCommand({ reversibility }: CapsuleDocument): boolean {
  return reversibility.notRecoverable.some(({ reason }) => reason === 'before-command');
}

/** The root's own metadata stands in both places: as a change exactly when it changed. */
function isRootChange(change: ChangeRecord | undefined, { snapshots }: CapsuleDocument): boolean {
  const [before, after] = [fromSnapshotDocument(snapshots.before), fromSnapshotDocument(snapshots.after)];
  if (change === undefined)
    return canonicalJson(snapshots.before.root) === canonicalJson(snapshots.after.root);
  const said = [change.before?.state, change.after?.state];
  return canonicalJson(said) === canonicalJson([before.root.state, after.root.state]);
}

function agree(
  { counts, recoverable, notRecoverable, linked }: ChangeTotals,
  document: CapsuleDocument,
): boolean {
  const { reversibility } = document;
  const counted = {
    counts: document.counts,
    recoverable: reversibility.recoverable,
    notRecoverable: reversibility.notRecoverable,
    // Capsules made before it was counted do not say it.
    linked: reversibility.linked ?? linked,
  };
  return canonicalJson({ counts, recoverable, notRecoverable, linked }) === canonicalJson(counted);
}

/** Only where nobody looked there is nothing to count. */
function isCounted({ level, files, bytes }: LoweredDocument): boolean {
  return level === 'none' || (files !== undefined && bytes !== undefined);
}

function contradictionsWithin(document: CapsuleDocument): string[] {
  const { coverage, reversibility, exit, snapshots, times } = document;
  const { before, after, beforeTotal, afterTotal } = coverage.unobserved;
  const expected = wordReversibility({
    ...reversibility,
    coverageComplete: coverage.complete,
    lowered: coverage.lowered.length,
    storeInsideWorkspace: coverage.storeInsideWorkspace,
    // The runtime `local` holds nothing back.
    held: false,
  });
  const isNamed = (list: readonly unknown[], total: number): boolean =>
    list.length === Math.min(total, MAX_NAMED_PATHS);
  const rules: readonly (readonly [holds: boolean, otherwise: string])[] = [
    [coverage.complete === (beforeTotal + afterTotal === 0), 'coverage.complete is not what its totals say'],
    [
      isNamed(before, beforeTotal) && isNamed(after, afterTotal),
      'coverage names fewer paths than its totals say',
    ],
    [
      [...coverage.lowered, ...(coverage.loweredAfter ?? [])].every(isCounted),
      'a place that was looked at says its files and bytes',
    ],
    [reversibility.tier === expected.tier, 'the tier is not what the counts say'],
    [isExit(document), 'exit does not say one way in which the child ended'],
    [exit.started === (times.childStartedAt !== undefined), 'a child has a start time when it was started'],
    [exit.started || times.childEndedAt === undefined, 'a child that was not started has no end'],
    [
      coverage.root !== 'removed' || snapshots.after.entries === 0,
      'a root that was removed has no entries after',
    ],
    [
      (document.kind === 'run') === (document.recovers === undefined),
      'only a recover or apply names another run',
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, otherwise]) => otherwise);
}

function isExit({ exit, outcome }: CapsuleDocument): boolean {
  const { started, code, signal, signalNumber, errno } = exit;
  if ((signal === undefined) !== (signalNumber === undefined)) return false;
  const ways = [code, signal].filter((way) => way !== undefined).length;
  if (!started) return ways === 0;
  // Of a run that was sealed later, nobody saw the end.
  return errno === undefined && (ways === 1 || (ways === 0 && outcome === 'unsealed'));
}

/** What the events say otherwise than the document; each thing is said once. */
function contradictionsOf(
  events: Iterable<EventDocument>,
  document: CapsuleDocument | undefined,
): Set<string> {
  const found = new Set<string>();
  let started = false;
  for (const event of events) {
    if (event.type === 'child-started') started = true;
    const contradiction = document && contradictionOf(event, document);
    if (contradiction !== undefined) found.add(contradiction);
  }
  if (document?.exit.started === true && !started) found.add('no event says that the child was started');
  return found;
}

function contradictionOf(event: EventDocument, document: CapsuleDocument): string | undefined {
  const { runId, snapshots, launch, exit } = document;
  switch (event.type) {
    case 'run-started':
      return event.runId === runId ? undefined : 'the events are those of another run';
    case 'snapshot-taken':
      return event.tree === snapshots[event.which].tree
        ? undefined
        : `another ${event.which}-snapshot was taken`;
    case 'launch-decided':
      return event.decision === launch.decision && event.rule === launch.rule
        ? undefined
        : 'another decision was made';
    case 'child-started':
      return exit.started ? undefined : 'a child was started';
    case 'child-ended':
      return event.code === exit.code && event.signal === exit.signal
        ? undefined
        : 'the child ended otherwise';
    case 'launch-failed':
      return event.errno === exit.errno ? undefined : 'the launch failed otherwise';
    case 'signal-received':
    case 'signal-passed':
    case 'plan-made':
    case 'consent-given':
    case 'recover-step':
    case 'sealing':
      return undefined;
  }
}
