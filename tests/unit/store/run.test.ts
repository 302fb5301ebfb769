import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type FsCall, interceptWrites, systemError } from '../../support/fs-calls.ts';
import { begun, inStore, NOW, openForReading, openForWriting, writeInto } from '../../support/store.ts';

function list(base: string, folder: string): string[] {
  return fs.readdirSync(inStore(base, folder), { recursive: true, encoding: 'utf8' }).sort();
}

describe('a run', () => {
  it('is pending from its beginning, and sealed from its publishing', () => {
    const { base, run } = begun();
    expect(openForReading(base).pending()).toEqual([run.id]);
    run.writeIntent('{"a":1}\n');
    const seen = openForReading(base).openPending(run.id);
    expect(seen?.names()).toContain('intent.json');
    seen?.close();
    writeInto(run.capsuleDir(), 'capsule.json', 'c');
    writeInto(run.capsuleDir(), 'SHA256SUMS', 's');
    expect(openForReading(base).openCapsule(run.id)).toBeUndefined();
    run.publish();
    const reader = openForReading(base);
    expect([reader.pending(), reader.sealed()]).toEqual([[], [run.id]]);
    const capsule = reader.openCapsule(run.id);
    expect(capsule?.names()).toEqual(['SHA256SUMS', 'capsule.json']);
    capsule?.close();
    expect(list(base, 'pending')).toEqual([]);
  });

  it('gets an id that sorts after all others, also when the clock was set back', () => {
    const { base, writable, run } = begun();
    const ids = [run.id];
    for (const now of [NOW - 86_400_000, NOW, NOW + 1000, 0]) ids.push(writable.newRun(now).id);
    expect([...ids].sort()).toEqual(ids);
    expect(openForReading(base).pending()).toEqual(ids);
    run.publish();
    expect(openForWriting(base).newRun(0).id > (ids.at(-1) ?? '')).toBe(true);
  });

  it('takes a new intent in place of the old one', () => {
    const { base, run } = begun();
    run.writeIntent('one');
    run.writeIntent(Buffer.from('two'));
    expect(fs.readFileSync(inStore(base, 'pending', run.id, 'intent.json'), 'utf8')).toBe('two');
    expect(list(base, `pending/${run.id}`)).toEqual(['intent.json', 'owner.json']);
  });

  it('leaves nothing when it is abandoned', () => {
    const { base, run } = begun();
    run.writeIntent('i');
    writeInto(run.capsuleDir(), 'capsule.json', 'c');
    run.abandon();
    expect([list(base, 'pending'), list(base, 'capsules')]).toEqual([[], []]);
  });

  it('that is in both places counts as sealed', () => {
    const { base, run } = begun();
    fs.mkdirSync(inStore(base, 'capsules', run.id), { mode: 0o700 });
    const reader = openForReading(base);
    expect([reader.pending(), reader.sealed()]).toEqual([[], [run.id]]);
  });

  it('is told from other names', () => {
    const { base } = begun();
    for (const name of ['notes', '20261130T184726Z', '.x']) fs.mkdirSync(inStore(base, 'capsules', name));
    expect(openForReading(base).sealed()).toEqual([]);
  });
});

describe('the order of writes', () => {
  function steps(base: string, id: string, action: () => void): string[] {
    const calls: FsCall[] = [];
    const restore = interceptWrites((call) => calls.push(call));
    action();
    restore();
    return calls
      .map(({ name, target }) => `${name} ${target}`)
      .map((step) =>
        step
          .replace(`${inStore(base)}/`, '')
          .replaceAll(id, 'ID')
          .replace(/tmp-[0-9a-f]+/, 'tmp-X'),
      )
      .filter((step) => !step.startsWith('openSync'));
  }

  it('I3: an intent is whole and on the disk when writeIntent returns', () => {
    const { base, run } = begun();
    expect(steps(base, run.id, () => run.writeIntent('i'))).toEqual([
      'writeSync pending/ID/.agentdiff-tmp-X',
      'fsyncSync pending/ID/.agentdiff-tmp-X',
      'renameSync pending/ID/.agentdiff-tmp-X',
      'fsyncSync pending/ID',
      'fsyncSync pending',
    ]);
  });

  it('I4: a capsule is on the disk before the one rename that publishes it, and that before anything is removed', () => {
    const { base, run } = begun();
    writeInto(run.capsuleDir(), 'a', 'a');
    writeInto(run.capsuleDir(), 'b', 'b');
    expect(steps(base, run.id, () => run.publish())).toEqual([
      'fsyncSync pending/ID/capsule/a',
      'fsyncSync pending/ID/capsule/b',
      'fsyncSync pending/ID/capsule',
      'renameSync pending/ID/capsule',
      'fsyncSync capsules',
      'renameSync pending/ID',
      'unlinkSync pending/.agentdiff-tmp-X/owner.json',
      'rmdirSync pending/.agentdiff-tmp-X',
    ]);
  });
});

describe('a store that fails', () => {
  it.each(['mkdirSync', 'writeSync'])('%s out of space: no run begins and nothing is left', (failing) => {
    const { base, writable, run } = begun();
    const restore = interceptWrites(({ name }) => {
      if (name === failing) throw systemError('ENOSPC');
    });
    expect(() => writable.newRun(NOW)).toThrow(expect.objectContaining({ code: 'STORE_FULL' }));
    restore();
    expect(openForReading(base).pending()).toEqual([run.id]);
  });

  it('out of space: the old intent stays', () => {
    const { base, run } = begun();
    run.writeIntent('old');
    const restore = interceptWrites(({ name }) => {
      if (name === 'fsyncSync') throw systemError('ENOSPC');
    });
    expect(() => run.writeIntent('new')).toThrow(expect.objectContaining({ code: 'STORE_FULL' }));
    restore();
    expect(list(base, `pending/${run.id}`)).toEqual(['intent.json', 'owner.json']);
    expect(fs.readFileSync(inStore(base, 'pending', run.id, 'intent.json'), 'utf8')).toBe('old');
  });

  it('while a capsule is made durable: it is not published', () => {
    const { base, run } = begun();
    writeInto(run.capsuleDir(), 'a', 'a');
    const restore = interceptWrites(({ name }) => {
      if (name === 'fsyncSync') throw systemError('EIO');
    });
    expect(() => run.publish()).toThrow(expect.objectContaining({ code: 'STORE_UNWRITABLE' }));
    restore();
    const reader = openForReading(base);
    expect([reader.pending(), reader.sealed()]).toEqual([[run.id], []]);
  });

  it('while it tidies up after publishing: the capsule is published all the same', () => {
    const { base, run } = begun();
    writeInto(run.capsuleDir(), 'a', 'a');
    const restore = interceptWrites(({ name }) => {
      if (name === 'unlinkSync') throw systemError('EACCES');
    });
    run.publish();
    restore();
    expect(openForReading(base).sealed()).toEqual([run.id]);
  });
});
