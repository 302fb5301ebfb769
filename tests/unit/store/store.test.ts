import * as fs from 'node:fs';
import * as path from 'node:path';
import { indexOf } from '../../support/stat-index.ts';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RunId } from '../../../src/core/index.ts';
import { Store, workspaceId } from '../../../src/store/index.ts';
import { openWorkspaceForWriting } from '../../../src/store/write.ts';
import { interceptWrites, systemError } from '../../support/fs-calls.ts';
import {
  begun,
  freshBase,
  inStore,
  NOW,
  openForReading,
  openForWriting,
  WORKSPACE,
  writeInto,
} from '../../support/store.ts';
import { temporaryDir } from '../../support/temporary.ts';

const OTHER_USER = 12345;
const asRoot = process.geteuid?.() === 0;

/** Makes the directory somebody else's: by its owner where that is allowed, else by who we are. */
function giveAway(dir: string): void {
  if (asRoot) fs.chownSync(dir, OTHER_USER, OTHER_USER);
  else pretendToBe(OTHER_USER);
}

function pretendToBe(user: number): void {
  const spy = vi.spyOn(process, 'geteuid').mockReturnValue(user);
  onTestFinished(() => spy.mockRestore());
}

function sealOne(base: string, at = NOW): RunId {
  const writable = openForWriting(base, at);
  const run = writable.newRun(at);
  run.writeIntent('{}');
  writeInto(run.capsuleDir(), 'capsule.json', '{}\n');
  run.publish();
  return run.id;
}

describe('a store that is opened for reading', () => {
  it('is empty when its directory does not exist, and does not make it', () => {
    const base = freshBase();
    const store = Store.open(base);
    expect(store.workspaces()).toEqual([]);
    const workspace = store.workspace(WORKSPACE.id);
    expect(workspace.sealed()).toEqual([]);
    expect(workspace.pending()).toEqual([]);
    expect(workspace.identity()).toBeUndefined();
    expect(workspace.statIndex().counts.rows).toBe(0);
    expect(workspace.openCapsule('20261130T184726Z-4f9c2a1b' as RunId)).toBeUndefined();
    expect(fs.existsSync(base)).toBe(false);
  });

  it('is empty when the directory is empty', () => {
    expect(Store.open(temporaryDir()).workspaces()).toEqual([]);
  });

  it('lists its workspaces and tells what each was', () => {
    const { base } = begun();
    const store = Store.open(base);
    expect(store.workspaces()).toEqual([WORKSPACE.id]);
    expect(store.workspace(WORKSPACE.id).identity()).toEqual(WORKSPACE);
    store.close();
  });

  it('answers for a workspace it has never seen as for an empty one, whatever the id says', () => {
    const { base } = begun();
    const store = Store.open(base);
    for (const id of ['0'.repeat(32), '..', '../..', ''])
      expect(store.workspace(id).identity()).toBeUndefined();
    store.close();
  });

  it('never writes: no call that changes anything is made', () => {
    const base = freshBase();
    const id = sealOne(base);
    const writable = openForWriting(base);
    const batch = writable.objectBatch(id);
    const small = batch.put(Buffer.from('small'));
    const large = batch.put(Buffer.alloc(2 << 20, 7));
    batch.commit();
    writable.writeStatIndex(indexOf([]));
    interceptWrites(({ name }) => {
      throw systemError(`EROFS ${name}`);
    });
    const reader = openForReading(base);
    expect(reader.sealed()).toEqual([id]);
    expect(reader.pending()).toEqual([]);
    expect(reader.objects.get(small).toString()).toBe('small');
    expect(reader.objects.check(large)).toBe('present');
    expect(reader.statIndex().counts.rows).toBe(1);
    expect(reader.openCapsule(id)?.names()).toEqual(['capsule.json']);
  });
});

describe('whose store it is', () => {
  it('refuses a store that belongs to somebody else, for reading and for writing', () => {
    const { base } = begun();
    giveAway(base);
    expect(() => Store.open(base)).toThrow(expect.objectContaining({ code: 'STORE_NOT_OWNED' }));
    expect(() => openForWriting(base)).toThrow(expect.objectContaining({ code: 'STORE_NOT_OWNED' }));
  });

  it.each([0o770, 0o777, 0o702])('refuses a store that others may write into (mode %o)', (mode) => {
    const { base } = begun();
    fs.chmodSync(base, mode);
    expect(() => Store.open(base)).toThrow(expect.objectContaining({ code: 'STORE_NOT_OWNED' }));
    expect(() => openForWriting(base)).toThrow(expect.objectContaining({ code: 'STORE_NOT_OWNED' }));
  });

  it('refuses an empty directory of somebody else before it writes into it', () => {
    const base = temporaryDir();
    giveAway(base);
    expect(() => openForWriting(base)).toThrow(expect.objectContaining({ code: 'STORE_NOT_OWNED' }));
    expect(fs.readdirSync(base)).toEqual([]);
  });

  it("refuses a workspace's directory that others may write into", () => {
    const { base } = begun();
    fs.chmodSync(inStore(base), 0o777);
    expect(() => openForReading(base)).toThrow(expect.objectContaining({ code: 'STORE_NOT_OWNED' }));
    expect(() => openForWriting(base)).toThrow(expect.objectContaining({ code: 'STORE_NOT_OWNED' }));
  });

  it('accepts one that others may read', () => {
    const { base } = begun();
    fs.chmodSync(base, 0o755);
    expect(Store.open(base).workspaces()).toHaveLength(1);
  });
});

describe('the format of a store', () => {
  it('is written down when the store is made', () => {
    const { base } = begun();
    expect(fs.readFileSync(path.join(base, 'format'), 'utf8')).toBe('agentdiff-store 1\n');
  });

  it.each([
    ['agentdiff-store 2\n', 'STORE_VERSION'],
    ['agentdiff-store 0\n', 'STORE_VERSION'],
    ['agentdiff-store 1', 'STORE_DAMAGED'],
    ['', 'STORE_DAMAGED'],
    ['something else', 'STORE_DAMAGED'],
  ])('%j is %s, for reading and for writing', (text, code) => {
    const { base } = begun();
    fs.writeFileSync(path.join(base, 'format'), text);
    expect(() => Store.open(base)).toThrow(expect.objectContaining({ code }));
    expect(() => openForWriting(base)).toThrow(expect.objectContaining({ code }));
  });

  it('must be there once workspaces are', () => {
    const { base } = begun();
    fs.unlinkSync(path.join(base, 'format'));
    expect(() => Store.open(base)).toThrow(expect.objectContaining({ code: 'STORE_DAMAGED' }));
  });

  it('is not read through a link', () => {
    const { base } = begun();
    fs.renameSync(path.join(base, 'format'), path.join(base, 'elsewhere'));
    fs.symlinkSync('elsewhere', path.join(base, 'format'));
    expect(() => Store.open(base)).toThrow(expect.objectContaining({ code: 'STORE_DAMAGED' }));
  });
});

describe('a store that is opened for writing', () => {
  it('makes everything for the owner alone', () => {
    const { base, run, writable } = begun();
    run.writeIntent('{}');
    const batch = writable.objectBatch(run.id);
    batch.put(Buffer.from('small'));
    const large = batch.put(Buffer.alloc(2 << 20));
    batch.commit();
    writable.writeStatIndex(indexOf([]));
    for (const [name, stat] of walk(base)) {
      const mode = stat.mode & 0o777;
      if (stat.isDirectory()) expect([name, mode]).toEqual([name, 0o700]);
      else expect([name, mode]).toEqual([name, name.endsWith(large) ? 0o400 : 0o600]);
    }
  });

  it('makes the directories above it', () => {
    const base = path.join(freshBase(), 'a', 'b');
    openForWriting(base);
    expect(Store.open(base).workspaces()).toEqual([WORKSPACE.id]);
  });

  it.each(['ENOSPC', 'EDQUOT'])('%s is STORE_FULL and names the store', (errno) => {
    const base = freshBase();
    interceptWrites(({ name }) => {
      if (name === 'writeSync') throw systemError(errno);
    });
    expect(() => openForWriting(base)).toThrow(
      expect.objectContaining({ code: 'STORE_FULL', data: { store: base, errno } }),
    );
  });

  it.each(['EACCES', 'EROFS', 'EPERM', 'EIO'])(
    '%s is STORE_UNWRITABLE and says how to name another place',
    (errno) => {
      const base = freshBase();
      interceptWrites(() => {
        throw systemError(errno);
      });
      expect(() => openForWriting(base)).toThrow(
        expect.objectContaining({ code: 'STORE_UNWRITABLE', hint: expect.stringContaining('--store') }),
      );
    },
  );

  it('cannot be made below a file', () => {
    const file = path.join(temporaryDir(), 'f');
    fs.writeFileSync(file, '');
    expect(() => openForWriting(path.join(file, 's'))).toThrow(
      expect.objectContaining({ code: 'STORE_UNWRITABLE' }),
    );
  });

  it('refuses a workspace whose identity was altered', () => {
    const { base } = begun();
    const file = inStore(base, 'workspace.json');
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('project', 'produce'));
    expect(() => openForWriting(base)).toThrow(expect.objectContaining({ code: 'STORE_DAMAGED' }));
    expect(() => openForReading(base).identity()).toThrow(expect.objectContaining({ code: 'STORE_DAMAGED' }));
  });

  it('keeps a root whose path is not UTF-8', () => {
    const base = freshBase();
    const root = '\0/d\xff';
    const workspace = { id: workspaceId(root), root };
    const writable = openWorkspaceForWriting(base, workspace, { now: NOW });
    expect(writable.store.identity()).toEqual(workspace);
    writable.close();
  });
});

describe('the id of a workspace', () => {
  it('depends on every byte of the path', () => {
    const ids = [workspaceId('/a'), workspaceId('/b'), workspaceId('\0/a\xff'), workspaceId('\0/a\xfe')];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  });

  it('is the documented digest', () => {
    expect(workspaceId('/home/u/project')).toBe('f6181e3287b9bb8044286f681312be3c');
  });
});

function* walk(dir: string): Generator<[string, fs.Stats]> {
  yield [dir, fs.lstatSync(dir)];
  for (const name of fs.readdirSync(dir)) {
    const child = path.join(dir, name);
    const stat = fs.lstatSync(child);
    if (stat.isDirectory()) yield* walk(child);
    else yield [child, stat];
  }
}
