import { describe, expect, it } from 'vitest';
import type { ChangeRecord } from '../../../../src/capsule/index.ts';
import { type ChangeSummary, Summarizer } from '../../../../src/operations/workspace/summary.ts';
import type { Observed } from '../../../../src/snapshot/index.ts';
import { change, digest, state } from '../../../support/sample-capsule.ts';

const directory = state('directory', digest('tree'), { mode: 0o755 });
const file = state('file', digest('content'));

function record(
  name: string,
  before: Observed | undefined,
  after: Observed | undefined,
  more: Partial<ChangeRecord> = {},
): ChangeRecord {
  const { before: _, after: __, ...rest } = change(name, more);
  return { ...rest, ...(before && { before }), ...(after && { after }) };
}

function summarize(changes: readonly ChangeRecord[]): ChangeSummary {
  const summarizer = new Summarizer();
  for (const one of changes) summarizer.add(one);
  return summarizer.summary();
}

describe('Summarizer', () => {
  it('gives a line to each change, in three groups', () => {
    const { created, deleted, modified, repositories, notRecoverable } = summarize([
      record('a', undefined, file),
      record('b', file, undefined),
      record('c', file, state('file', digest('other'))),
      record('d', file, state('file', digest('content'), { mode: 0o600 })),
      record('e', file, state('symlink', digest('target'))),
      record('f', directory, state('directory', digest('tree'), { mode: 0o700 })),
    ]);
    expect(created).toEqual([{ path: 'a', kind: 'file', entries: 1, extent: 'single' }]);
    expect(deleted).toEqual([{ path: 'b', kind: 'file', entries: 1, extent: 'single' }]);
    expect(modified).toEqual([
      { path: 'c', kind: 'file', entries: 1, extent: 'single' },
      { path: 'd', kind: 'file', entries: 1, extent: 'single', note: 'mode' },
      { path: 'e', kind: 'symlink', entries: 1, extent: 'single', note: 'type' },
      { path: 'f', kind: 'directory', entries: 1, extent: 'single', note: 'mode' },
    ]);
    expect(repositories).toEqual([]);
    expect(notRecoverable).toEqual([]);
  });

  it('has one line for a directory that came or went with all that is in it', () => {
    const gone = [
      record('d', directory, undefined),
      record('d/e', directory, undefined),
      record('d/e/f', file, undefined),
    ];
    const { deleted } = summarize([...gone, record('d2', file, undefined)]);
    expect(deleted).toEqual([
      { path: 'd', kind: 'directory', entries: 3, extent: 'whole' },
      { path: 'd2', kind: 'file', entries: 1, extent: 'single' },
    ]);
  });

  it('folds many lines into the directories that hold them, and loses none of the count', () => {
    const names = ['x', 'y', 'z'].flatMap((top) => Array.from({ length: 20 }, (_, i) => `${top}/deep/f${i}`));
    const { modified } = summarize(names.map((name) => record(name, file, state('file', digest('other')))));
    expect(modified).toEqual(
      ['x', 'y', 'z'].map((top) => ({
        path: `${top}/deep`,
        kind: 'directory',
        entries: 20,
        extent: 'inside',
      })),
    );
  });

  it('folds no deeper than needed: at most 8 lines, unless more names lie at the top', () => {
    const wide = Array.from({ length: 30 }, (_, i) => record(`d${i % 6}/f${i}`, undefined, file)).sort(
      (a, b) => (a.path < b.path ? -1 : 1),
    );
    expect(summarize(wide).created).toHaveLength(6);
    const few = wide.slice(0, 8);
    expect(summarize(few).created.map(({ extent }) => extent)).toEqual(few.map(() => 'single'));
    const mixed = [...wide, record('top', undefined, file)];
    expect(summarize(mixed).created.length).toBeLessThanOrEqual(8);
    expect(summarize(mixed).created.reduce((sum, { entries }) => sum + entries, 0)).toBe(31);
  });

  it('keeps the data of git repositories apart, one line a repository', () => {
    const { created, modified, repositories } = summarize([
      record('.git/index', file, state('file', digest('other'))),
      record('.git/objects/aa', undefined, directory),
      record('sub/.git/HEAD', file, state('file', digest('other'))),
      record('sub/f', undefined, file),
    ]);
    expect(repositories).toEqual([
      { path: '.git', entries: 2 },
      { path: 'sub/.git', entries: 1 },
    ]);
    expect(created.map(({ path }) => path)).toEqual(['sub/f']);
    expect(modified).toEqual([]);
  });

  it('shows a repository that came or went as a whole like any directory', () => {
    const { deleted, repositories } = summarize([
      record('.git', directory, undefined),
      record('.git/HEAD', file, undefined),
    ]);
    expect(deleted).toEqual([{ path: '.git', kind: 'directory', entries: 2, extent: 'whole' }]);
    expect(repositories).toEqual([]);
  });

  it('counts what cannot be taken back by its reason, with a few examples', () => {
    const lost = (name: string, reason: 'not-read' | 'unreadable'): ChangeRecord =>
      record(name, file, undefined, { recoverable: false, reason });
    const { notRecoverable } = summarize([
      ...['a', 'b', 'c', 'd', 'e'].map((name) => lost(name, 'not-read')),
      lost('f', 'unreadable'),
      record('g', file, undefined),
    ]);
    expect(notRecoverable).toEqual([
      { reason: 'not-read', count: 5, examples: ['a', 'b', 'c'] },
      { reason: 'unreadable', count: 1, examples: ['f'] },
    ]);
  });
});
