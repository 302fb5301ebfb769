import { availableParallelism, userInfo } from 'node:os';
import { AgentdiffError, type ByteString } from '../core/index.ts';
import type { Context, Logger, Place } from '../operations/index.ts';
import {
  absolute,
  checkOwnDirectory,
  checkOwnInput,
  ownWorkingDirectory,
  settled,
} from '../operations/own-process.ts';
import type { CommonOptions } from './options.ts';
import type { Output } from './output.ts';
import { renderError } from './render/error.ts';
import type { Session } from './session.ts';
import { VERSION } from './version.ts';

/**
 * Gathers, once, all that the operations may know of the process.
 * @param command the subcommand's name: `run` hands arguments, environment and directory to a child, so all of them must be valid
 * @throws PLATFORM_UNSUPPORTED, INPUT_NOT_UTF8, CWD_MISSING, STORE_UNWRITABLE, OUTPUT_UNWRITABLE, USAGE
 */
export async function openSession(command: string, options: CommonOptions, output: Output): Promise<Session> {
  refusePlatform(process.platform);
  const environment = process.env;
  const cwd = workingDirectory(environment['PWD']);
  if (command === 'run') checkOwnDirectory(cwd);
  checkOwnInput(process.argv.length - 2, (name) => command === 'run' || isOurs(name));
  const home = homeDirectory(environment);
  const context: Context = {
    toolVersion: VERSION,
    now: () => Date.now(),
    monotonic: () => process.hrtime.bigint(),
    environment,
    cwd,
    home,
    log: await logger(options, output),
    scanThreads: scanThreads(),
  };
  return { context, place: placeOf(options, context), output, json: options.json === true };
}

/** @throws PLATFORM_UNSUPPORTED on systems without POSIX permissions, owners and signals */
export function refusePlatform(platform: string): void {
  if (platform !== 'win32') return;
  throw new AgentdiffError('PLATFORM_UNSUPPORTED', 'agentdiff does not run on Windows', {
    hint: 'use it inside WSL, on a workspace of its Linux file system',
  });
}

/** More threads than this gain nothing: the kernel's own locks are what they wait for. */
const MAX_THREADS = 3;

function scanThreads(): Context['scanThreads'] {
  const count = Math.min(availableParallelism() - 1, MAX_THREADS);
  return count < 1 ? undefined : { program: new URL('./scan-thread.cjs', import.meta.url), count };
}

function isOurs(name: string): boolean {
  return name === 'HOME' || name === 'XDG_STATE_HOME' || name.startsWith('AGENTDIFF_');
}

function workingDirectory(told: string | undefined): ByteString {
  try {
    return ownWorkingDirectory() ?? process.cwd();
  } catch (cause) {
    throw new AgentdiffError(
      'CWD_MISSING',
      `the working directory is gone: ${told || 'its name is not known'}`,
      {
        hint: 'change to a directory that exists, and start again',
        data: told ? { path: told } : {},
        cause,
      },
    );
  }
}

/** HOME, else what the system knows of the user, else nothing: in a container neither may be there. */
function homeDirectory(environment: Context['environment']): ByteString | undefined {
  if (environment['HOME']) return environment['HOME'];
  try {
    return userInfo().homedir || undefined;
  } catch {
    return undefined;
  }
}

async function logger({ verbose, logFile, debug }: CommonOptions, output: Output): Promise<Logger> {
  if (verbose !== true && logFile === undefined) return { debug() {}, info() {}, warn() {} };
  const { openLog } = await import('./log.ts');
  return openLog(logFile, (error) => output.tell(renderError(error, output.errStyle, debug === true)));
}

/** Where the workspace and the store are; exported for its tests. */
export function placeOf(
  options: CommonOptions,
  context: Pick<Context, 'environment' | 'cwd' | 'home'>,
): Place {
  const { environment, cwd, home } = context;
  const chosen = nonEmpty('--store', options.store) ?? (environment['AGENTDIFF_STORE'] || undefined);
  const store = chosen === undefined ? defaultStore(environment, home) : settledStore(chosen, cwd);
  const root = nonEmpty('--root', options.root);
  return {
    ...(root === undefined ? {} : { root: absolute(root, cwd) }),
    store,
    storeChosen: chosen !== undefined,
    allowAnyRoot: options.allowRoot === true,
  };
}

/** A relative path is settled now: the command may remove the directory that it is relative to. */
function settledStore(chosen: string, cwd: ByteString): ByteString {
  return chosen.startsWith('/') ? chosen : settled(absolute(chosen, cwd));
}

function nonEmpty(option: string, value: string | undefined): string | undefined {
  if (value === '')
    throw new AgentdiffError('USAGE', `${option} is empty`, {
      hint: `give ${option} a directory, or leave it out`,
    });
  return value;
}

/** A relative path in XDG_STATE_HOME is to be ignored (XDG Base Directory Specification); so is a relative home. */
function defaultStore(environment: Context['environment'], home: ByteString | undefined): ByteString {
  const state = environment['XDG_STATE_HOME'];
  if (state?.startsWith('/')) return `${withoutSlash(state)}/agentdiff`;
  if (home?.startsWith('/')) return `${withoutSlash(home)}/.local/state/agentdiff`;
  throw new AgentdiffError(
    'STORE_UNWRITABLE',
    'there is no place for the store: neither HOME nor XDG_STATE_HOME names a directory',
    {
      hint: 'name one with --store DIR or AGENTDIFF_STORE',
    },
  );
}

function withoutSlash(path: string): string {
  return path.replace(/\/+$/, '');
}
