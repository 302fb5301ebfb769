import type { Decision } from './document.ts';

/** What a run came to, in one word. */
export type Outcome =
  | 'passed'
  | 'review'
  | 'denied'
  | 'blocked'
  | 'failed'
  | 'timed-out'
  | 'interrupted'
  | 'unsealed';

/** How the child ended, or that the policy let none start. */
export type Ending =
  | { readonly kind: 'blocked' }
  | { readonly kind: 'not-started' }
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly number: number };

/**
 * The outcome of a sealed run. The first that holds:
 * 1. `blocked`: the launch was denied, so there was no child;
 * 2. `denied`: a change was denied; nothing about the child's end may hide that;
 * 3. `interrupted`: the child was killed by a signal that was also sent to us, or ended with 128 + its number as shells do;
 * 4. `failed`: the child could not be started, ended non-zero, or was killed by a signal;
 * 5. `review`: a change asks for a look;
 * 6. `passed`.
 * @param worst the worst decision about the changes
 * @param received numbers of the signals that came while the child ran
 */
export function outcomeOf(worst: Decision, ending: Ending, received: readonly number[]): Outcome {
  if (ending.kind === 'blocked') return 'blocked';
  if (worst === 'deny') return 'denied';
  if (received.some((number) => isEndedBy(ending, number))) return 'interrupted';
  if (ending.kind !== 'exited' || ending.code !== 0) return 'failed';
  return worst === 'review' ? 'review' : 'passed';
}

function isEndedBy(ending: Ending, number: number): boolean {
  if (ending.kind === 'signalled') return ending.number === number;
  return ending.kind === 'exited' && ending.code === 128 + number;
}
