import type { RunReport } from '../../operations/run.ts';
import type { CapsuleDocument, Reversibility } from '../../capsule/index.ts';
import { wordUnseen } from '../../operations/reversibility.ts';
import { displayArgv, escapeText } from '../../core/index.ts';
import { errorDocument } from './error.ts';
import { jsonLine } from './json.ts';
import type { Style } from './style.ts';
import {
  count,
  cut,
  escapeControls,
  lines,
  showBytes,
  showDuration,
  showExit,
  showNumber,
  joinWithin,
  showPath,
} from './words.ts';

type Line = RunReport['summary']['created'][number];

const PATH_WIDTH = 60;

/** The short account after the child ended; about a dozen lines at most. */
export function renderRun(report: RunReport, words: Reversibility | undefined, style: Style): string {
  const { summary, runId, sealed } = report;
  if (sealed === undefined || words === undefined) {
    const parts = [`run ${runId}`, showExit(report.exit), `root ${escapeText(report.root)}`];
    return lines([
      `${style.strong('agentdiff:')} ${parts.join('  ')}`,
      `  ${style.bad('not sealed:')} this run has no capsule, and what it changed cannot be shown`,
    ]);
  }
  const { capsule } = sealed;
  const { created, deleted, modified } = capsule.counts;
  const isUnchanged = created + deleted + modified === 0 && capsule.coverage.root === undefined;
  const head = `${style.strong('agentdiff:')} ${headOf(capsule, isUnchanged)}`;
  const outcome = outcomeLine(capsule, style);
  if (isUnchanged) {
    const unseen = wordUnseen(capsule.coverage);
    return lines([head, ...outcome, ...(unseen === undefined ? [] : [`  ${unseen}`])]);
  }
  const recover = capsule.reversibility.recoverable > 0 ? [recoverCommand(capsule)] : [];
  return lines([
    head,
    ...changeLine('deleted', deleted, summary.deleted, style.bad),
    ...changeLine('modified', modified, summary.modified, style.warn),
    ...changeLine('created', created, summary.created, style.good),
    ...repositoryLine(summary.repositories),
    ...outcome,
    ...reasonLine(summary.notRecoverable, style),
    ...reversibilityLines(words),
    `  capsule digest ${sealed.digest}`,
    `  next: ${[...recover, `agentdiff show ${runId}`].join('   ')}`,
  ]);
}

/** Where the root was removed it has to be made again first, and the caller's own directory may be gone with it. */
function recoverCommand({ runId, workspace, coverage }: CapsuleDocument): string {
  if (coverage.root !== 'removed') return `agentdiff recover ${runId}`;
  const root = workspace.root.pathBytes === undefined ? workspace.root.path : 'ROOT';
  return `${displayArgv(['mkdir', root])} && ${displayArgv(['agentdiff', 'recover', '--root', root, runId])}`;
}

function headOf({ runId, workspace, coverage, times, exit }: CapsuleDocument, isUnchanged: boolean): string {
  const root = `root ${showRoot(workspace)}`;
  const { beforeTotal, afterTotal } = coverage.unobserved;
  const { outward, complete } = coverage;
  const unseen = complete ? [] : [`${count(Math.max(beforeTotal, afterTotal), 'place')} not observed`];
  const links =
    outward === undefined
      ? ''
      : ` (${count(outward.total, 'link')} out of it: what lies behind is not recorded)`;
  const seen = isUnchanged ? [`no change seen in the workspace${links}`] : [];
  const duration = showDuration(times.childDurationMs ?? times.durationMs);
  return [`run ${runId}`, showExit(exit), duration, ...seen, ...unseen, root].join('  ');
}

/** The root's real path, the user's own spelling where that is another, and how it was found. */
export function showRoot({ root, spelling, chosenBy }: CapsuleDocument['workspace']): string {
  const own = spelling === undefined ? '' : `reached as ${escapeText(spelling.path)}, `;
  return `${escapeText(root.path)} (${own}${ROOT_RULES[chosenBy]})`;
}

const ROOT_RULES: Readonly<Record<CapsuleDocument['workspace']['chosenBy'], string>> = {
  option: 'given by --root',
  environment: 'given by AGENTDIFF_ROOT',
  'policy-file': 'found by agentdiff.yaml',
  git: 'found by .git',
  cwd: 'the current directory',
};

/** More limits than this share one line. */
const MAX_LIMIT_LINES = 4;

/** What can be taken back, and what not: the words are not ours, see `capsule/reversibility.ts`. */
export function reversibilityLines({ summary, limits }: Reversibility): string[] {
  const separate = limits.length <= MAX_LIMIT_LINES ? limits : [limits.join(' ')];
  return [summary, ...separate].map((text) => `  ${escapeControls(text)}`);
}

/** Passed and failed are said by the exit already. */
function outcomeLine({ outcome, launch }: CapsuleDocument, style: Style): string[] {
  if (outcome === 'passed' || outcome === 'failed') return [];
  const rule = outcome === 'blocked' ? ` (rule ${escapeControls(launch.rule)})` : '';
  return [`  outcome: ${style.warn(outcome)}${rule}`];
}

function changeLine(
  word: string,
  total: number,
  items: readonly Line[],
  colour: (text: string) => string,
): string[] {
  if (items.length === 0) return [];
  return [`  ${colour(word.padEnd(8))} ${showNumber(total).padStart(4)}  ${joinWithin(items.map(showLine))}`];
}

function showLine({ path, kind, extent, entries, note }: Line): string {
  const notes = [
    ...(extent === 'single' || entries === 1
      ? []
      : [`${extent === 'whole' ? '' : 'in it '}${count(entries, 'entry', 'entries')}`]),
    ...(note === undefined ? [] : [note]),
  ];
  const shown = cut(showPath(path, kind), PATH_WIDTH);
  return notes.length === 0 ? shown : `${shown} (${notes.join(', ')})`;
}

/** Changes in the data of repositories are part of the totals above, and would drown everything else if they were named. */
function repositoryLine(repositories: RunReport['summary']['repositories']): string[] {
  if (repositories.length === 0) return [];
  const names = repositories.map(
    ({ path, entries }) =>
      `${cut(showPath(path, 'directory'), PATH_WIDTH)} (${count(entries, 'entry', 'entries')})`,
  );
  return [`  of these, inside repositories: ${joinWithin(names)}`];
}

/** One line about what retention did after the run, also where no summary is wanted: evidence went. */
export function renderRetention({ retention }: RunReport, style: Style): string {
  if (retention === undefined) return '';
  if (retention.kind === 'failed') {
    const { message, code } = retention.error;
    return lines([
      `${style.warn('agentdiff:')} the store could not be kept within its budget: ${escapeControls(message)} [${code}]`,
    ]);
  }
  const { removed, freedBytes, sizeBytes, budgetBytes } = retention;
  const over =
    sizeBytes > budgetBytes ? `, ${style.warn('still over it')}: nothing more may go, see agentdiff gc` : '';
  return lines([
    `${style.warn('agentdiff:')} the store was near its budget of ${showBytes(budgetBytes)}: ${count(removed.length, 'old capsule')} removed, ${showBytes(freedBytes)} freed, ${showBytes(sizeBytes)} left${over}`,
  ]);
}

/** By reason code, which paths; what that means is said by the sentences that follow. */
function reasonLine(reasons: RunReport['summary']['notRecoverable'], style: Style): string[] {
  if (reasons.length === 0) return [];
  const parts = reasons.map(({ reason, count: total, examples }) => {
    const names = joinWithin(
      examples.map((path) => cut(showPath(path), PATH_WIDTH)),
      total,
    );
    return `${style.warn(reason)} ${showNumber(total)}: ${names}`;
  });
  return [`  ${parts.join('; ')}`];
}

/** For `--result-file`. */
export function renderRunJson(report: RunReport, words: Reversibility | undefined): string {
  const { runId, exitStatus, exit, sealed, sealError, launchProblem, retention } = report;
  const problem = launchProblem ?? sealError;
  return jsonLine({
    runId,
    exitStatus,
    exit,
    sealed: sealed !== undefined,
    ...(sealed === undefined ? {} : { digest: sealed.digest, capsule: sealed.capsule, reversibility: words }),
    ...(retention?.kind === 'collected' && { retention }),
    ...(problem === undefined ? {} : errorDocument(problem)),
  });
}
