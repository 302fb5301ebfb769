import * as os from 'node:os';
import { parseArgs } from 'node:util';

/** What a call of the benchmark asked for. */
export interface Options {
  /** Where the temporary directory is made. */
  readonly dir: string;
  /** Measures whose name matches; every one by default. */
  readonly only: RegExp;
  /** Samples of each side, at least 1. Measures of a first run take at most 3. */
  readonly repeat: number;
  /** Trees of 1,000 and 10,000 files in place of the large ones, and nothing from the network. */
  readonly quick: boolean;
  readonly million: boolean;
  /** No package is fetched: `node_modules` is made of generated files. */
  readonly offline: boolean;
  /** Prints the names of the measures and ends. */
  readonly list: boolean;
  readonly json: string | undefined;
  readonly writeDocs: boolean;
}

export const USAGE = `npm run bench -- [options]
  --only PATTERN   only the measures whose name matches this regular expression
  --repeat N       samples of each side (default 7; first runs at most 3)
  --quick          trees of 1,000 and 10,000 files only, nothing from the network
  --million        also the tree of 1,000,000 files
  --offline        node_modules of generated files instead of packages from npm
  --dir DIR        where the temporary directory is made (default: that of the system)
  --json FILE      write the rows as JSON
  --write-docs     put the table into docs/performance.md
  --list           print the names of the measures
`;

/** @returns the options, or what is wrong with them */
export function readOptions(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', default: '' },
        repeat: { type: 'string', default: '7' },
        quick: { type: 'boolean', default: false },
        million: { type: 'boolean', default: false },
        offline: { type: 'boolean', default: false },
        dir: { type: 'string', default: os.tmpdir() },
        json: { type: 'string' },
        'write-docs': { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
      },
    });
    const repeat = Number(values.repeat);
    if (!Number.isInteger(repeat) || repeat < 1) return '--repeat wants a whole number from 1 on';
    const { 'write-docs': writeDocs, json, only, ...rest } = values;
    if (writeDocs && (values.quick || only !== ''))
      return '--write-docs wants the whole benchmark: no --quick, no --only';
    return { ...rest, only: new RegExp(only), repeat, writeDocs, json };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
