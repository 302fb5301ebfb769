import type { UnmovedCheck } from './unmoved.ts';

/** Where the counters of a check are, that several threads share. */
export const TURN = { next: 0, begun: 1, ended: 2 } as const;

/** So many directories a turn: enough to make taking turns cheap, few enough that all threads end together. */
const TURN_DIRECTORIES = 32;

/** Looks at directories, turn by turn, until there are none left. */
export function takeTurns(
  check: UnmovedCheck,
  directories: number,
  turns: Int32Array,
  onTurn: (from: number, to: number) => void,
): void {
  for (;;) {
    const from = Atomics.add(turns, TURN.next, TURN_DIRECTORIES);
    if (from >= directories) return;
    const to = Math.min(from + TURN_DIRECTORIES, directories);
    check.look(from, to);
    onTurn(from, to);
  }
}
