import type { Commands } from './commands.ts';
import type { Place } from './place.ts';
import type { Row } from './rows.ts';

/** What a measure is given. */
export interface Context {
  readonly place: Place;
  readonly commands: Commands;
  /** How many samples of each side; at least 1. */
  readonly repeat: number;
  readonly quick: boolean;
  readonly offline: boolean;
  /** `node` and the path of our command. */
  readonly agentdiff: readonly string[];
  readonly node: string;
  /** Says what is being done, on stderr. */
  readonly say: (text: string) => void;
  /** Throws when the benchmark was interrupted. */
  readonly pause: () => void;
  /** Waits until nothing that was written before counts as touched within 2 s of a scan, for us and for git alike. */
  readonly settle: () => Promise<void>;
}

export interface Measure {
  /** What `--only` is compared with. */
  readonly name: string;
  /** Bytes that it takes beyond what its group takes. */
  readonly space?: number;
  readonly rows: () => Promise<readonly Row[]>;
}

/** Measures of one tree. Trees are made when the first of their measures wants one, and removed before the next group begins. */
export interface Group {
  /** Bytes that the trees and stores take which its measures share. */
  readonly space: number;
  readonly measures: readonly Measure[];
  /** Removed after the last measure. */
  readonly directory: string;
}

/** Makes something when it is asked for the first time, and gives the same thing ever after. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
