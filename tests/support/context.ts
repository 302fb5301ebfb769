import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Context, Place } from '../../src/operations/index.ts';
import {
  applyRecover,
  planRecover,
  type RecoverReport,
  type RecoverRequest,
} from '../../src/operations/recover.ts';
import { run, type RunReport, type RunRequest } from '../../src/operations/run.ts';
import { resolvePolicy } from '../../src/policy/index.ts';
import { checkRoot, findRoot } from '../../src/operations/workspace/root.ts';
import { Session } from '../../src/operations/workspace/session.ts';
import { parseRelPath, type RunId } from '../../src/core/index.ts';
import { temporaryDir } from './temporary.ts';

/** A workspace and a store of their own, for calling the operations in this process. */
export interface Setting {
  /** An empty directory. */
  readonly ws: string;
  readonly store: string;
  readonly home: string;
  readonly context: Context;
  readonly place: Place;
  /** The absolute path of something in the workspace. */
  readonly at: (...names: string[]) => string;
}

export function setting(base = temporaryDir()): Setting {
  const [ws, store, home] = [path.join(base, 'ws'), path.join(base, 'store'), path.join(base, 'home')];
  for (const dir of [ws, home]) fs.mkdirSync(dir);
  const context = contextIn(ws, home);
  const place = { root: ws, store, storeChosen: true, allowAnyRoot: false };
  return { ws, store, home, context, place, at: (...names) => path.join(ws, ...names) };
}

/** What the command line would gather, with a fixed version, the real clock, no terminal and a small environment. */
export function contextIn(cwd: string, home: string | undefined): Context {
  return {
    toolVersion: '0.0.0-test',
    now: () => Date.now(),
    monotonic: () => process.hrtime.bigint(),
    environment: { PATH: process.env['PATH'] },
    cwd,
    home,
    log: { debug() {}, info() {}, warn() {} },
  };
}

/** A run of the command `edit` that has begun and is active until it is closed. */
export function activeRun(
  { context, place }: Setting,
  request: Partial<RunRequest['policyFlags']> = {},
): { session: Session; close: () => void } {
  const root = findRoot(context, place);
  const session = Session.open(context, place, root, checkRoot(root, context, place), {
    kind: 'run',
    argv: ['edit'],
    policy: resolvePolicy({ capture: [], limits: {}, ...request }),
    whenFull: 'stop',
  });
  const close = (): void => {
    session.close();
    root.dir.close();
  };
  return { session, close };
}

/** A sealed run whose command is `edit`, done in this process: no child has to be started for it. */
export function observed(
  setting: Setting,
  edit: () => void,
  request: Partial<RunRequest['policyFlags']> = {},
): RunId {
  const { session, close } = activeRun(setting, request);
  try {
    session.snapshotBefore();
    session.event({ type: 'launch-decided', decision: 'allow', rule: 'default' });
    session.event({ type: 'child-started', pid: process.pid });
    const at = new Date(setting.context.now()).toISOString();
    edit();
    session.event({ type: 'child-ended', code: 0 });
    session.snapshotAfter();
    session.seal(
      {
        exit: { started: true, code: 0 },
        launch: { decision: 'allow', rule: 'default' },
        child: { childStartedAt: at, childEndedAt: at, childDurationMs: 0 },
        outcome: () => 'passed',
      },
      () => {},
    );
    return session.runId;
  } finally {
    close();
  }
}

/** A sealed run of a shell script. */
export async function scripted(
  { context, place }: Setting,
  script: string,
  more: Partial<RunRequest> = {},
): Promise<RunReport> {
  return await run(
    context,
    {
      argv: ['sh', '-c', script],
      place,
      policyFlags: { capture: [], limits: {} },
      bestEffort: false,
      fullScan: false,
      failOn: 'deny',
      ...more,
    },
    () => {},
  );
}

export function requestFor({ place }: Setting, ref?: string, paths: readonly string[] = []): RecoverRequest {
  return { place, ref, paths: paths.map(parseRelPath) };
}

/** Plans and applies, as `recover --yes` does. */
export function recovered(setting: Setting, ref?: string, paths: readonly string[] = []): RecoverReport {
  const request = requestFor(setting, ref, paths);
  return applyRecover(setting.context, request, planRecover(setting.context, request), 'yes');
}

/** Each result as `restored a` or `refused a: changed-since`. */
export function linesOf({ results }: Pick<RecoverReport, 'results'>): string[] {
  return results.map(
    ({ result, path: at, code }) => `${result} ${at || '.'}${code === undefined ? '' : `: ${code}`}`,
  );
}
