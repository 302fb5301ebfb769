import { type Context, type Group, once } from '../bench-context.ts';
import { inTurn, type Row } from '../rows.ts';
import { Agentdiff, nodeAlone, ShadowGit } from '../tools.ts';
import { makeWebProject } from '../web-project.ts';

/** A run that changes nothing in a project with sources, a repository and `node_modules`. */
export function webGroup(context: Context): Group {
  const { place, quick } = context;
  const prepared = once(async () => {
    const root = place.at('web', 'tree');
    const project = await makeWebProject(context, root, quick ? 2_000 : 40_000);
    const agentdiff = new Agentdiff(context, root, place.at('web', 'store'));
    const git = await ShadowGit.make(context, root, place.at('web', 'git'));
    await context.settle();
    await agentdiff.run('true');
    await git.checkpoint();
    return { project, agentdiff, git };
  });
  const rows = async (): Promise<Row[]> => {
    const { project, agentdiff, git } = await prepared();
    const scans: number[] = [];
    const samples = await inTurn(context.repeat, 1, {
      ours: async () => {
        const ms = await agentdiff.run('true');
        const { before, after } = agentdiff.scansMs();
        scans.push(before, after);
        return ms;
      },
      node: () => nodeAlone(context),
      git: git.twoCheckpoints,
    });
    const what = `run -- true, web project, ${project.files.toLocaleString('en')} files in node_modules, not the first run`;
    const common = { what, unit: 'ms', ours: samples.ours, note: project.made } as const;
    const node = { name: 'node -e 0', samples: samples.node };
    const shadow = { name: 'shadow git without node_modules, two checkpoints', samples: samples.git };
    return [
      {
        ...common,
        name: 'noop-web',
        yardstick: node,
        ...(!quick && { bar: { atMost: 2.8, striveFor: 1.8 } }),
      },
      { ...common, name: 'noop-web-git', yardstick: shadow },
      { name: 'noop-web-scan', what: 'of that, each of the two scans', unit: 'ms', ours: scans.slice(2) },
    ];
  };
  return { space: 2e9, directory: 'web', measures: [{ name: 'noop-web', rows }] };
}
