import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Dir } from '../../../src/fs/index.ts';
import { listRuns } from '../../../src/operations/list.ts';
import { linesOf, recovered, scripted, type Setting, setting } from '../../support/context.ts';
import { interceptWrites, systemError } from '../../support/fs-calls.ts';

/** There every file is read, because times do not tell. */
const isTmpfs = fs.statfsSync(os.tmpdir()).type === 0x01021994;

/** The title is printed in place of the test. */
const notOnTmpfs = (title: string): void => void process.stderr.write(`not tried: ${title}\n`);

const states = (here: Setting): string[] => listRuns(here.context, here.place).runs.map(({ state }) => state);

describe('a run', () => {
  it('reports what the child did, seals it and passes its status on', async () => {
    const here = setting();
    fs.writeFileSync(here.at('f'), '1');
    const report = await scripted(here, 'echo 2 > f; echo new > g; exit 7');
    expect(report).toMatchObject({ root: here.ws, exit: { started: true, code: 7 }, exitStatus: 7 });
    expect(report.sealed?.capsule).toMatchObject({
      outcome: 'failed',
      counts: { created: 1, deleted: 0, modified: 1 },
    });
    expect(report.summary).toMatchObject({ created: [{ path: 'g' }], modified: [{ path: 'f' }] });
  });

  (isTmpfs ? notOnTmpfs : it)(
    'reads no file whose times did not move, unless it is told to read all (not on tmpfs)',
    async () => {
      const here = setting();
      fs.writeFileSync(here.at('f'), '1');
      // So late that the file does not count as touched just before.
      const later = { ...here, context: { ...here.context, now: () => Date.now() + 3_600_000 } };
      await scripted(later, 'true');
      const opened = vi.spyOn(Dir.prototype, 'openFile');
      const reads = (): number => opened.mock.calls.filter(([name]) => name === 'f').length;
      await scripted(later, 'true');
      expect(reads()).toBe(0);
      await scripted(later, 'true', { fullScan: true });
      expect(reads()).toBe(2);
      opened.mockRestore();
    },
  );

  it('that changes the policy file is denied after the fact: status 3, unless that is not to count', async () => {
    const here = setting();
    const make = 'echo x > agentdiff.yaml';
    expect(await scripted(here, make)).toMatchObject({
      exitStatus: 3,
      sealed: { capsule: { outcome: 'denied' } },
    });
    fs.rmSync(here.at('agentdiff.yaml'));
    expect(await scripted(here, make, { failOn: 'never' })).toMatchObject({ exitStatus: 0 });
    fs.rmSync(here.at('agentdiff.yaml'));
    expect(await scripted(here, `${make}; exit 9`)).toMatchObject({ exitStatus: 9 });
  });

  it.each([
    ['exit 0', 125],
    ['exit 7', 7],
    ['kill -TERM $$', 143],
  ])(
    'whose store fails from the start of the child on keeps the child whole (%s: %i)',
    async (end, status) => {
      const here = setting();
      fs.writeFileSync(here.at('f'), '1');
      // From the child's start on nothing can be written, the event of the start included.
      const marker = path.join(here.home, 'started');
      const restore = interceptWrites(({ name, target }) => {
        if (name !== 'fsyncSync' && target.startsWith(here.store) && isBegun(here))
          throw systemError('ENOSPC');
      });
      const report = await scripted(here, `echo 2 > f; : > ${marker}; ${end}`);
      restore();
      expect(fs.existsSync(marker)).toBe(true);
      expect(report).toMatchObject({ exitStatus: status, sealError: { code: 'STORE_FULL' } });
      expect(report.sealed).toBeUndefined();
      expect(states(here)).toEqual(['active']);
      expect(fs.readFileSync(here.at('f'), 'utf8')).toBe('2\n');
    },
  );

  it('whose root is replaced by another directory claims nothing about it', async () => {
    const here = setting();
    fs.writeFileSync(here.at('f'), '1');
    const report = await scripted(here, 'mv "$PWD" "$PWD-old"; mkdir "$PWD"; echo mine > "$PWD/n"');
    expect(report).toMatchObject({ exitStatus: 125, sealError: { code: 'ROOT_REPLACED' } });
    expect(fs.readFileSync(here.at('n'), 'utf8')).toBe('mine\n');
  });

  it('whose root is removed records that all of it went', async () => {
    const here = setting();
    fs.writeFileSync(here.at('f'), '1');
    const report = await scripted(here, 'rm -rf "$PWD"');
    expect(report).toMatchObject({ exitStatus: 0, summary: { deleted: [{ path: 'f' }] } });
  });

  it('whose clock was set back lasts as long as it did, and comes after the one before (R6)', async () => {
    const here = setting();
    let shift = 0;
    const context = { ...here.context, now: () => Date.now() - shift };
    const first = await scripted({ ...here, context }, 'echo 1 > f');
    const clock = setInterval(() => (shift += 86_400_000), 1);
    const second = await scripted({ ...here, context }, 'echo 2 > f; sleep 0.05');
    clearInterval(clock);
    expect(shift).toBeGreaterThan(0);
    const times = second.sealed?.capsule.times;
    // Both wall times are those of the clock; the duration is of another one.
    expect(Date.parse(times?.endedAt ?? '')).toBeLessThan(Date.parse(times?.startedAt ?? ''));
    expect(times?.durationMs).toBeGreaterThanOrEqual(50);
    const order = listRuns(here.context, here.place).runs.map(({ runId }) => runId);
    expect(order).toEqual([first.sealed?.capsule.runId, second.sealed?.capsule.runId]);
    expect(linesOf(recovered(here))).toEqual(['restored f']);
  });

  it('is taken back as a whole, with nothing to say about the second time', async () => {
    const here = setting();
    fs.mkdirSync(here.at('src'));
    fs.writeFileSync(here.at('src', 'main'), 'x');
    await scripted(here, 'rm -r src; mkdir build; echo y > build/out');
    expect(linesOf(recovered(here))).toEqual([
      'removed build',
      'removed build/out',
      'restored src',
      'restored src/main',
    ]);
    expect(recovered(here).counts).toMatchObject({ 'already-right': 4, refused: 0 });
  });
});

/** The intent has its name: once that is synced the child starts. */
function isBegun({ store }: Setting): boolean {
  return (
    fs.existsSync(store) &&
    fs.readdirSync(store, { recursive: true, encoding: 'utf8' }).some((name) => name.endsWith('/intent.json'))
  );
}
