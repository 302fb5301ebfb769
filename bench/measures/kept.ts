import type { Context, Measure } from '../bench-context.ts';
import { inTurn, type Row } from '../rows.ts';
import { Agentdiff, flush, Sha256sum } from '../tools.ts';
import { BYTES, type LargeTree } from './tree.ts';

/** A run that deletes the whole tree: checking what was kept, and bringing it back. */
export function keptMeasure(context: Context, large: LargeTree): Measure {
  const name = `kept-${large.label}`;
  const { place, commands, repeat } = context;
  const rows: Measure['rows'] = async () => {
    const root = await large.tree();
    // Not the list of the first run: other measures have changed the tree since.
    const sha256sum = await Sha256sum.make(context, root, place.at('tree', 'kept-names'));
    const copy = place.at('tree', 'copy');
    await flush(context);
    const copied = await commands.ms(['cp', '-a', root, copy], { cwd: place.base });
    const agentdiff = new Agentdiff(context, copy, place.at('tree', 'kept-store'));
    await context.settle();
    await agentdiff.run('true');
    const deleting = await agentdiff.run('sh', '-c', 'rm -rf -- *');
    const verify = await inTurn(Math.min(repeat, 5), 1, {
      ours: () => agentdiff.ms('verify'),
      sum: sha256sum.ms,
    });
    const reading = await inTurn(repeat, 1, {
      list: () => agentdiff.ms('list'),
      show: () => agentdiff.ms('show'),
    });
    await flush(context);
    const recover = await agentdiff.ms('recover', '--yes');
    const gone = `${large.what} deleted`;
    const copying = { name: 'cp -a of the tree', samples: [copied] };
    const row = (what: string, ours: readonly number[]): Row => ({
      name: `${name}-${what.split(' ')[0]}`,
      what: `${what}, ${gone}`,
      unit: 'ms',
      ours,
    });
    return [
      {
        ...row('verify of a capsule', verify.ours),
        yardstick: { name: 'xargs -P2 sha256sum', samples: verify.sum },
        ...(large.full && { bar: { atMost: 1.5, striveFor: 1 } }),
      },
      { ...row('run -- rm -rf', [deleting]) },
      { ...row('recover of everything', [recover]), yardstick: copying },
      row('list of the runs', reading.list),
      row('show of the run', reading.show),
    ];
  };
  return { name, space: large.files * (BYTES.tree + 2 * BYTES.store), rows };
}
