import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/index.ts';
import { processIdentity } from '../../../src/fs/index.ts';
import { interceptWrites, systemError } from '../../support/fs-calls.ts';
import {
  begun,
  freshBase,
  inStore,
  NOW,
  openForReading,
  openForWriting,
  writeInto,
} from '../../support/store.ts';

const DAY = 24 * 60 * 60 * 1000;
const GONE = '20260101T000000Z-00000000' as RunId;

interface Owner {
  pid: number;
  startTime: string;
  bootId: string;
  namespace: string;
}

function changeOwner(base: string, run: RunId, change: Partial<Owner>): void {
  const file = inStore(base, 'pending', run, 'owner.json');
  const owner: Owner = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...owner, ...change }));
}

const DEAD: Partial<Owner> = { startTime: '1' };

/** What a killed run leaves of its objects. */
function litter(base: string, run: RunId): string[] {
  const names = [`packs/${run}-7.pack`, `packs/${run}-8.idx.tmp`, `large/${run}-0123456789abcdef.tmp`];
  for (const name of names) fs.writeFileSync(inStore(base, name), 'part');
  return names;
}

function age(base: string, names: readonly string[], ms: number): void {
  const at = (NOW - ms) / 1000;
  for (const name of names) fs.utimesSync(inStore(base, name), at, at);
}

function left(base: string, names: readonly string[]): string[] {
  return names.filter((name) => fs.existsSync(inStore(base, name)));
}

function expectKeptForADay(base: string, names: readonly string[]): void {
  age(base, names, DAY - 1000);
  openForWriting(base);
  expect(left(base, names)).toEqual(names);
  age(base, names, DAY + 1000);
  openForWriting(base);
  expect(left(base, names)).toEqual([]);
}

describe('what an ended process left', () => {
  it('goes at the next opening for writing', () => {
    const { base, run } = begun();
    const names = litter(base, run.id);
    changeOwner(base, run.id, DEAD);
    openForWriting(base);
    expect(left(base, [...names, `pending/${run.id}`])).toEqual([]);
  });

  it('stays while its process lives', () => {
    const { base, run } = begun();
    const names = [...litter(base, run.id), `pending/${run.id}`];
    age(base, names, 10 * DAY);
    openForWriting(base);
    expect(left(base, names)).toEqual(names);
  });

  it.each<[string, Partial<Owner>]>([
    ['another pid namespace', { namespace: 'pid:[1]', ...DEAD }],
    ['another boot', { bootId: 'other', ...DEAD }],
  ])('of %s goes only after a day: its process may live', (_, owner) => {
    const { base, run } = begun();
    const names = [...litter(base, run.id), `pending/${run.id}`];
    changeOwner(base, run.id, owner);
    expectKeptForADay(base, names);
  });

  it.each(['', 'null', '{}', '{"pid":1}', 'no json'])(
    'with an owner that says %j counts as unknown',
    (text) => {
      const { base, run } = begun();
      fs.writeFileSync(inStore(base, 'pending', run.id, 'owner.json'), text);
      expectKeptForADay(base, [`pending/${run.id}`]);
    },
  );

  it('of a run that is not pending any more goes after a day', () => {
    const { base } = begun();
    const names = litter(base, GONE);
    expectKeptForADay(base, names);
  });

  it('includes temporary files without a run, after a day', () => {
    const { base } = begun();
    const names = ['.agentdiff-tmp-0123456789abcdef', 'pending/.agentdiff-tmp-0123456789abcdef'];
    for (const name of names) fs.writeFileSync(inStore(base, name), 'part');
    expectKeptForADay(base, names);
  });

  it('I5: never includes a run with an intent, nor its objects', () => {
    const { base, writable, run } = begun();
    const batch = writable.objectBatch(run.id);
    const digest = batch.put(Buffer.from('before-state'));
    batch.commit();
    run.writeIntent('i');
    changeOwner(base, run.id, DEAD);
    age(base, [`pending/${run.id}`], 100 * DAY);
    openForWriting(base);
    const reader = openForReading(base);
    expect([reader.pending(), reader.objects.check(digest)]).toEqual([[run.id], 'present']);
  });

  it('includes the rest of a run that was published', () => {
    const { base, run } = begun();
    run.writeIntent('i');
    writeInto(run.capsuleDir(), 'a', 'a');
    fs.renameSync(inStore(base, 'pending', run.id, 'capsule'), inStore(base, 'capsules', run.id));
    changeOwner(base, run.id, DEAD);
    openForWriting(base);
    expect(left(base, [`pending/${run.id}`])).toEqual([]);
    expect(openForReading(base).sealed()).toEqual([run.id]);
  });

  it('is told from files that are not ours', () => {
    const { base } = begun();
    const names = ['packs/notes.tmp', 'large/notes.tmp', 'packs/notes.pack', 'pending/notes', 'notes'];
    for (const name of names) fs.writeFileSync(inStore(base, name), 'mine');
    age(base, names, 100 * DAY);
    openForWriting(base);
    expect(left(base, names)).toEqual(names);
  });

  it('does not keep a run from starting when it cannot be removed', () => {
    const base = freshBase();
    openForWriting(base);
    fs.writeFileSync(inStore(base, 'packs', `${GONE}-0.pack`), 'part');
    age(base, [`packs/${GONE}-0.pack`], 2 * DAY);
    interceptWrites(({ name }) => {
      if (name === 'unlinkSync') throw systemError('EPERM');
    });
    expect(openForWriting(base).newRun(NOW).id).toBeDefined();
  });

  it('knows its owner by pid, start time, boot and pid namespace', () => {
    const { base, run } = begun();
    const owner: Owner = JSON.parse(fs.readFileSync(inStore(base, 'pending', run.id, 'owner.json'), 'utf8'));
    expect(owner).toEqual({
      ...processIdentity(process.pid),
      namespace: fs.readlinkSync('/proc/self/ns/pid'),
    });
  });
});
