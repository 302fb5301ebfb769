import type { Context, Measure } from '../bench-context.ts';
import { inTurn } from '../rows.ts';
import { Agentdiff, flush, ShadowGit } from '../tools.ts';
import { BYTES, type LargeTree } from './tree.ts';

/** The run that reads everything, against the first checkpoint of a shadow repository and against hashing alone. */
export function firstMeasure(context: Context, large: LargeTree): Measure {
  const { place } = context;
  const name = `first-${large.label}`;
  const rows: Measure['rows'] = async () => {
    const root = await large.tree();
    const sha256sum = await large.sha256sum();
    let round = 0;
    // Repositories stay until the end: file systems are slow to make files soon after many were removed, which would count against git.
    const checkpoint = (tuned: boolean) => async (): Promise<number> => {
      round += 1;
      const git = await ShadowGit.make(context, root, place.at('tree', `first-git-${round}`), tuned);
      await flush(context);
      return git.checkpoint();
    };
    const ours = new Agentdiff(context, root, place.at('tree', 'first-store'));
    const samples = await inTurn(Math.min(context.repeat, 3), 0, {
      ours: async () => {
        ours.removeStore();
        await flush(context);
        return ours.run('true');
      },
      git: checkpoint(false),
      tuned: checkpoint(true),
      sum: sha256sum.ms,
    });
    ours.removeStore();
    const common = { what: `first run, ${large.what}`, unit: 'ms', ours: samples.ours } as const;
    return [
      {
        ...common,
        name: `${name}-git`,
        yardstick: { name: 'shadow git, first checkpoint', samples: samples.git },
        ...(large.full && { bar: { atMost: 0.2 } }),
      },
      {
        ...common,
        name: `${name}-git-tuned`,
        yardstick: { name: 'tuned shadow git, first checkpoint', samples: samples.tuned },
      },
      {
        ...common,
        name: `${name}-sha256sum`,
        yardstick: { name: 'xargs -P2 sha256sum', samples: samples.sum },
        ...(large.full && { bar: { striveFor: 1.3 } }),
      },
    ];
  };
  const space = large.files * (BYTES.store + 2 * Math.min(context.repeat, 3) * BYTES.repository);
  return { name, space, rows };
}
