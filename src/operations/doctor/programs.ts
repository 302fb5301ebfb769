import { type ByteString, invariant } from '../../core/index.ts';
import { type Dir, realPath } from '../../fs/index.ts';
import { builtInPolicy, decideLaunch, isLaunchPermit } from '../../policy/index.ts';
import { probe, type ProbeResult } from '../../supervisor/index.ts';
import type { Context, Place } from '../workspace/context.ts';
import { findRoot } from '../workspace/root.ts';
import { TOOL_DIRECTORY, toolEnvironment } from '../workspace/tools.ts';
import type { Check } from './check.ts';
import { openLeftover, overlayTrial } from './overlay.ts';

const PROGRAMS: readonly { id: string; argv: readonly [string, ...string[]]; use: string }[] = [
  { id: 'git', argv: ['git', '--version'], use: 'not needed: a run works without git' },
  {
    id: 'strace',
    argv: ['strace', '-f', '-o', '/dev/null', 'true'],
    use: 'not used yet: effects outside the workspace are not traced',
  },
  { id: 'srt', argv: ['srt', '--version'], use: 'not used yet: commands run on this machine directly' },
];

/** git, strace and srt, each by starting it. */
export async function programChecks(context: Context, place: Place): Promise<Check[]> {
  const results = await Promise.all(PROGRAMS.map(({ argv }) => tryProgram(context, place, argv)));
  return PROGRAMS.map(({ id, use }, i) => {
    const result = results[i];
    if (result?.works)
      return { id, title: id, status: 'ok', detail: result.firstLine || 'a trial run worked' };
    const why =
      result?.errno === 'ENOENT' ? 'not installed' : `does not work here: ${result?.firstLine ?? ''}`;
    return { id, title: id, status: 'missing', detail: `${why}; ${use}` };
  });
}

/** A trial mount of an overlay in a user namespace of its own. */
export async function overlayCheck(
  context: Context,
  place: Place,
  scratch: Dir,
  path: ByteString,
): Promise<Check> {
  const base = { id: 'overlay', title: 'overlay in a user namespace' };
  const argv = overlayTrial(scratch, path);
  const result = argv && (await tryProgram(context, place, argv));
  if (argv !== undefined) openLeftover(scratch);
  if (result?.works)
    return { ...base, status: 'ok', detail: 'a trial mount worked; contained runs are not built yet' };
  const why =
    result === undefined
      ? 'the path of the store cannot be a mount option'
      : (result.errno ?? result.firstLine);
  return {
    ...base,
    status: 'missing',
    detail: `the trial mount failed: ${why}; contained runs would not work here`,
  };
}

/** Where no root can be opened, the current directory is what must not be searched for programs. */
function rootPath(context: Context, place: Place): ByteString | undefined {
  try {
    const root = findRoot(context, place);
    root.dir.close();
    return root.path;
  } catch {
    return realPath(context.cwd);
  }
}

async function tryProgram(
  context: Context,
  place: Place,
  argv: readonly [string, ...string[]],
): Promise<ProbeResult> {
  const { permit } = decideLaunch(builtInPolicy(), { argv, cwd: TOOL_DIRECTORY, workspaceId: '' });
  invariant(permit !== undefined, 'the built-in policy allows every command');
  return await probe(permit, {
    isPermit: isLaunchPermit,
    env: toolEnvironment(context, rootPath(context, place)),
  });
}
