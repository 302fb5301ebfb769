import { type Context, type Group, once } from '../bench-context.ts';
import { inTurn, type Row } from '../rows.ts';
import { Agentdiff, findWalk } from '../tools.ts';
import { makeTree } from '../trees.ts';

/** A million small files: what a run takes of memory, and how it compares with listing them. */
export function millionGroup(context: Context): Group {
  const { place } = context;
  const prepared = once(async () => {
    const root = place.at('million', 'tree');
    await makeTree(root, { files: 1_000_000, seed: 5, sizes: [16, 120] }, context.pause);
    await context.settle();
    return { root, agentdiff: new Agentdiff(context, root, place.at('million', 'store')) };
  });
  const rows = async (): Promise<Row[]> => {
    const { root, agentdiff } = await prepared();
    const first = await agentdiff.peakMb('true');
    const later = await agentdiff.peakMb('true');
    const samples = await inTurn(Math.min(context.repeat, 3), 0, {
      ours: () => agentdiff.run('true'),
      find: () => findWalk(context, root),
    });
    const bar = { atMost: 900, striveFor: 400 };
    const what = '1,000,000 files';
    const find = { name: 'find with lstat, once', samples: samples.find };
    return [
      { name: 'million-memory-first', what: `memory, first run, ${what}`, unit: 'MB', ours: [first], bar },
      { name: 'million-memory-noop', what: `memory, run -- true, ${what}`, unit: 'MB', ours: [later], bar },
      { name: 'million-noop', what: `run -- true, ${what}`, unit: 'ms', ours: samples.ours, yardstick: find },
    ];
  };
  return { space: 6e9, directory: 'million', measures: [{ name: 'million', rows }] };
}
