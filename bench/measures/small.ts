import { type Context, type Group, type Measure, once } from '../bench-context.ts';
import { type Bar, inTurn } from '../rows.ts';
import { Agentdiff, nodeAlone } from '../tools.ts';
import { makeTree, sourceSizes } from '../trees.ts';

const NODE = 'node -e 0';

/** What starting the program costs, and a run in small trees. */
export function smallGroup(context: Context): Group {
  const { place, agentdiff, commands } = context;
  const version: Measure = {
    name: 'version',
    rows: async () => {
      const { ours, node } = await inTurn(context.repeat * 2, 2, {
        ours: () => commands.ms([...agentdiff, '--version'], { cwd: place.base }),
        node: () => nodeAlone(context),
      });
      const yardstick = { name: NODE, samples: node };
      const bar = { atMost: 1.3, striveFor: 1.1 };
      return [{ name: 'version', what: 'agentdiff --version', unit: 'ms', ours, yardstick, bar }];
    },
  };
  return {
    space: 150e6,
    directory: 'small',
    measures: [
      version,
      runMeasure(context, 1_000, { atMost: 2.5, striveFor: 1.8 }),
      runMeasure(context, 10_000),
    ],
  };
}

function runMeasure(context: Context, files: number, bar?: Bar): Measure {
  const name = `run-${files / 1000}k`;
  const { place } = context;
  const prepared = once(async () => {
    const root = place.at('small', name);
    await makeTree(root, { files, seed: 1, sizes: sourceSizes }, context.pause);
    const ours = new Agentdiff(context, root, place.at('small', `${name}-store`));
    await context.settle();
    await ours.run('true');
    return ours;
  });
  const rows: Measure['rows'] = async () => {
    const agentdiff = await prepared();
    const { ours, node } = await inTurn(context.repeat * 2, 2, {
      ours: () => agentdiff.run('true'),
      node: () => nodeAlone(context),
    });
    const what = `run -- true, ${files.toLocaleString('en')} files, not the first run`;
    const yardstick = { name: NODE, samples: node };
    return [{ name, what, unit: 'ms', ours, yardstick, ...(bar && { bar }) }];
  };
  return { name, rows };
}
