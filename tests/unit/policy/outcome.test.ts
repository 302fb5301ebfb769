import { expect, it } from 'vitest';
import { type Decision, type Ending, outcomeOf } from '../../../src/policy/index.ts';

const ok: Ending = { kind: 'exited', code: 0 };
const bad: Ending = { kind: 'exited', code: 1 };

it.each<[Decision, Ending, number[], string]>([
  ['allow', ok, [], 'passed'],
  ['review', ok, [], 'review'],
  ['deny', ok, [], 'denied'],
  ['allow', bad, [], 'failed'],
  ['review', bad, [], 'failed'],
  ['deny', bad, [], 'denied'],
  ['allow', { kind: 'signalled', number: 9 }, [], 'failed'],
  ['allow', { kind: 'not-started' }, [], 'failed'],
  ['allow', { kind: 'blocked' }, [], 'blocked'],
  ['deny', { kind: 'blocked' }, [2], 'blocked'],
  ['allow', { kind: 'signalled', number: 2 }, [2], 'interrupted'],
  ['review', { kind: 'exited', code: 143 }, [2, 15], 'interrupted'],
  ['deny', { kind: 'signalled', number: 2 }, [2], 'denied'],
  // A signal that the child survived, and an end that only looks like one.
  ['allow', ok, [2], 'passed'],
  ['allow', { kind: 'exited', code: 3 }, [2], 'failed'],
  ['allow', { kind: 'signalled', number: 9 }, [15], 'failed'],
  ['allow', { kind: 'exited', code: 143 }, [], 'failed'],
])('worst decision %s, %j, received %j: %s', (worst, ending, received, outcome) => {
  expect(outcomeOf(worst, ending, received)).toBe(outcome);
});
