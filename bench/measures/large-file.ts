import * as path from 'node:path';
import * as fs from 'node:fs';
import { type Context, type Group, once } from '../bench-context.ts';
import { inTurn, type Row } from '../rows.ts';
import { Agentdiff, flush, nodeAlone, Sha256sum } from '../tools.ts';
import { makeLargeFile } from '../trees.ts';

/** A tree with one file of 2 GB. */
export function largeFileGroup(context: Context): Group {
  const { place, quick } = context;
  const bytes = quick ? 16 << 20 : 2 ** 31;
  const prepared = once(async () => {
    const root = place.at('large', 'tree');
    fs.mkdirSync(root);
    await makeLargeFile(path.join(root, 'large.bin'), bytes, context.pause);
    const agentdiff = new Agentdiff(context, root, place.at('large', 'store'));
    const sha256sum = await Sha256sum.make(context, root, place.at('large', 'names'));
    await context.settle();
    return { agentdiff, sha256sum };
  });
  const rows = async (): Promise<Row[]> => {
    const { agentdiff, sha256sum } = await prepared();
    const first = await inTurn(Math.min(context.repeat, 2), 0, {
      ours: async () => {
        agentdiff.removeStore();
        await flush(context);
        return agentdiff.run('true');
      },
      sum: sha256sum.ms,
    });
    const later = await inTurn(context.repeat, 1, {
      ours: () => agentdiff.run('true'),
      node: () => nodeAlone(context),
    });
    const what = `one file of ${(bytes / 1e6).toFixed(0)} MB`;
    const sum = { name: 'sha256sum', samples: first.sum };
    const node = { name: 'node -e 0', samples: later.node };
    return [
      { name: 'large-file-first', what: `first run, ${what}`, unit: 'ms', ours: first.ours, yardstick: sum },
      {
        name: 'large-file-noop',
        what: `run -- true, ${what}`,
        unit: 'ms',
        ours: later.ours,
        yardstick: node,
      },
    ];
  };
  return { space: 2.1 * bytes, directory: 'large', measures: [{ name: 'large-file', rows }] };
}
