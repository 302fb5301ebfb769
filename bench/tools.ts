import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Context } from './bench-context.ts';
import { BenchError } from './commands.ts';

/** Our command on one workspace with one store. */
export class Agentdiff {
  readonly store: string;
  readonly #context: Context;
  readonly #root: string;

  /** @param store a path that does not exist yet */
  constructor(context: Context, root: string, store: string) {
    this.store = store;
    this.#context = context;
    this.#root = root;
  }

  /** Milliseconds of a whole call. */
  readonly ms = (...args: readonly string[]): Promise<number> =>
    this.#context.commands.ms(this.#argv(args), { cwd: this.#root });

  /** Milliseconds of `run -- command`. */
  readonly run = (...command: readonly string[]): Promise<number> => this.ms('run', '--', ...command);

  /** MB of `run -- command`. */
  readonly peakMb = (...command: readonly string[]): Promise<number> =>
    this.#context.commands.peakMb(this.#argv(['run', '--', ...command]), { cwd: this.#root });

  /** How long each of the two scans of the newest run took, as its capsule says. */
  scansMs(): { readonly before: number; readonly after: number } {
    const events = fs.readFileSync(path.join(newestCapsule(this.store), 'events.jsonl'), 'utf8');
    const taken = events
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; which?: string; durationMs?: number })
      .filter(({ type }) => type === 'snapshot-taken');
    const of = (which: string): number => {
      const ms = taken.find((event) => event.which === which)?.durationMs;
      if (ms === undefined)
        throw new BenchError(`the newest capsule does not say how long the scan ${which} took`);
      return ms;
    };
    return { before: of('before'), after: of('after') };
  }

  /** The next run is a first run again. */
  removeStore(): void {
    fs.rmSync(this.store, { recursive: true, force: true });
  }

  // The root is the one that finding it would give, unless the benchmark itself runs inside a repository.
  #argv([command = '', ...rest]: readonly string[]): string[] {
    return [...this.#context.agentdiff, command, '--root', this.#root, '--store', this.store, ...rest];
  }
}

function newestCapsule(store: string): string {
  const workspaces = path.join(store, 'workspaces');
  const [capsules, newest] = fs
    .readdirSync(workspaces)
    .map((id) => path.join(workspaces, id, 'capsules'))
    .map((dir) => [dir, fs.readdirSync(dir).sort().at(-1)] as const)
    .at(-1) ?? ['', undefined];
  if (newest === undefined) throw new BenchError('no capsule was sealed');
  return path.join(capsules, newest);
}

const TUNED = {
  'core.untrackedCache': 'true',
  'core.fsmonitor': 'false',
  'index.threads': 'true',
  'feature.manyFiles': 'true',
  'core.looseCompression': '0',
};

/** A repository outside the tree that takes checkpoints of it, as agents do today. */
export class ShadowGit {
  readonly #context: Context;
  readonly #call: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };

  private constructor(context: Context, root: string, gitDir: string) {
    this.#context = context;
    this.#call = { cwd: root, env: { GIT_DIR: gitDir, GIT_WORK_TREE: root } };
  }

  static async make(context: Context, root: string, gitDir: string, tuned = false): Promise<ShadowGit> {
    const git = new ShadowGit(context, root, gitDir);
    await context.commands.ms(['git', 'init', '--quiet'], git.#call);
    if (tuned) {
      for (const [name, value] of Object.entries(TUNED))
        await context.commands.ms(['git', 'config', name, value], git.#call);
    }
    return git;
  }

  /** Milliseconds of `add -A` and `write-tree`. */
  readonly checkpoint = async (): Promise<number> => {
    const { commands } = this.#context;
    const add = await commands.ms(['git', 'add', '-A'], this.#call);
    return add + (await commands.ms(['git', 'write-tree'], this.#call));
  };

  /** What an agent that takes one before and one after each command pays. */
  readonly twoCheckpoints = async (): Promise<number> =>
    (await this.checkpoint()) + (await this.checkpoint());
}

/** Milliseconds of a walk with lstat of every entry. */
export function findWalk({ commands }: Context, root: string): Promise<number> {
  return commands.ms(['find', '.', '-printf', '%p %s %T@ %C@ %i %m %U %G %n\n'], { cwd: root });
}

/** Hashes every file of a tree. The list of names is made beforehand, so that only hashing is timed. */
export class Sha256sum {
  readonly #context: Context;
  readonly #root: string;
  readonly #list: string;

  private constructor(context: Context, root: string, list: string) {
    this.#context = context;
    this.#root = root;
    this.#list = list;
  }

  static async make(context: Context, root: string, list: string): Promise<Sha256sum> {
    const names = await context.commands.output(['find', '.', '-type', 'f', '-print0'], { cwd: root });
    fs.writeFileSync(list, names);
    return new Sha256sum(context, root, list);
  }

  /** Milliseconds of `xargs -P2 sha256sum`, in portions of 1,000 files. */
  readonly ms = (): Promise<number> =>
    this.#context.commands.ms(['xargs', '-0', '-P2', '-n1000', '-a', this.#list, 'sha256sum'], {
      cwd: this.#root,
    });
}

/** The least that any program in Node costs. */
export function nodeAlone({ commands, node, place }: Context): Promise<number> {
  return commands.ms([node, '-e', '0'], { cwd: place.base });
}

/** What was written before is on the disk, so that the next command does not wait for it. */
export async function flush({ commands, place }: Context): Promise<void> {
  await commands.ms(['sync', '-f', '.'], { cwd: place.base });
}
