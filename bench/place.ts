import * as fs from 'node:fs';
import * as path from 'node:path';
import { BenchError } from './commands.ts';

/** The temporary directory: all that the benchmark writes lies in it, the homes of the commands it starts too. */
export interface Place {
  readonly base: string;
  /** Nothing of the caller's settings reaches a command. */
  readonly env: Readonly<Record<string, string>>;
  /** How the caller reaches the network; given to npm alone. */
  readonly network: Readonly<Record<string, string>>;
  /** A path below it; the directories above are made. */
  readonly at: (...names: string[]) => string;
  readonly remove: () => void;
}

const NETWORK = /^(?:https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|npm_config_registry)$/i;

/** @param caller the caller's environment */
export function makePlace(dir: string, caller: NodeJS.ProcessEnv): Place {
  const base = fs.mkdtempSync(path.join(fs.realpathSync(dir), 'agentdiff-bench-'));
  const at = (...names: string[]): string => {
    const file = path.join(base, ...names);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    return file;
  };
  const home = at('home');
  fs.mkdirSync(home);
  const env = {
    PATH: caller['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, 'config'),
    XDG_STATE_HOME: path.join(home, 'state'),
    XDG_CACHE_HOME: path.join(home, 'cache'),
    XDG_DATA_HOME: path.join(home, 'data'),
    TMPDIR: home,
    LC_ALL: 'C.UTF-8',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    npm_config_cache: path.join(home, 'npm'),
    npm_config_userconfig: '/dev/null',
    npm_config_update_notifier: 'false',
  };
  const remove = (): void => fs.rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  const network = Object.fromEntries(
    Object.entries(caller).flatMap(([name, value]) =>
      NETWORK.test(name) && value !== undefined ? [[name, value]] : [],
    ),
  );
  return { base, env, network, at, remove };
}

/** @throws BenchError when less than that is free */
export function checkFree(dir: string, bytes: number): void {
  const { bavail, bsize } = fs.statfsSync(dir);
  if (bavail * bsize >= bytes) return;
  const mb = (n: number): string => `${Math.round(n / 1e6).toLocaleString('en')} MB`;
  throw new BenchError(
    `${mb(bytes)} of free space are needed in ${dir}, ${mb(bavail * bsize)} are there; name another place with --dir, or fewer measures with --only`,
  );
}

/** Lengths and allocated bytes of everything below a directory, itself included. */
export function sizeOf(dir: string): { readonly length: number; readonly allocated: number } {
  let [length, allocated] = [0, 0];
  const add = (file: string): void => {
    const stat = fs.lstatSync(file);
    allocated += stat.blocks * 512;
    if (!stat.isDirectory()) length += stat.size;
    else for (const name of fs.readdirSync(file)) add(path.join(file, name));
  };
  add(dir);
  return { length, allocated };
}
