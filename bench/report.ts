import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { judge, median, type Row, ratioOf } from './rows.ts';

/** Where figures come from. No names of machines or people. */
export interface Origin {
  readonly date: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly fileSystem: string;
  readonly node: string;
  readonly git: string;
  /** Mean number of processes that wanted to run in the minute before. */
  readonly load: number;
  readonly command: string;
}

export function originOf(dir: string, command: string, load: number): Origin {
  const say = (file: string, ...args: string[]): string =>
    execFileSync(file, args, { encoding: 'utf8' }).trim();
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: os.cpus()[0]?.model ?? 'unknown',
    cores: os.availableParallelism(),
    memoryGb: Math.round(os.totalmem() / 2 ** 30),
    kernel: `${os.type()} ${/^\d+\.\d+/.exec(os.release())?.[0] ?? ''}`,
    fileSystem: fileSystemOf(dir),
    node: process.version,
    git: say('git', '--version').replace('git version ', ''),
    load: Math.round(load * 10) / 10,
    command,
  };
}

/** The type of the mount that a directory lies in. */
function fileSystemOf(dir: string): string {
  const mounts = fs
    .readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, at = '']) => at !== '' && (dir === at || dir.startsWith(at === '/' ? '/' : `${at}/`)))
    .sort((a, b) => (a[1]?.length ?? 0) - (b[1]?.length ?? 0));
  return mounts.at(-1)?.[2] ?? 'unknown';
}

const HEAD = ['measure', 'what', 'ours', 'yardstick', 'its figure', 'ratio', 'at most', 'strive for', 'met'];

function cellsOf(row: Row): string[] {
  const { yardstick, bar } = row;
  const ratio = ratioOf(row);
  const limit = (value: number | undefined): string =>
    value === undefined ? '' : yardstick === undefined ? `${value} ${row.unit}` : `${value} x`;
  return [
    row.name,
    row.what,
    figure(median(row.ours), row.unit),
    yardstick?.name ?? '',
    yardstick === undefined ? '' : figure(median(yardstick.samples), row.unit),
    ratio === undefined ? '' : `${ratio.toFixed(2)} x`,
    limit(bar?.atMost),
    limit(bar?.striveFor),
    judge(row),
  ];
}

function figure(value: number, unit: Row['unit']): string {
  if (unit !== 'ms') return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
  return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : `${(value / 1000).toFixed(2)} s`;
}

/** One line, for those who wait for the rest. */
export function summary(row: Row): string {
  const [name, , ours, yardstick, its, ratio, , , met] = cellsOf(row);
  return `${name}: ${ours}${ratio === '' ? '' : `, ${ratio} ${yardstick} (${its})`}${met === '-' ? '' : `: ${met}`}`;
}

/** For a terminal: columns stand below each other. */
export function table(rows: readonly Row[]): string {
  const lines = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  return lines
    .map((cells) =>
      cells
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** For the document. */
export function markdown(rows: readonly Row[], origin: Origin): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const notes = [...new Set(rows.flatMap(({ note }) => note ?? []))];
  return [
    `${origin.date}: ${origin.processor}, ${origin.cores} cores, ${origin.memoryGb} GB, ${origin.kernel}, ${origin.fileSystem}, Node.js ${origin.node}, git ${origin.git}, load before ${origin.load}; \`${origin.command}\`.`,
    '',
    line(HEAD),
    line(HEAD.map(() => '---')),
    ...rows.map((row) => line(cellsOf(row))),
    ...notes.flatMap((note) => ['', `${note}.`]),
  ].join('\n');
}

/** The rows with all samples, and what is computed of them. */
export function json(rows: readonly Row[], origin: Origin): string {
  const figures = rows.map((row) => ({
    ...row,
    median: median(row.ours),
    yardstickMedian: row.yardstick === undefined ? null : median(row.yardstick.samples),
    ratio: ratioOf(row) ?? null,
    // On a busy machine the least of many samples says more than the median.
    leastRatio:
      row.yardstick === undefined ? null : Math.min(...row.ours) / Math.min(...row.yardstick.samples),
    met: judge(row),
  }));
  return `${JSON.stringify({ format: 1, origin, rows: figures }, null, 2)}\n`;
}

const MARKS = { begin: '<!-- bench:begin -->', end: '<!-- bench:end -->' } as const;

/** Replaces what stands between the marks of a document. @throws RangeError when they are not there */
export function between(document: string, text: string): string {
  const from = document.indexOf(MARKS.begin);
  const to = document.indexOf(MARKS.end);
  if (from < 0 || to < from) throw new RangeError(`the document has no ${MARKS.begin} … ${MARKS.end}`);
  return `${document.slice(0, from + MARKS.begin.length)}\n${text}\n${document.slice(to)}`;
}
