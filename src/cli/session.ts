import type { Context, Place } from '../operations/index.ts';
import type { Output } from './output.ts';

/** All that a command gets besides its own arguments. */
export interface Session {
  readonly context: Context;
  readonly place: Place;
  readonly output: Output;
  readonly json: boolean;
}
