/** Z5: what came about between the first scan and the launch is not the command's. The test is the one that edits there, and waits until the edit is old enough to tell. */
import * as fs from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Change } from '../../../src/snapshot/index.ts';
import { parseRelPath } from '../../../src/core/index.ts';
import { showRun } from '../../../src/operations/show.ts';
import { verifyCapsule } from '../../../src/operations/verify.ts';
import { isBeforeCommand } from '../../../src/operations/workspace/before-command.ts';
import { linesOf, recovered, scripted, type Setting, setting } from '../../support/context.ts';
import { digest, state } from '../../support/sample-capsule.ts';

/** Edits after the first scan began and before the launch, more than a tick from either. */
function between(edit: () => void): { refuseInterrupted: () => Promise<void> } {
  return {
    refuseInterrupted: async () => {
      await setTimeout(50);
      edit();
      await setTimeout(50);
    },
  };
}

function marks(here: Setting): Record<string, string | undefined> {
  const { changes } = showRun(here.context, here.place, 'last');
  return Object.fromEntries(changes.map(({ path, reason }) => [path, reason]));
}

describe('an edit between the first scan and the launch', () => {
  it('is marked, never removed and never overwritten; what the command did is taken back', async () => {
    const here = setting();
    for (const name of ['early', 'late']) fs.writeFileSync(here.at(name), 'old');
    const report = await scripted(
      here,
      'echo new > late; echo x > made',
      between(() => {
        fs.writeFileSync(here.at('early'), 'mine');
        fs.mkdirSync(here.at('d'));
        fs.writeFileSync(here.at('d', 'grown'), 'mine');
      }),
    );
    expect(report.sealed?.capsule.reversibility).toMatchObject({
      recoverable: 2,
      notRecoverable: [{ reason: 'before-command', count: 3 }],
    });
    const early = 'before-command';
    expect(marks(here)).toEqual({ d: early, 'd/grown': early, early, late: undefined, made: undefined });
    expect(verifyCapsule(here.context, here.place, 'last').verdict).toBe('holds');
    expect(linesOf(recovered(here)).sort()).toEqual([
      'refused d/grown: before-command',
      'refused d: before-command',
      'refused early: before-command',
      'removed made',
      'restored late',
    ]);
    expect(fs.readFileSync(here.at('early'), 'utf8')).toBe('mine');
    expect(fs.readFileSync(here.at('d', 'grown'), 'utf8')).toBe('mine');
  });

  it('counts as the command’s once the command touched the entry too', async () => {
    const here = setting();
    const edit = between(() => fs.writeFileSync(here.at('f'), 'mine'));
    await scripted(here, 'echo more >> f', edit);
    expect(marks(here)).toEqual({ f: undefined });
  });

  it('is all there is when no command could be started', async () => {
    const here = setting();
    const edit = between(() => fs.writeFileSync(here.at('f'), 'mine'));
    await scripted(here, '', { argv: ['no-such-command'], ...edit });
    expect(marks(here)).toEqual({ f: 'before-command' });
    expect(linesOf(recovered(here))).toEqual(['refused f: before-command']);
    expect(fs.existsSync(here.at('f'))).toBe(true);
  });
});

describe('isBeforeCommand', () => {
  const MS = 1_000_000n;
  const noEntries = { lookup: () => undefined };
  const side = state('file', digest('x'));
  const change: Change = { path: parseRelPath('p'), after: side };
  const at = (ms: bigint, launchMs: bigint | undefined, what: Change = change): boolean =>
    isBeforeCommand(
      what,
      { firstScanNs: 1000n * MS, launchNs: launchMs && launchMs * MS },
      {
        before: noEntries,
        after: { lookup: () => ({ ctimeNs: ms * MS, mtimeNs: 0n, nlink: 1, inode: '1:1' }) },
      },
    );

  it('takes for the command’s what may be within a tick of the launch, and what the first scan would have seen', () => {
    expect([at(1500n, 2000n), at(1989n, 2000n), at(1001n, 2000n)]).toEqual([true, true, true]);
    expect([at(1990n, 2000n), at(2000n, 2000n), at(1000n, 2000n)]).toEqual([false, false, false]);
    expect(at(5000n, undefined)).toBe(true);
  });

  it('takes for the command’s what is in a directory that the command put in its place, and keeps its own times', () => {
    const inMoved = { path: parseRelPath('d/e/p'), after: side };
    const told = (directoryMs: bigint, inodeBefore: string | undefined): boolean =>
      isBeforeCommand(
        inMoved,
        { firstScanNs: 1000n * MS, launchNs: 2000n * MS },
        {
          before: {
            lookup: () =>
              inodeBefore === undefined
                ? undefined
                : { ctimeNs: 0n, mtimeNs: 0n, nlink: 1, inode: inodeBefore },
          },
          after: {
            lookup: (path) => ({
              ctimeNs: (path === 'd' ? directoryMs : 1500n) * MS,
              mtimeNs: 0n,
              nlink: 1,
              inode: '1:1',
            }),
          },
        },
      );
    expect([told(2500n, undefined), told(2500n, '1:9')]).toEqual([false, false]);
    expect([told(1500n, undefined), told(2500n, '1:1')]).toEqual([true, true]);
  });

  it('says nothing of a deletion, which leaves no time', () => {
    expect(at(1500n, 2000n, { path: parseRelPath('p'), before: side })).toBe(false);
  });
});
