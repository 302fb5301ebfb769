import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ChangeRecord, CapsuleReader } from '../../../../src/capsule/index.ts';
import { digestOf, type RunId } from '../../../../src/core/index.ts';
import { planRecover, type RecoverPlan } from '../../../../src/operations/recover.ts';
import { makePlan } from '../../../../src/operations/recover/plan.ts';
import { openForReading } from '../../../../src/operations/workspace/open.ts';
import { linesOf, observed, recovered, requestFor, type Setting, setting } from '../../../support/context.ts';
import { fingerprint } from '../../../support/fingerprint.ts';

/** Each step as `remove a`, `already a` or `refused a: changed-since`. */
function linesOfPlan({ steps }: RecoverPlan): string[] {
  return steps.map(
    ({ verdict, action, path: at, code }) =>
      `${verdict === 'apply' ? action : verdict} ${at}${code === undefined ? '' : `: ${code}`}`,
  );
}

function planned(here: Setting, paths: readonly string[] = []): string[] {
  return linesOfPlan(planRecover(here.context, requestFor(here, undefined, paths)));
}

/** Plans with mount points that this machine has not. */
function plannedWithMounts(here: Setting, runId: RunId, mounts: readonly string[]): string[] {
  const { root, store, close } = openForReading(here.context, here.place);
  const dir = store.openCapsule(runId);
  try {
    const changes: ChangeRecord[] = dir === undefined ? [] : [...CapsuleReader.open(dir).changes()];
    return linesOfPlan(
      makePlan({
        runId,
        capsule: digestOf('a capsule'),
        root: root.dir,
        changes,
        paths: [],
        objects: store.objects,
        mounts: new Set(mounts),
        lowered: [],
      }),
    );
  } finally {
    dir?.close();
    close();
  }
}

function write(here: Setting, name: string, content: string): void {
  fs.mkdirSync(path.dirname(here.at(name)), { recursive: true });
  fs.writeFileSync(here.at(name), content);
}

describe('what a plan says of each path', () => {
  it('restores, removes and changes modes; and says what is right already', () => {
    const here = setting();
    for (const name of ['changed', 'deleted', 'mode', 'again']) write(here, name, name);
    observed(here, () => {
      write(here, 'changed', 'by the run');
      fs.rmSync(here.at('deleted'));
      fs.rmSync(here.at('again'));
      fs.chmodSync(here.at('mode'), 0o600);
      write(here, 'new/file', 'new');
      write(here, 'gone', 'new');
    });
    write(here, 'again', 'again');
    fs.rmSync(here.at('gone'));
    expect(planned(here)).toEqual([
      'already again',
      'restore changed',
      'restore deleted',
      'already gone',
      'change-mode mode',
      'remove new',
      'remove new/file',
    ]);
  });

  it('names nothing that the run did not change (R8)', () => {
    const here = setting();
    write(here, 'a', '1');
    write(here, 'b', '1');
    observed(here, () => write(here, 'a', '2'));
    write(here, 'b', 'later');
    write(here, 'c', 'later');
    expect(planned(here)).toEqual(['restore a']);
    expect(linesOf(recovered(here))).toEqual(['restored a']);
    expect(fs.readFileSync(here.at('b'), 'utf8')).toBe('later');
  });

  it('takes a directory moved away back to its place (D3)', () => {
    const here = setting();
    write(here, 'a/s/f', 'content');
    const before = fingerprint(here.ws);
    observed(here, () => fs.renameSync(here.at('a'), here.at('z')));
    expect(planned(here)).toEqual([
      'restore a',
      'restore a/s',
      'restore a/s/f',
      'remove z',
      'remove z/s',
      'remove z/s/f',
    ]);
    recovered(here);
    expect(fingerprint(here.ws)).toEqual(before);
  });

  it('takes a directory that became a file, a link and a file that became a directory back (D5)', () => {
    const here = setting();
    write(here, 'config', 'c');
    write(here, 'd/in', 'x');
    fs.symlinkSync('d', here.at('link'));
    const before = fingerprint(here.ws);
    observed(here, () => {
      fs.rmSync(here.at('config'));
      write(here, 'config/local', 'l');
      fs.rmSync(here.at('d'), { recursive: true });
      fs.symlinkSync('config', here.at('d'));
      fs.rmSync(here.at('link'));
      fs.mkdirSync(here.at('link'));
    });
    expect(linesOf(recovered(here))).toEqual([
      'restored config',
      'removed config/local',
      'restored d',
      'restored d/in',
      'restored link',
    ]);
    expect(fingerprint(here.ws)).toEqual(before);
  });

  it('leaves a directory whole that must make way and holds somebody else`s file (D5)', () => {
    const here = setting();
    write(here, 'config', 'c');
    observed(here, () => {
      fs.rmSync(here.at('config'));
      write(here, 'config/local', 'l');
    });
    write(here, 'config/mine', 'm');
    const left = fingerprint(here.ws);
    expect(planned(here)).toEqual([
      'refused config: directory-not-empty',
      'refused config/local: parent-refused',
    ]);
    expect(recovered(here).exitStatus).toBe(3);
    expect(fingerprint(here.ws)).toEqual(left);
  });

  it('keeps a directory of the run that holds somebody else`s file, and all above it (D1)', () => {
    const here = setting();
    observed(here, () => write(here, 'a/b/c/ours', 'x'));
    write(here, 'a/b/theirs', 'y');
    expect(linesOf(recovered(here))).toEqual([
      'refused a: directory-not-empty',
      'refused a/b: directory-not-empty',
      'removed a/b/c',
      'removed a/b/c/ours',
    ]);
    expect(fs.readdirSync(here.at('a/b'))).toEqual(['theirs']);
  });
});

describe('why a plan refuses a path', () => {
  it('changed-since: somebody worked on it after the run (R7)', () => {
    const here = setting();
    for (const name of ['edited', 'mode', 'kind', 'gone', 'recreated']) write(here, name, '1');
    observed(here, () => {
      for (const name of ['edited', 'mode', 'kind', 'gone', 'h']) write(here, name, '2');
      fs.rmSync(here.at('recreated'));
    });
    write(here, 'edited', 'mine');
    fs.chmodSync(here.at('mode'), 0o600);
    fs.rmSync(here.at('kind'));
    fs.symlinkSync('gone', here.at('kind'));
    fs.rmSync(here.at('gone'));
    write(here, 'h', 'mine too');
    write(here, 'recreated', 'other');
    const left = fingerprint(here.ws);
    expect(planned(here)).toEqual(
      ['edited', 'gone', 'h', 'kind', 'mode', 'recreated'].map((name) => `refused ${name}: changed-since`),
    );
    const { steps } = planRecover(here.context, requestFor(here));
    for (const { detail } of steps) expect(detail).toMatch(/^expected .*, found /);
    expect(recovered(here).exitStatus).toBe(3);
    expect(fingerprint(here.ws)).toEqual(left);
  });

  it('parent-is-link, parent-changed: the way to it is another one now', () => {
    const here = setting();
    for (const name of ['link/f', 'file/f', 'gone/f', 'elsewhere/f']) write(here, name, '1');
    observed(here, () => {
      for (const name of ['link/f', 'file/f', 'gone/f']) write(here, name, '2');
      write(here, 'link/new', '2');
    });
    fs.renameSync(here.at('link'), here.at('moved'));
    fs.symlinkSync('moved', here.at('link'));
    fs.rmSync(here.at('file'), { recursive: true });
    write(here, 'file', '');
    fs.rmSync(here.at('gone'), { recursive: true });
    const left = fingerprint(here.ws);
    expect(planned(here)).toEqual([
      'refused file/f: parent-changed',
      'refused gone/f: parent-changed',
      'refused link/f: parent-is-link',
      'refused link/new: parent-is-link',
    ]);
    recovered(here);
    expect(fingerprint(here.ws)).toEqual(left);
  });

  it('parent-refused: the directory that it needs is not put back', () => {
    const here = setting();
    write(here, 'd/e/f', '1');
    observed(here, () => fs.rmSync(here.at('d'), { recursive: true }));
    write(here, 'd', 'mine');
    expect(planned(here)).toEqual([
      'refused d: changed-since',
      'refused d/e: parent-refused',
      'refused d/e/f: parent-refused',
    ]);
  });

  it('parent-refused: also where a directory of the name is there, which is somebody else`s', () => {
    const here = setting();
    write(here, 'd/f', '1');
    fs.chmodSync(here.at('d'), 0o750);
    observed(here, () => fs.rmSync(here.at('d'), { recursive: true }));
    fs.mkdirSync(here.at('d'));
    fs.chmodSync(here.at('d'), 0o711);
    expect(planned(here)).toEqual(['refused d: changed-since', 'refused d/f: parent-refused']);
    recovered(here);
    expect(fs.readdirSync(here.at('d'))).toEqual([]);
  });

  it('parent-refused: also where the file that took its place has to stay', () => {
    const here = setting();
    write(here, 'd/e/f', '1');
    observed(here, () => {
      fs.rmSync(here.at('d'), { recursive: true });
      write(here, 'd', 'made');
    });
    fs.linkSync(here.at('d'), path.join(here.home, 'another name'));
    expect(planned(here)).toEqual([
      'refused d: hard-linked',
      'refused d/e: parent-refused',
      'refused d/e/f: parent-refused',
    ]);
  });

  it('content-not-kept: the capture level said so', () => {
    const here = setting();
    for (const name of ['hashed', 'node_modules/m', 'seen']) write(here, name, '1');
    observed(
      here,
      () => {
        for (const name of ['hashed', 'node_modules/m', 'seen']) write(here, name, '22');
      },
      {
        capture: [
          { glob: 'hashed', level: 'digest' },
          { glob: 'seen', level: 'stat' },
        ],
      },
    );
    expect(planned(here)).toEqual([
      'refused hashed: content-not-kept',
      'refused node_modules/m: content-not-kept',
      'refused seen: content-not-kept',
    ]);
  });

  it('not-observed: one of the states is not known', () => {
    const here = setting();
    write(here, 'secret', '1');
    observed(here, () => fs.rmSync(here.at('secret')), { capture: [{ glob: 'secret', level: 'none' }] });
    expect(planned(here)).toEqual(['refused secret: not-observed']);
  });

  it('content-missing: the store lost it', () => {
    const here = setting();
    // Over 1 MiB it is a file of its own in the store.
    write(here, 'f', 'x'.repeat(2 ** 20 + 1));
    observed(here, () => fs.rmSync(here.at('f')));
    for (const file of storeFiles(here.store).filter((name) => name.includes('/large/'))) fs.rmSync(file);
    expect(planned(here)).toEqual(['refused f: content-missing']);
  });

  it('nothing at all can be planned when the store lost the snapshots', () => {
    const here = setting();
    write(here, 'f', 'content');
    observed(here, () => fs.rmSync(here.at('f')));
    for (const file of storeFiles(here.store).filter((name) => /\.(pack|idx)$/.test(name))) fs.rmSync(file);
    expect(() => planned(here)).toThrowError(expect.objectContaining({ code: 'CAPSULE_INVALID' }) as Error);
  });

  it('unsupported-kind: a fifo would have to be made', () => {
    const here = setting();
    expect(spawnSync('mkfifo', [here.at('pipe')]).status).toBe(0);
    observed(here, () => fs.rmSync(here.at('pipe')));
    expect(planned(here)).toEqual(['refused pipe: unsupported-kind']);
  });

  it('removes a fifo that the run made', () => {
    const here = setting();
    observed(here, () => spawnSync('mkfifo', [here.at('pipe')]));
    expect(linesOf(recovered(here))).toEqual(['removed pipe']);
  });

  it('hard-linked: another name of the file would keep what the run wrote', () => {
    const here = setting();
    write(here, 'f', '1');
    fs.linkSync(here.at('f'), `${here.home}/outside`);
    observed(here, () => {
      write(here, 'f', '2');
      write(here, 'new', 'n');
      fs.linkSync(here.at('new'), `${here.home}/other`);
    });
    // To remove one name takes nothing from the other.
    expect(planned(here)).toEqual(['refused f: hard-linked', 'remove new']);
    recovered(here);
    expect(fs.readFileSync(`${here.home}/outside`, 'utf8')).toBe('2');
    expect(fs.readFileSync(`${here.home}/other`, 'utf8')).toBe('n');
  });

  it('mount-in-the-way: another file system is mounted there, or above it', () => {
    const here = setting();
    write(here, 'm/d/f', '1');
    write(here, 'mm', '1');
    const runId = observed(here, () => {
      write(here, 'm/d/f', '2');
      write(here, 'mm', '2');
    });
    expect(plannedWithMounts(here, runId, ['m'])).toEqual(['refused m/d/f: mount-in-the-way', 'restore mm']);
    expect(plannedWithMounts(here, runId, ['m/d/f', 'mm/x'])).toEqual([
      'refused m/d/f: mount-in-the-way',
      'restore mm',
    ]);
  });
});

describe('files with several names', () => {
  it('are put back when the run changed all of the names', () => {
    const here = setting();
    write(here, 'a', '1');
    fs.linkSync(here.at('a'), here.at('b'));
    const before = fingerprint(here.ws);
    observed(here, () => write(here, 'a', '2'));
    expect(linesOf(recovered(here))).toEqual(['restored a', 'restored b']);
    expect(fingerprint(here.ws)).toEqual(before);
  });

  it('get their mode back once, for all of the names', () => {
    const here = setting();
    write(here, 'a', '1');
    fs.linkSync(here.at('a'), here.at('b'));
    const before = fingerprint(here.ws, { times: true });
    observed(here, () => fs.chmodSync(here.at('a'), 0o600));
    const report = recovered(here);
    expect(linesOf(report)).toEqual(['restored a', 'restored b']);
    expect(report.exitStatus).toBe(0);
    expect(fingerprint(here.ws, { times: true })).toEqual(before);
    expect(fs.statSync(here.at('a')).nlink).toBe(2);
  });

  it('are put back when the run gave a file a second name and wrote to it', () => {
    const here = setting();
    write(here, 'a', '1');
    const before = fingerprint(here.ws);
    observed(here, () => {
      fs.linkSync(here.at('a'), here.at('b'));
      write(here, 'a', '2');
    });
    expect(linesOf(recovered(here))).toEqual(['restored a', 'removed b']);
    expect(fingerprint(here.ws)).toEqual(before);
  });

  it('are removed also where they are known by their metadata only', () => {
    const here = setting();
    observed(here, () => {
      write(here, 'node_modules/a', 'x');
      for (const name of ['b', 'c']) fs.linkSync(here.at('node_modules/a'), here.at(`node_modules/${name}`));
    });
    expect(recovered(here).exitStatus).toBe(0);
    expect(fs.readdirSync(here.ws)).toEqual([]);
  });
});

describe('the selected paths', () => {
  it('bring the directories along that the run took away, and nothing else', () => {
    const here = setting();
    for (const name of ['d/e/f', 'd/e/g', 'd/h', 'other']) write(here, name, '1');
    observed(here, () => {
      fs.rmSync(here.at('d'), { recursive: true });
      fs.rmSync(here.at('other'));
    });
    expect(planned(here, ['d/e/f'])).toEqual(['restore d', 'restore d/e', 'restore d/e/f']);
    expect(planned(here, ['d/e'])).toEqual(['restore d', 'restore d/e', 'restore d/e/f', 'restore d/e/g']);
    expect(planned(here, ['other', 'd/h'])).toEqual(['restore d', 'restore d/h', 'restore other']);
    recovered(here, undefined, ['d/e/f']);
    expect(new Set(fs.readdirSync(here.ws, { recursive: true, encoding: 'utf8' }))).toEqual(
      new Set(['d', 'd/e', 'd/e/f']),
    );
    expect(linesOf(recovered(here)).filter((line) => !line.startsWith('already-right'))).toEqual([
      'restored d/e/g',
      'restored d/h',
      'restored other',
    ]);
  });

  it('leave the mode of a directory above them alone', () => {
    const here = setting();
    write(here, 'd/f', '1');
    observed(here, () => {
      fs.chmodSync(here.at('d'), 0o700);
      write(here, 'd/f', '2');
    });
    expect(planned(here, ['d/f'])).toEqual(['restore d/f']);
    expect(planned(here, ['d'])).toEqual(['change-mode d', 'restore d/f']);
  });

  it('must be paths that the run changed', () => {
    const here = setting();
    write(here, 'f', '1');
    observed(here, () => write(here, 'f', '2'));
    for (const name of ['g', 'f/x', 'F']) {
      expect(() => planned(here, ['f', name])).toThrowError(
        expect.objectContaining({ code: 'PATH_NOT_IN_RUN' }) as Error,
      );
    }
  });
});

describe('planning', () => {
  it('writes nothing, neither in the workspace nor in the store', () => {
    const here = setting();
    write(here, 'f', '1');
    observed(here, () => write(here, 'f', '2'));
    const everything = (): string[] => fingerprint(path.dirname(here.ws), { times: true });
    const before = everything();
    const stat = fs.statSync(here.ws, { bigint: true });
    planned(here);
    expect(everything()).toEqual(before);
    expect(fs.statSync(here.ws, { bigint: true }).ctimeNs).toBe(stat.ctimeNs);
  });

  it('gives the same digest for the same plan, and another one when anything shown is another', () => {
    const here = setting();
    for (const name of ['f', 'g']) write(here, name, '1');
    observed(here, () => {
      for (const name of ['f', 'g', 'h']) write(here, name, '2');
    });
    const digest = (paths: readonly string[] = []): string =>
      planRecover(here.context, requestFor(here, undefined, paths)).digest;
    const first = digest();
    expect(digest()).toBe(first);
    const digests = new Set([first, digest(['f']), digest(['g'])]);
    write(here, 'g', 'later');
    digests.add(digest());
    fs.rmSync(here.at('h'));
    digests.add(digest());
    write(here, 'h', 'other');
    digests.add(digest());
    expect(digests.size).toBe(6);
  });
});

function storeFiles(store: string): string[] {
  return fs
    .readdirSync(store, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(store, name))
    .filter((name) => fs.statSync(name).isFile());
}
