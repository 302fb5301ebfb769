import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Context, Group } from './bench-context.ts';
import { BenchError, Commands } from './commands.ts';
import { largeFileGroup } from './measures/large-file.ts';
import { millionGroup } from './measures/million.ts';
import { smallGroup } from './measures/small.ts';
import { largeTreeGroup } from './measures/large-tree.ts';
import { webGroup } from './measures/web.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { checkFree, makePlace, type Place } from './place.ts';
import { between, json, markdown, originOf, summary, table } from './report.ts';
import type { Row } from './rows.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** @returns the exit status: 0, 1 when it could not be measured, 2 for a wrong call, 130 when interrupted */
export async function main(args: readonly string[], project: string): Promise<number> {
  const options = readOptions(args);
  if (typeof options === 'string') {
    console.error(`${options}\n${USAGE}`);
    return 2;
  }
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort(new BenchError('interrupted'));
  for (const signal of SIGNALS) process.on(signal, interrupt);
  const load = os.loadavg()[0] ?? 0;
  const place = makePlace(options.dir, process.env);
  try {
    const context = contextOf(options, project, place, interruption.signal);
    const groups = groupsOf(context, options);
    if (options.list)
      console.log(groups.flatMap(({ measures }) => measures.map(({ name }) => name)).join('\n'));
    else {
      if (load > os.availableParallelism() / 4)
        context.say(`the machine is busy (load ${load.toFixed(1)}): even ratios are rough then`);
      await report(await measure(groups, context, options), { options, args, project, load });
    }
    return 0;
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    console.error(`bench: ${error.message}`);
    return interruption.signal.aborted ? 130 : 1;
  } finally {
    place.remove();
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

function contextOf(options: Options, project: string, place: Place, interrupted: AbortSignal): Context {
  const { repeat, quick, offline } = options;
  return {
    place,
    commands: new Commands(place.env, place.at(), interrupted),
    repeat,
    quick,
    offline,
    node: process.execPath,
    agentdiff: [process.execPath, path.join(project, 'bin/agentdiff.js')],
    say: (text) => console.error(`bench: ${text}`),
    pause: () => interrupted.throwIfAborted(),
    settle: async () => {
      // Both take a file that was touched within the last 2 s for one that may change unseen.
      await setTimeout(2_500, undefined, { signal: interrupted }).catch(() => interrupted.throwIfAborted());
    },
  };
}

/** The groups with what is left of their measures. */
function groupsOf(context: Context, options: Options): Group[] {
  const all = [smallGroup(context), largeTreeGroup(context), webGroup(context), largeFileGroup(context)];
  if (options.million) all.push(millionGroup(context));
  const chosen = all
    .map((group) => ({ ...group, measures: group.measures.filter(({ name }) => options.only.test(name)) }))
    .filter(({ measures }) => measures.length > 0);
  if (chosen.length === 0) throw new BenchError('no measure has such a name; --list prints them');
  return chosen;
}

async function measure(groups: readonly Group[], context: Context, { dir }: Options): Promise<Row[]> {
  const spaceOf = ({ space, measures }: Group): number =>
    measures.reduce((sum, { space: own = 0 }) => sum + own, space);
  checkFree(dir, Math.max(...groups.map(spaceOf)));
  const rows: Row[] = [];
  for (const { measures, directory } of groups) {
    for (const { name, rows: take } of measures) {
      context.say(name);
      const taken = await take();
      for (const row of taken) context.say(`  ${summary(row)}`);
      rows.push(...taken);
    }
    fs.rmSync(context.place.at(directory), { recursive: true, force: true });
  }
  return rows;
}

interface Call {
  readonly options: Options;
  readonly args: readonly string[];
  readonly project: string;
  /** Of the machine, before anything was started. */
  readonly load: number;
}

async function report(rows: readonly Row[], { options, args, project, load }: Call): Promise<void> {
  console.log(table(rows));
  for (const note of new Set(rows.flatMap((row) => row.note ?? []))) console.log(note);
  const own = args.filter((arg) => arg !== '--write-docs');
  const command = ['npm run bench', ...(own.length > 0 ? ['--', ...own] : [])].join(' ');
  const origin = originOf(fs.realpathSync(options.dir), command, load);
  if (options.json !== undefined) fs.writeFileSync(options.json, json(rows, origin));
  if (!options.writeDocs) return;
  const document = path.join(project, 'docs/performance.md');
  fs.writeFileSync(document, between(fs.readFileSync(document, 'utf8'), markdown(rows, origin)));
}
