import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDir } from './temporary.ts';

const osSignals = new Map(Object.entries(os.constants.signals));

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
/** The command as a user starts it; `npm test` builds it before the tests run. */
const BIN = path.join(PROJECT, 'bin/agentdiff.js');

export interface Ended {
  /** As a shell would see it: 128 + n for a signal. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Options {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string | Buffer;
}

/** Who starts the commands of a sandbox: the caller, or a user without any privilege. */
type User = 'caller' | 'nobody';
const NOBODY = 65534;

/** A workspace, a store and a home of their own, removed when the test ends. Nothing of the caller's environment reaches a command but PATH. */
export interface Sandbox {
  /** The workspace: an empty directory without a repository around it. */
  readonly ws: string;
  /** The base of the store, outside the workspace; made by the first run. */
  readonly store: string;
  readonly home: string;
  /** What a command is started with. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs agentdiff in the workspace. */
  readonly agentdiff: (args: readonly string[], options?: Options) => Ended;
  /** Runs a bash script in the workspace, in which `T` is agentdiff. */
  readonly bash: (script: string, options?: Options) => Ended;
  /** The parsed standard output of an agentdiff call with `--json`. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: (args: readonly string[], options?: Options) => any;
  /** The directory of the newest sealed capsule. */
  readonly newestCapsule: () => string;
}

export function sandbox(user: User = 'caller'): Sandbox {
  const base = temporaryDir();
  const at = (name: string): string => path.join(base, name);
  const [ws, store, home, tools] = [at('ws'), at('store'), at('home'), at('tools')];
  for (const dir of [ws, home, tools]) fs.mkdirSync(dir);
  const become = user === 'nobody' && process.getuid?.() === 0 ? AS_NOBODY : [];
  const [node, bin] = become.length === 0 ? [process.execPath, BIN] : copyForAll(tools);
  if (become.length > 0) {
    fs.chmodSync(base, 0o777);
    for (const dir of [ws, home]) fs.chownSync(dir, NOBODY, NOBODY);
  }
  fs.writeFileSync(at('tools/T'), `#!/bin/sh\nexec '${node}' '${bin}' "$@"\n`, { mode: 0o755 });
  const environment = {
    PATH: `${tools}:${process.env['PATH']}`,
    HOME: home,
    AGENTDIFF_STORE: store,
    LC_ALL: 'C.UTF-8',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  };
  const start = (argv: readonly string[], options: Options): Ended =>
    spawn([...become, ...argv], { cwd: ws, ...options, env: { ...environment, ...options.env } });
  const agentdiff = (args: readonly string[], options: Options = {}): Ended =>
    start([node, bin, ...args], options);
  return {
    ws,
    store,
    home,
    environment,
    agentdiff,
    bash: (script, options = {}) => start(['bash', '-c', script], options),
    json: (args, options) => JSON.parse(agentdiff([...args, '--json'], options).stdout),
    newestCapsule: () => newestCapsule(store),
  };
}

const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

/** The checkout and the caller's Node.js may lie where nobody else can read. */
function copyForAll(tools: string): [node: string, bin: string] {
  for (const part of ['bin', 'dist', 'package.json'])
    fs.cpSync(path.join(PROJECT, part), path.join(tools, part), { recursive: true });
  const canStart = (node: string): boolean =>
    spawnSync('setpriv', [...AS_NOBODY.slice(1), node, '--version']).status === 0;
  if (canStart(process.execPath)) return [process.execPath, path.join(tools, 'bin/agentdiff.js')];
  const node = path.join(tools, 'node');
  fs.copyFileSync(process.execPath, node, fs.constants.COPYFILE_FICLONE);
  fs.chmodSync(node, 0o755);
  return [node, path.join(tools, 'bin/agentdiff.js')];
}

function spawn([file = '', ...args]: readonly string[], options: Options): Ended {
  const { status, signal, stdout, stderr, error } = spawnSync(file, args, {
    ...options,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: 580_000,
  });
  if (error) throw error;
  const signalled = signal === null ? 0 : 128 + (osSignals.get(signal) ?? 0);
  return { status: status ?? signalled, stdout, stderr };
}

function newestCapsule(store: string): string {
  const workspaces = path.join(store, 'workspaces');
  const capsules = fs.readdirSync(workspaces).flatMap((id) => {
    const dir = path.join(workspaces, id, 'capsules');
    return fs.existsSync(dir) ? fs.readdirSync(dir).map((run) => path.join(dir, run)) : [];
  });
  const newest = capsules.sort((a, b) => (path.basename(a) < path.basename(b) ? -1 : 1)).at(-1);
  if (newest === undefined) throw new Error('no capsule was sealed');
  return newest;
}
