import type { Context } from '../operations/index.ts';
import { count, showBytes } from './render/words.ts';

type WatchScan = NonNullable<Context['watchScan']>;
type Seen = Parameters<ReturnType<WatchScan>['progress']>[0];

/** A terminal with room for one line. */
export interface Screen {
  readonly write: (text: string) => void;
  /** How many characters fit into a line now. */
  readonly columns: () => number;
}

const PATIENCE_NS = 500_000_000n;
const BETWEEN_NS = 100_000_000n;
/** To the beginning of the line, and what stands there is gone. */
const CLEAR = `\r${String.fromCharCode(27)}[K`;

/**
 * Says on one line what a scan does that takes longer than half a second, at most ten times a second, and takes the line away at its end.
 * @param now nanoseconds of a clock that never goes back
 */
export function watchScansOn(screen: Screen, now: () => bigint): WatchScan {
  return (which) => {
    const startNs = now();
    let nextNs = startNs + PATIENCE_NS;
    let isShown = false;
    return {
      progress(seen) {
        const atNs = now();
        if (atNs < nextNs) return;
        nextNs = atNs + BETWEEN_NS;
        isShown = true;
        // A line that reached the last column would go on in the next one, which is not ours to clear.
        const line = lineOf(which, seen, Number(atNs - startNs) / 1e9);
        screen.write(`${CLEAR}${line.slice(0, Math.max(0, screen.columns() - 1))}`);
      },
      end() {
        if (isShown) screen.write(CLEAR);
        isShown = false;
      },
    };
  };
}

function lineOf(which: 'before' | 'after', { files, bytes }: Seen, seconds: number): string {
  // Where nothing has to be read, the files are what goes forward.
  const rate =
    bytes > 0 ? showBytes(Math.round(bytes / seconds)) : count(Math.round(files / seconds), 'file');
  return `agentdiff: scanning ${which} the command: ${count(files, 'file')}, ${showBytes(bytes)} read, ${rate}/s`;
}

/** Is there somebody to watch, on a terminal that knows how to take a line back? */
export function wantsProgress(
  isTerminal: boolean,
  environment: Context['environment'],
  quiet: boolean | undefined,
): boolean {
  return isTerminal && quiet !== true && !environment['CI'] && environment['TERM'] !== 'dumb';
}
