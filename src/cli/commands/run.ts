import { AgentdiffError, RUN_EXIT } from '../../core/index.ts';
import { type OutputFile, prepareOutputFile } from '../../operations/output.ts';
import { absolute } from '../../operations/own-process.ts';
import { reversibilityOf } from '../../operations/reversibility.ts';
import { run, type RunReport, type RunRequest } from '../../operations/run.ts';
import { watchInterrupts } from '../interrupt.ts';
import type { RunOptions } from '../options.ts';
import { wantsProgress, watchScansOn } from '../progress.ts';
import { errorDocument, renderError } from '../render/error.ts';
import { jsonLine } from '../render/json.ts';
import { renderNotice } from '../render/notice.ts';
import { renderRetention, renderRun, renderRunJson } from '../render/run.ts';
import { parsePolicyFlags, policyFileOf } from '../policy-options.ts';
import type { Session } from '../session.ts';

/** @param argv the child's words, at least one */
export async function runCommand(
  session: Session,
  argv: RunRequest['argv'],
  options: RunOptions,
): Promise<number> {
  const { context, place, output } = session;
  if (session.json) {
    throw new AgentdiffError('USAGE', 'run has no --json: its stdout belongs to the command', {
      hint: 'use --result-file FILE',
    });
  }
  const request: RunRequest = {
    argv,
    place,
    policyFlags: parsePolicyFlags(options),
    bestEffort: options.bestEffort === true,
    fullScan: options.fullScan === true,
    ...policyFileOf(options, context.cwd),
    failOn: options.failOn ?? 'deny',
    ...(options.task === undefined ? {} : { task: options.task }),
  };
  const resultFile =
    options.resultFile === undefined
      ? undefined
      : prepareOutputFile(absolute(options.resultFile, context.cwd));
  const interrupts = watchInterrupts();
  try {
    const report = await orTellResultFile(resultFile, () =>
      run(watched(session, options), { ...request, refuseInterrupted: interrupts.check }, (notice) =>
        output.tell(renderNotice(notice, output.errStyle)),
      ),
    );
    return finish(session, report, resultFile, options);
  } finally {
    interrupts.release();
  }
}

/** The context, and on a terminal somebody who watches the scans. */
function watched({ context, output }: Session, { quiet }: RunOptions): Session['context'] {
  if (!wantsProgress(output.errIsTerminal, context.environment, quiet)) return context;
  const screen = { write: (text: string) => output.tell(text), columns: () => output.errColumns() };
  return { ...context, watchScan: watchScansOn(screen, context.monotonic) };
}

/** Who reads the result file learns of a failure before the child from it too. */
async function orTellResultFile<T>(file: OutputFile | undefined, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof AgentdiffError) file?.write(jsonLine(errorDocument(error)));
    throw error;
  }
}

function finish(
  session: Session,
  report: RunReport,
  file: OutputFile | undefined,
  options: RunOptions,
): number {
  const { output } = session;
  const style = output.errStyle;
  const words = report.sealed && reversibilityOf(report.sealed.capsule);
  for (const problem of [report.launchProblem, report.sealError]) {
    if (problem !== undefined) output.tell(renderError(problem, style, options.debug === true));
  }
  if (options.quiet !== true) output.tell(renderRun(report, words, style));
  if (report.retention !== undefined) output.tell(renderRetention(report, style));
  try {
    file?.write(renderRunJson(report, words));
  } catch (error) {
    // A failed child keeps its status; a successful one whose result is missing must not look complete.
    if (!(error instanceof AgentdiffError)) throw error;
    output.tell(renderError(error, style, options.debug === true));
    return report.exitStatus || RUN_EXIT.failed;
  }
  return report.exitStatus;
}
