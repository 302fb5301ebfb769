import type { Context, Measure } from '../bench-context.ts';
import { sizeOf } from '../place.ts';
import { inTurn, type Row } from '../rows.ts';
import { Agentdiff, findWalk } from '../tools.ts';
import { fileName } from '../trees.ts';
import { BYTES, type LargeTree } from './tree.ts';

/** A run that changes nothing, and the scans in it. */
export function noopMeasure(context: Context, large: LargeTree): Measure {
  const name = `noop-${large.label}`;
  const rows: Measure['rows'] = async () => {
    const root = await large.tree();
    const agentdiff = await large.warmed();
    const git = await large.warmedGit(false);
    const tuned = await large.warmedGit(true);
    const scans = { before: [] as number[], after: [] as number[] };
    const samples = await inTurn(context.repeat, 1, {
      ours: async () => {
        const ms = await agentdiff.run('true');
        const { before, after } = agentdiff.scansMs();
        scans.before.push(before);
        scans.after.push(after);
        return ms;
      },
      git: git.twoCheckpoints,
      tuned: tuned.twoCheckpoints,
      find: () => findWalk(context, root),
    });
    const common = {
      what: `run -- true, ${large.what}, second run`,
      unit: 'ms',
      ours: samples.ours,
    } as const;
    const scan = (which: 'before' | 'after'): Row => ({
      name: `${name}-scan-${which}`,
      what: `one warm scan of ${large.what}, inside, ${which} the command`,
      unit: 'ms',
      // The first one belongs to the round that is not counted.
      ours: scans[which].slice(1),
      yardstick: { name: 'find with lstat', samples: samples.find },
      ...(large.full && { bar: { atMost: 2, striveFor: 1.2 } }),
    });
    return [
      {
        ...common,
        name,
        yardstick: { name: 'shadow git, two checkpoints', samples: samples.git },
        ...(large.full && { bar: { atMost: 1.3, striveFor: 0.9 } }),
      },
      {
        ...common,
        name: `${name}-tuned`,
        yardstick: { name: 'tuned shadow git, two checkpoints', samples: samples.tuned },
      },
      scan('before'),
      scan('after'),
    ];
  };
  return { name, space: large.files * 2 * BYTES.repository, rows };
}

/** A run that edits, creates and deletes 10 files each, against one that changes nothing. */
export function editMeasure(context: Context, large: LargeTree): Measure {
  const name = `edit-${large.label}`;
  let next = 0;
  // Spread over the tree, and never the same file twice.
  const some = (count: number): string[] =>
    Array.from({ length: count }, () => fileName(((next += 1) * 37) % large.files));
  const rows: Measure['rows'] = async () => {
    const agentdiff = await large.warmed();
    const samples = await inTurn(context.repeat, 0, {
      edit: () => agentdiff.run('sh', '-c', editing(some(10), some(10), some(10))),
      // What was just changed is read again by the scan that comes next; a run in which nothing is new has none of that.
      noop: async () => {
        await context.settle();
        await agentdiff.run('true');
        return agentdiff.run('true');
      },
    });
    const what = `edits 10, creates 10, deletes 10 of ${large.what}`;
    const yardstick = { name: 'the run that changes nothing', samples: samples.noop };
    const bar = { atMost: 1.1, striveFor: 1.02 };
    return [{ name, what, unit: 'ms', ours: samples.edit, yardstick, ...(large.full && { bar }) }];
  };
  return { name, rows };
}

/** One shell and one `rm`, so that the command itself takes next to nothing. */
function editing(edited: readonly string[], beside: readonly string[], deleted: readonly string[]): string {
  return [
    ...edited.map((file) => `echo edited >> ${quoted(file)}`),
    ...beside.map((file) => `echo created > ${quoted(`${file}.created`)}`),
    `rm -- ${deleted.map(quoted).join(' ')}`,
  ].join('\n');
}

/** A path as a shell's word. */
function quoted(file: string): string {
  return `'${file.replaceAll("'", `'\\''`)}'`;
}

/** Peak memory of whole runs. */
export function memoryMeasure(context: Context, large: LargeTree): Measure {
  const name = `memory-${large.label}`;
  const { place, repeat } = context;
  const rows: Measure['rows'] = async () => {
    const warmed = await large.warmed();
    const fresh = new Agentdiff(context, await large.tree(), place.at('tree', 'memory-store'));
    const samples = await inTurn(Math.min(repeat, 3), 0, {
      first: async () => {
        fresh.removeStore();
        return fresh.peakMb('true');
      },
      later: () => warmed.peakMb('true'),
    });
    fresh.removeStore();
    const common = { unit: 'MB', ...(large.full && { bar: { atMost: 220, striveFor: 120 } }) } as const;
    return [
      {
        ...common,
        name: `${name}-first`,
        what: `peak memory, first run, ${large.what}`,
        ours: samples.first,
      },
      {
        ...common,
        name: `${name}-noop`,
        what: `peak memory, run -- true, ${large.what}`,
        ours: samples.later,
      },
    ];
  };
  return { name, space: large.files * BYTES.store, rows };
}

/** What ten runs without a change leave in the store. */
export function storeMeasure(large: LargeTree): Measure {
  const name = `store-${large.label}`;
  const rows: Measure['rows'] = async () => {
    const agentdiff = await large.warmed();
    await agentdiff.run('true');
    const before = sizeOf(agentdiff.store);
    for (let n = 0; n < 10; n += 1) await agentdiff.run('true');
    const after = sizeOf(agentdiff.store);
    const grown = (kind: 'length' | 'allocated'): Row => ({
      name: `${name}-${kind}`,
      what: `store after ten runs without a change, ${large.what}: + ${kind === 'length' ? 'bytes of files' : 'allocated blocks'}`,
      unit: 'KB',
      ours: [(after[kind] - before[kind]) / 1000],
      ...(large.full && { bar: { atMost: 160, striveFor: 40 } }),
    });
    return [grown('length'), grown('allocated')];
  };
  return { name, rows };
}
