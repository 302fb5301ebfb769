import { type Context, once } from '../bench-context.ts';
import { Agentdiff, Sha256sum, ShadowGit } from '../tools.ts';
import { makeTree, sourceSizes } from '../trees.ts';

/** What one file of the tree takes on the disk, roughly: in the tree itself, in a store, in a repository of loose objects. */
export const BYTES = { tree: 6_500, store: 4_800, repository: 6_000 } as const;

/** What the measures of the large tree share; each part is made when it is first asked for. */
export interface LargeTree {
  readonly files: number;
  /** `100k`, or `1k` when quick. */
  readonly label: string;
  /** `100,000 files`, for people. */
  readonly what: string;
  /** Bars hold for the full size alone. */
  readonly full: boolean;
  readonly tree: () => Promise<string>;
  readonly sha256sum: () => Promise<Sha256sum>;
  /** Has had its first run, and one after that. */
  readonly warmed: () => Promise<Agentdiff>;
  /** Has had its first checkpoint, and one after that. */
  readonly warmedGit: (tuned: boolean) => Promise<ShadowGit>;
}

export function largeTree(context: Context): LargeTree {
  const { place, quick, settle } = context;
  const files = quick ? 1_000 : 100_000;
  const at = (name: string): string => place.at('tree', name);
  const tree = once(async () => {
    await makeTree(at('tree'), { files, seed: 1, sizes: sourceSizes }, context.pause);
    await settle();
    return at('tree');
  });
  const warmed = once(async () => {
    const agentdiff = new Agentdiff(context, await tree(), at('warm-store'));
    await agentdiff.run('true');
    await agentdiff.run('true');
    return agentdiff;
  });
  const gitOf = (tuned: boolean) =>
    once(async () => {
      const git = await ShadowGit.make(
        context,
        await tree(),
        at(tuned ? 'warm-git-tuned' : 'warm-git'),
        tuned,
      );
      await git.twoCheckpoints();
      return git;
    });
  const gits = [gitOf(false), gitOf(true)] as const;
  return {
    files,
    label: `${files / 1000}k`,
    what: `${files.toLocaleString('en')} files`,
    full: !quick,
    tree,
    sha256sum: once(async () => Sha256sum.make(context, await tree(), at('names'))),
    warmed,
    warmedGit: (tuned) => gits[tuned ? 1 : 0](),
  };
}
