import { describe, expect, it } from 'vitest';
import { wordLimits, wordReversibility } from '../../../src/capsule/reversibility.ts';

type ReversibilityFacts = Parameters<typeof wordReversibility>[0];

const ALL: ReversibilityFacts = {
  recoverable: 7,
  notRecoverable: [],
  coverageComplete: true,
  lowered: 0,
  storeInsideWorkspace: false,
  held: false,
};

const VARIANTS: readonly (readonly [name: string, facts: ReversibilityFacts, tier: string])[] = [
  ['all', ALL, 'snapshot'],
  ['one', { ...ALL, recoverable: 1 }, 'snapshot'],
  ['no change', { ...ALL, recoverable: 0 }, 'snapshot'],
  ['no change seen, not all looked at', { ...ALL, recoverable: 0, coverageComplete: false }, 'partial'],
  ['some', { ...ALL, notRecoverable: [{ reason: 'not-read', count: 2 }] }, 'partial'],
  ['all, not all looked at', { ...ALL, coverageComplete: false }, 'partial'],
  ['none', { ...ALL, recoverable: 0, notRecoverable: [{ reason: 'content-not-kept', count: 1 }] }, 'none'],
  ['lowered', { ...ALL, lowered: 3 }, 'snapshot'],
  ['names only', { ...ALL, lowered: 3, namesOnly: 2 }, 'snapshot'],
  ['store within reach', { ...ALL, storeInsideWorkspace: true }, 'snapshot'],
  ['held', { ...ALL, held: true }, 'contained'],
];

describe('the words on what can be taken back', () => {
  it('name fifos among what is not made again', () => {
    const { limits } = wordReversibility({
      ...ALL,
      notRecoverable: [{ reason: 'unsupported-kind', count: 1 }],
    });
    expect(limits[0]).toContain('fifos');
  });

  it('do not call unrecorded what is listed', () => {
    const [limit] = wordLimits({ ...ALL, coverageComplete: false });
    expect(limit).toContain('names and metadata');
    expect(limit).not.toContain('recorded');
  });

  it.each(VARIANTS)('%s: the tier', (_, facts, tier) => {
    expect(wordReversibility(facts).tier).toBe(tier);
  });

  it.each(VARIANTS)('%s: never unqualified, always with its limits', (_, facts) => {
    const { summary, limits } = wordReversibility(facts);
    const all = [summary, ...limits].join(' ');
    expect(all).not.toMatch(/\bundo|undone|revert|secure|safe\b|guarantee|fully|completely/i);
    if (summary.includes('can be taken back') && !summary.startsWith('None')) {
      expect(summary).toContain('each while its path is still as the run left it');
    }
    expect(limits.some((limit) => /outside the workspace/.test(limit))).toBe(true);
    for (const word of ['remotes', 'databases', 'services', 'networks']) expect(all).toContain(word);
    expect(limits.every((limit) => limit.endsWith('.') && !limit.includes('\n'))).toBe(true);
  });

  it('counts what can be taken back among all', () => {
    const { summary } = wordReversibility({
      ...ALL,
      recoverable: 6,
      notRecoverable: [{ reason: 'unstable', count: 1 }],
    });
    expect(summary).toBe(
      '6 of 7 recorded changes can be taken back, each while its path is still as the run left it.',
    );
  });

  it('writes numbers as the rest of the summary does, and of one change no "none of"', () => {
    const many = wordReversibility({ ...ALL, recoverable: 50_001, notRecoverable: [] });
    expect(many.summary).toContain('50,001 of 50,001 recorded changes');
    const notRecoverable = [{ reason: 'unstable', count: 1 }] as const;
    const one = wordReversibility({ ...ALL, recoverable: 0, notRecoverable: [...notRecoverable] });
    expect(one.summary).toBe('The one recorded change cannot be taken back.');
  });

  it('names every reason with its count', () => {
    const reasons = [
      'content-not-kept',
      'not-read',
      'unknown-after',
      'unknown-before',
      'unreadable',
      'unstable',
      'unsupported-kind',
    ] as const;
    const { limits } = wordReversibility({
      ...ALL,
      notRecoverable: reasons.map((reason, i) => ({ reason, count: i + 1 })),
    });
    expect(limits.filter((limit) => limit.includes('cannot be taken back'))).toHaveLength(reasons.length);
    expect(new Set(limits).size).toBe(limits.length);
  });

  it('has the limits of what was observed among its own, whatever changed', () => {
    for (const [, facts] of VARIANTS) {
      expect(wordReversibility(facts).limits).toEqual(expect.arrayContaining(wordLimits(facts)));
    }
  });

  it('does not claim to know how many places when the list was full', () => {
    expect(wordLimits({ ...ALL, lowered: 3, namesOnly: 2 })[1]).toMatch(
      /^In 2 places only names .*an edit in place may not be/,
    );
    expect(wordLimits({ ...ALL, lowered: 1000 })[0]).toContain('1000 places or more');
  });
});
