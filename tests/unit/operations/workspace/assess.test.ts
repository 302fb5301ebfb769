import { describe, expect, it } from 'vitest';
import { digestOf, parseRelPath } from '../../../../src/core/index.ts';
import { assess } from '../../../../src/operations/workspace/assess.ts';
import type { Change, Content } from '../../../../src/snapshot/index.ts';
import { digest, identity, state } from '../../../support/sample-capsule.ts';

const KEPT = {
  has: (wanted: string): boolean => wanted === digestOf('kept') || wanted === digestOf('kept too'),
};
const known: Content = { is: 'identity', identity: identity() };
const unknown = (reason: 'unreadable' | 'unstable' | 'mount' | 'failed', more = {}): Content => ({
  is: 'unknown',
  reason,
  ...more,
});

function of(change: Omit<Change, 'path'>): ReturnType<typeof assess> {
  return assess({ path: parseRelPath('p'), ...change }, KEPT);
}

describe('assess', () => {
  it('finds recoverable what was kept, what needs no content, and what only has to go', () => {
    const kept = state('file', digest('kept'));
    const lost = state('file', digest('lost'));
    const recoverable = [
      { before: kept, after: state('file', digest('lost')) },
      { before: kept },
      { before: state('symlink', digest('kept too')) },
      { after: lost },
      { after: state('fifo', { is: 'nothing' }) },
      { after: state('file', unknown('unreadable', { identity: identity() })) },
      { before: lost, after: state('file', digest('lost'), { mode: 0o600 }) },
      { before: state('file', known), after: state('file', known, { mode: 0o600 }) },
      { before: state('directory', digest('lost')) },
      { before: state('directory', digest('lost')), after: kept },
      { before: state('fifo', { is: 'nothing' }), after: state('fifo', { is: 'nothing' }, { mode: 0o600 }) },
    ];
    for (const change of recoverable)
      expect(of(change), JSON.stringify(change)).toMatchObject({ recoverable: true });
    for (const change of recoverable) expect(of(change)).not.toHaveProperty('reason');
  });

  it.each([
    ['unknown-after', { before: state('file', digest('kept')), after: state('file', unknown('mount')) }],
    ['unreadable', { before: state('file', unknown('unreadable', { identity: identity() })) }],
    [
      'unstable',
      {
        before: state('file', unknown('unstable', { identity: identity() })),
        after: state('file', digest('kept')),
      },
    ],
    [
      'unknown-before',
      { before: state('directory', unknown('failed')), after: state('directory', digest('lost')) },
    ],
    ['unsupported-kind', { before: state('fifo', { is: 'nothing' }) }],
    [
      'unsupported-kind',
      {
        before: state('block-device', { is: 'device', number: '1:2' }),
        after: state('file', digest('kept')),
      },
    ],
    [
      'not-read',
      {
        before: state('file', known),
        after: state('file', { is: 'identity', identity: identity('1:2:3:4:5') }),
      },
    ],
    ['content-not-kept', { before: state('file', digest('lost')) }],
    ['content-not-kept', { before: state('symlink', digest('lost')), after: state('file', digest('kept')) }],
  ] as const)('says %s', (reason, change) => {
    expect(of(change)).toMatchObject({ recoverable: false, reason });
  });

  it('names the level at which the entry really was captured', () => {
    expect(of({ before: state('file', digest('kept')) }).level).toBe('content');
    expect(of({ before: state('file', digest('lost')) }).level).toBe('digest');
    expect(of({ before: state('file', known), after: state('file', digest('kept')) }).level).toBe('stat');
    expect(of({ before: state('file', unknown('unreadable')) }).level).toBe('none');
    expect(of({ after: state('directory', digest('lost')) }).level).toBe('content');
    expect(of({ after: state('fifo', { is: 'nothing' }) }).level).toBe('content');
  });
});
