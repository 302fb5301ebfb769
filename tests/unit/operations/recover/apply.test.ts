import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { listRuns } from '../../../../src/operations/list.ts';
import { applyRecover, planRecover, type RecoverReport } from '../../../../src/operations/recover.ts';
import {
  activeRun,
  linesOf,
  observed,
  recovered,
  requestFor,
  type Setting,
  setting,
} from '../../../support/context.ts';
import { fingerprint } from '../../../support/fingerprint.ts';
import { type FsCall, interceptWrites, systemError } from '../../../support/fs-calls.ts';
import { asOrdinaryUser } from '../../../support/user.ts';

const TEMPORARY = /\.agentdiff-tmp-/;

/** A workspace in which a run wrote `2` into `f`, which held `1`. */
function changedFile(): Setting {
  const here = setting();
  fs.writeFileSync(here.at('f'), '1');
  observed(here, () => fs.writeFileSync(here.at('f'), '2'));
  return here;
}

/** Recovers, and lets `act` happen once, before the first changing call in the workspace that `when` picks. */
function recoveredWhile(here: Setting, when: (call: FsCall) => boolean, act: () => void): RecoverReport {
  let isDone = false;
  const restore = interceptWrites((call) => {
    if (isDone || !call.target.startsWith(here.ws) || !when(call)) return;
    isDone = true;
    act();
  });
  const report = recovered(here);
  restore();
  expect(isDone).toBe(true);
  return report;
}

/** Recovers while a system call in the workspace fails. */
function recoveredFailing(here: Setting, name: FsCall['name'], code: string): RecoverReport {
  const restore = interceptWrites((call) => {
    if (call.name === name && call.target.startsWith(here.ws)) throw systemError(code);
  });
  const report = recovered(here);
  restore();
  return report;
}

function names(here: Setting): string[] {
  return fs.readdirSync(here.ws, { recursive: true, encoding: 'utf8' }).sort();
}

function text(here: Setting, name: string): string {
  return fs.readFileSync(here.at(name), 'utf8');
}

describe('applying a plan', () => {
  it('puts back content, mode, link targets and times of every kind, and is a run itself', () => {
    const here = setting();
    fs.writeFileSync(here.at('file'), 'content', { mode: 0o640 });
    fs.chmodSync(here.at('file'), 0o4751);
    fs.writeFileSync(here.at('empty'), '');
    fs.symlinkSync('no/where', here.at('link'));
    fs.mkdirSync(here.at('d/e'), { recursive: true });
    fs.writeFileSync(here.at('d/e/in'), 'x');
    fs.chmodSync(here.at('d'), 0o750);
    fs.mkdirSync(here.at('sticky'));
    fs.chmodSync(here.at('sticky'), 0o1777);
    fs.utimesSync(here.at('file'), 1_500_000_000, 1_500_000_000);
    fs.lutimesSync(here.at('link'), 1_400_000_000, 1_400_000_000);
    const before = fingerprint(here.ws, { times: true });
    observed(here, () => {
      for (const name of fs.readdirSync(here.ws)) fs.rmSync(here.at(name), { recursive: true });
      fs.writeFileSync(here.at('new'), 'n');
    });
    const report = recovered(here);
    expect(report.exitStatus).toBe(0);
    expect(report.counts).toEqual({ restored: 7, removed: 1, 'already-right': 0, refused: 0 });
    expect(fingerprint(here.ws, { times: true })).toEqual(before);
    expect(report.sealed?.capsule).toMatchObject({
      kind: 'recover',
      recovers: report.recovers,
      outcome: 'passed',
    });
    const { runs } = listRuns(here.context, here.place);
    expect(runs.map(({ runId, state }) => [runId, state])).toEqual([
      [report.recovers, 'sealed'],
      [report.runId, 'sealed'],
    ]);
  });

  it('puts back content that the run kept by a flag, and looks at the workspace as the run did', () => {
    const here = setting();
    fs.mkdirSync(here.at('node_modules'));
    fs.writeFileSync(here.at('node_modules/f'), '1');
    observed(here, () => fs.rmSync(here.at('node_modules/f')), {
      capture: [{ glob: 'node_modules/**', level: 'content' }],
    });
    const report = recovered(here);
    expect(linesOf(report)).toEqual(['restored node_modules/f']);
    expect(report.sealed?.capsule.coverage.lowered).toEqual([]);
    expect(report.exitStatus).toBe(0);
  });

  it('takes the mode of the root back', () => {
    const here = setting();
    fs.chmodSync(here.ws, 0o755);
    observed(here, () => fs.chmodSync(here.ws, 0o700));
    expect(linesOf(recovered(here))).toEqual(['restored .']);
    expect(fs.statSync(here.ws).mode & 0o7777).toBe(0o755);
  });

  it('opens a directory to its owner first, where the run closed it', () => {
    const here = setting();
    fs.mkdirSync(here.at('d'), { mode: 0o755 });
    fs.writeFileSync(here.at('d/f'), '1');
    const before = fingerprint(here.ws);
    observed(here, () => {
      fs.rmSync(here.at('d/f'));
      fs.chmodSync(here.at('d'), 0o555);
    });
    const calls: string[] = [];
    const restore = interceptWrites((call) => {
      if (call.target.startsWith(here.ws) || call.name === 'chmodSync') calls.push(call.name);
    });
    expect(recovered(here).exitStatus).toBe(0);
    restore();
    // Whoever has no privilege could not make the file otherwise.
    expect(calls[0]).toBe('chmodSync');
    expect(fingerprint(here.ws)).toEqual(before);
  });

  it('can be done twice: the second finds nothing to do and leaves no run', () => {
    const here = changedFile();
    recovered(here);
    const { runs } = listRuns(here.context, here.place);
    const again = recovered(here);
    expect(linesOf(again)).toEqual(['already-right f']);
    expect(again).toMatchObject({ exitStatus: 0 });
    expect(again.runId).toBeUndefined();
    expect(listRuns(here.context, here.place).runs).toEqual(runs);
  });

  it('can itself be taken back', () => {
    const here = changedFile();
    recovered(here);
    expect(linesOf(recovered(here, 'last'))).toEqual(['restored f']);
    expect(text(here, 'f')).toBe('2');
  });

  it('touches nothing when the workspace moved after the plan was shown', () => {
    const here = changedFile();
    const request = requestFor(here);
    const shown = planRecover(here.context, request);
    fs.writeFileSync(here.at('f'), 'mine');
    expect(() => applyRecover(here.context, request, shown, 'yes')).toThrowError(
      expect.objectContaining({ code: 'NOT_APPROVED' }) as Error,
    );
    expect(text(here, 'f')).toBe('mine');
    expect(listRuns(here.context, here.place).runs.map(({ state }) => state)).toEqual(['sealed']);
  });

  it('leaves no run behind when the capsule was damaged after the plan was shown', () => {
    const here = changedFile();
    const request = requestFor(here);
    const shown = planRecover(here.context, request);
    const [sums = ''] = found(here.store, 'SHA256SUMS');
    fs.rmSync(sums);
    expect(() => applyRecover(here.context, request, shown, 'yes')).toThrowError(
      expect.objectContaining({ code: expect.stringMatching(/^CAPSULE_/) as string }) as Error,
    );
    expect(text(here, 'f')).toBe('2');
    expect(listRuns(here.context, here.place).runs).toHaveLength(1);
  });

  it('refuses a root that is another directory, and while a run is active', () => {
    const here = changedFile();
    const runs = fs.readdirSync(path.join(here.store, 'workspaces'));
    fs.renameSync(here.ws, `${here.ws}-old`);
    fs.mkdirSync(here.ws);
    expect(() => recovered(here)).toThrowError(expect.objectContaining({ code: 'ROOT_REPLACED' }) as Error);
    fs.rmdirSync(here.ws);
    fs.renameSync(`${here.ws}-old`, here.ws);
    expect(fs.readdirSync(path.join(here.store, 'workspaces'))).toEqual(runs);
    observed(here, () => {
      expect(() => recovered(here)).toThrowError(expect.objectContaining({ code: 'RUN_ACTIVE' }) as Error);
    });
    expect(text(here, 'f')).toBe('2');
  });

  it('refuses also when a run became active after the plan was shown, before it begins one of its own', () => {
    const here = changedFile();
    const request = requestFor(here);
    const shown = planRecover(here.context, request);
    const other = activeRun(here);
    const everything = (): string[] => fingerprint(path.dirname(here.ws), { times: true });
    const left = everything();
    const written: string[] = [];
    const restore = interceptWrites(({ name, target }) => void written.push(`${name} ${target}`));
    expect(() => applyRecover(here.context, request, shown, 'yes')).toThrowError(
      expect.objectContaining({ code: 'RUN_ACTIVE' }) as Error,
    );
    restore();
    other.close();
    expect(written).toEqual([]);
    expect(everything()).toEqual(left);
  });

  it('refuses also when a run became active while it began its own, and leaves none behind', () => {
    const here = changedFile();
    const request = requestFor(here);
    const shown = planRecover(here.context, request);
    const left = fingerprint(here.ws, { times: true });
    let other: ReturnType<typeof activeRun> | undefined;
    let isBegun = false;
    const restore = interceptWrites(() => {
      if (isBegun) return;
      isBegun = true;
      other = activeRun(here);
    });
    expect(() => applyRecover(here.context, request, shown, 'yes')).toThrowError(
      expect.objectContaining({ code: 'RUN_ACTIVE' }) as Error,
    );
    restore();
    const runs = listRuns(here.context, here.place).runs.map(({ runId, state }) => [runId, state]);
    expect(runs).toEqual([
      [shown.runId, 'sealed'],
      [other?.session.runId, 'active'],
    ]);
    other?.close();
    expect(fingerprint(here.ws, { times: true })).toEqual(left);
  });
});

describe('files that get their names', () => {
  const FILES = Array.from({ length: 20 }, (_, i) => `f${i}`);

  /** Recovers many deleted files with another `sync(1)`: what each was before its name, and which of them were synced before that. */
  function recoveredWithSync(script: string): { here: Setting; named: string[]; synced: string[] } {
    const here = setting();
    for (const name of FILES) fs.writeFileSync(here.at(name), name);
    const before = fingerprint(here.ws);
    observed(here, () => {
      for (const name of FILES) fs.rmSync(here.at(name));
    });
    fs.writeFileSync(path.join(here.home, 'sync'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const context = { ...here.context, environment: { PATH: `${here.home}:${process.env['PATH']}` } };
    const synced = new Set<string>();
    const named = new Map<string, boolean>();
    const restore = interceptWrites(({ name, target }) => {
      if (!target.startsWith(here.ws)) return;
      const entry = path.basename(target);
      if (name === 'fsyncSync') synced.add(entry);
      if (name === 'linkSync' && !named.has(entry)) named.set(entry, synced.has(entry));
    });
    const report = recovered({ ...here, context });
    restore();
    expect(report.exitStatus).toBe(0);
    expect(fingerprint(here.ws)).toEqual(before);
    expect(named.size).toBe(FILES.length);
    return {
      here,
      named: [...named.keys()].sort(),
      synced: [...named.keys()].filter((name) => named.get(name)).sort(),
    };
  }

  it('were made durable together before the first of them', () => {
    const { here, named, synced } = recoveredWithSync('ls -A /proc/self/fd/3/ > "${0%/*}/seen"');
    expect(synced).toEqual([]);
    const seen = fs.readFileSync(path.join(here.home, 'seen'), 'utf8').trim().split('\n');
    expect(seen.sort()).toEqual(named);
  });

  it('were made durable one by one where that failed', () => {
    const { named, synced } = recoveredWithSync('exit 1');
    expect(synced).toEqual(named);
  });
});

/** Files of this name anywhere below a directory. */
function found(dir: string, name: string): string[] {
  return fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => path.basename(file) === name)
    .map((file) => path.join(dir, file));
}

describe('a race', () => {
  const isStaging = (call: FsCall): boolean => call.name === 'openSync';
  const isMovingAside = (call: FsCall): boolean => call.name === 'renameSync' && call.target.endsWith('/f');
  /** What stood there is aside, or nothing did. */
  const isPlacing =
    (here: Setting, name = 'f') =>
    (call: FsCall): boolean =>
      call.name === 'linkSync' && !fs.existsSync(here.at(name));

  it('lost before the move: what somebody wrote stays', () => {
    for (const when of [isStaging, isMovingAside]) {
      const here = changedFile();
      const report = recoveredWhile(here, when, () => fs.writeFileSync(here.at('f'), 'mine'));
      expect(linesOf(report)).toEqual(['refused f: changed-during']);
      expect(report.exitStatus).toBe(3);
      expect(text(here, 'f')).toBe('mine');
      expect(names(here)).toEqual(['f']);
    }
  });

  it('with another kind of entry: a directory, a link or nothing is left as it is', () => {
    const cases: [make: (here: Setting) => void, left: string[]][] = [
      [(here) => void fs.mkdirSync(here.at('f/deep'), { recursive: true }), ['f', 'f/deep']],
      [(here) => fs.symlinkSync('/etc/passwd', here.at('f')), ['f']],
      [() => {}, []],
    ];
    for (const [make, left] of cases) {
      const here = changedFile();
      const report = recoveredWhile(here, isMovingAside, () => {
        fs.rmSync(here.at('f'));
        make(here);
      });
      expect(report.counts.refused).toBe(1);
      expect(names(here)).toEqual(left);
    }
    expect(fs.lstatSync('/etc/passwd').isFile()).toBe(true);
  });

  it('for the name while the old entry is aside: theirs stays, and nothing else is left', () => {
    const here = changedFile();
    const report = recoveredWhile(here, isPlacing(here), () => fs.writeFileSync(here.at('f'), 'mine'));
    expect(linesOf(report)).toEqual(['refused f: changed-during']);
    expect(text(here, 'f')).toBe('mine');
    expect(names(here)).toEqual(['f']);
  });

  it('for the name while the old entry is aside, whose content the store has not: it is kept, and the refusal says where', () => {
    const here = setting();
    const f = 'f';
    // The limit is of the policy of the run, and so of its recover.
    const byTheRun = 'x'.repeat(1025);
    fs.writeFileSync(here.at(f), '1');
    observed(here, () => fs.writeFileSync(here.at(f), byTheRun), { limits: { keptFileBytes: 1024 } });
    const { results } = recoveredWhile(here, isPlacing(here, f), () => fs.writeFileSync(here.at(f), 'mine'));
    const [kept = '', ...rest] = names(here).filter((name) => TEMPORARY.test(name));
    expect(rest).toEqual([]);
    expect(text(here, f)).toBe('mine');
    expect(text(here, kept) === byTheRun).toBe(true);
    const detail = expect.stringContaining(path.basename(kept)) as string;
    expect(results).toMatchObject([{ result: 'refused', code: 'changed-during', detail }]);
  });

  it('lost twice: both entries are kept, and the refusal says where', () => {
    const here = changedFile();
    let moves = 0;
    const restore = interceptWrites((call) => {
      if (!call.target.startsWith(here.ws)) return;
      if (isMovingAside(call) && moves++ === 0) fs.writeFileSync(here.at('f'), 'first');
      // The entry that was moved aside is not the expected one and goes back, but somebody has the name.
      if (call.name === 'linkSync' && moves === 1) fs.writeFileSync(here.at('f'), 'second');
    });
    const { results } = recovered(here);
    restore();
    const [kept = '', ...rest] = names(here).filter((name) => TEMPORARY.test(name));
    expect(rest).toEqual([]);
    expect(text(here, 'f')).toBe('second');
    expect(text(here, kept)).toBe('first');
    expect(results).toMatchObject([
      { result: 'refused', code: 'changed-during', detail: expect.stringContaining(kept) as string },
    ]);
  });

  it('with a created file that is to be removed: what somebody wrote stays', () => {
    const here = setting();
    observed(here, () => fs.writeFileSync(here.at('f'), 'run'));
    expect(
      linesOf(recoveredWhile(here, isMovingAside, () => fs.writeFileSync(here.at('f'), 'mine'))),
    ).toEqual(['refused f: changed-during']);
    expect(text(here, 'f')).toBe('mine');
    expect(names(here)).toEqual(['f']);
  });

  it('with a deleted file that comes back: what somebody made stays', () => {
    const here = setting();
    fs.writeFileSync(here.at('f'), '1');
    observed(here, () => fs.rmSync(here.at('f')));
    expect(
      linesOf(recoveredWhile(here, isPlacing(here), () => fs.writeFileSync(here.at('f'), 'mine'))),
    ).toEqual(['refused f: changed-during']);
    expect(text(here, 'f')).toBe('mine');
    expect(names(here)).toEqual(['f']);
  });

  it('with a directory that is to be removed: a file put into it stays', () => {
    const here = setting();
    observed(here, () => {
      fs.mkdirSync(here.at('d'));
      fs.writeFileSync(here.at('d/f'), 'run');
    });
    const report = recoveredWhile(
      here,
      (call) => call.name === 'rmdirSync',
      () => fs.writeFileSync(here.at('d/mine'), 'm'),
    );
    expect(linesOf(report)).toEqual(['refused d: directory-not-empty', 'removed d/f']);
    expect(names(here)).toEqual(['d', 'd/mine']);
  });

  it('with a directory that the run locked: what had to stay has the mode that it was found with', () => {
    const here = setting();
    asOrdinaryUser([path.dirname(here.ws)], () => {
      observed(here, () => {
        fs.mkdirSync(here.at('d/e'), { recursive: true });
        for (const name of ['d/f', 'd/e/f']) fs.writeFileSync(here.at(name), 'run');
        for (const name of ['d/e', 'd']) fs.chmodSync(here.at(name), 0o555);
      });
      const report = recoveredWhile(
        here,
        ({ name, target }) => name === 'rmdirSync' && target.endsWith('/e'),
        () => fs.writeFileSync(here.at('d/e/mine'), 'm'),
      );
      expect(linesOf(report)).toEqual([
        'refused d: directory-not-empty',
        'refused d/e: directory-not-empty',
        'removed d/e/f',
        'removed d/f',
      ]);
      expect(names(here)).toEqual(['d', 'd/e', 'd/e/mine']);
      for (const name of ['d', 'd/e']) expect(fs.statSync(here.at(name)).mode & 0o7777).toBe(0o555);
    });
  });

  it('with a directory that is made again: what somebody made of that name keeps its mode', () => {
    const here = setting();
    fs.mkdirSync(here.at('d'), { mode: 0o700 });
    fs.chmodSync(here.at('d'), 0o750);
    observed(here, () => fs.rmdirSync(here.at('d')));
    const made = recoveredWhile(
      here,
      (call) => call.name === 'mkdirSync',
      () => fs.mkdirSync(here.at('d'), { mode: 0o711 }),
    );
    expect(linesOf(made)).toEqual(['refused d: changed-during']);
    expect(fs.statSync(here.at('d')).mode & 0o7777).toBe(0o711);
  });

  it('with a parent that becomes a link: nothing behind the link is touched', () => {
    const here = setting();
    fs.mkdirSync(here.at('d'));
    for (const name of ['a', 'd/f']) fs.writeFileSync(here.at(name), '1');
    const outside = path.join(here.home, 'd');
    observed(here, () => {
      for (const name of ['a', 'd/f']) fs.writeFileSync(here.at(name), '2');
    });
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, 'f'), '2');
    const outsideBefore = fingerprint(here.home, { times: true });
    const report = recoveredWhile(
      here,
      (call) => call.target.endsWith('/a'),
      () => {
        fs.renameSync(here.at('d'), here.at('moved'));
        fs.symlinkSync(outside, here.at('d'));
      },
    );
    expect(linesOf(report)).toEqual(['restored a', 'refused d/f: parent-is-link']);
    expect(fingerprint(here.home, { times: true })).toEqual(outsideBefore);
    expect(text(here, 'moved/f')).toBe('2');
  });

  it('with a parent that is moved while it is held: the file is restored where its directory went, and nowhere else', () => {
    const here = setting();
    fs.mkdirSync(here.at('d'));
    fs.writeFileSync(here.at('d/f'), '1');
    observed(here, () => fs.writeFileSync(here.at('d/f'), '2'));
    recoveredWhile(here, isMovingAside, () => {
      fs.renameSync(here.at('d'), here.at('moved'));
      fs.mkdirSync(here.at('d'));
      fs.writeFileSync(here.at('d/f'), 'mine');
    });
    expect(text(here, 'd/f')).toBe('mine');
    expect(text(here, 'moved/f')).toBe('1');
    expect(names(here)).toEqual(['d', 'd/f', 'moved', 'moved/f']);
  });
});

describe('a system call that fails', () => {
  it.each([
    ['openSync', 'EROFS', 'not-permitted'],
    ['openSync', 'EACCES', 'not-permitted'],
    ['openSync', 'ENOSPC', 'failed'],
    ['writeSync', 'EIO', 'failed'],
    ['writeSync', 'EDQUOT', 'failed'],
    ['fchmodSync', 'EPERM', 'not-permitted'],
    ['renameSync', 'EPERM', 'not-permitted'],
    ['linkSync', 'EPERM', 'not-permitted'],
    ['linkSync', 'ENOTSUP', 'failed'],
  ] as const)('%s: %s refuses the path as %s, which is left as it was', (name, code, refusal) => {
    const here = changedFile();
    const left = fingerprint(here.ws, { times: true });
    const report = recoveredFailing(here, name, code);
    expect(linesOf(report)).toEqual([`refused f: ${refusal}`]);
    expect(report.exitStatus).toBe(3);
    expect(fingerprint(here.ws, { times: true })).toEqual(left);
  });

  it('leaves no directory behind that could not get its mode, and puts back what made way for it', () => {
    const here = setting();
    for (const name of ['d', 'e']) fs.mkdirSync(here.at(name), { mode: 0o755 });
    fs.writeFileSync(here.at('d/in'), '1');
    observed(here, () => {
      for (const name of ['d', 'e']) fs.rmSync(here.at(name), { recursive: true });
      fs.writeFileSync(here.at('e'), 'made');
    });
    const left = fingerprint(here.ws, { times: true });
    const restore = interceptWrites(({ name, target }) => {
      if (name === 'chmodSync' && target.startsWith(here.ws)) throw systemError('EPERM');
    });
    expect(linesOf(recovered(here))).toEqual([
      'refused d: not-permitted',
      'refused d/in: parent-changed',
      'refused e: not-permitted',
    ]);
    restore();
    expect(fingerprint(here.ws, { times: true })).toEqual(left);
  });

  it('leaves the other paths to be recovered', () => {
    const here = setting();
    for (const name of ['a', 'b', 'c']) fs.writeFileSync(here.at(name), '1');
    observed(here, () => {
      for (const name of ['a', 'b', 'c']) fs.writeFileSync(here.at(name), '2');
    });
    const restore = interceptWrites((call) => {
      if (call.name === 'renameSync' && call.target.endsWith('/b')) throw systemError('EACCES');
    });
    expect(linesOf(recovered(here))).toEqual(['restored a', 'refused b: not-permitted', 'restored c']);
    restore();
    expect(names(here)).toEqual(['a', 'b', 'c']);
    expect(linesOf(recovered(here))).toEqual(['already-right a', 'restored b', 'already-right c']);
  });

  it('after the last path reports what was done: the store is full, or the disk fails', () => {
    const cases: [fails: (here: Setting, call: FsCall) => boolean, error: string, code: string][] = [
      [(here, { target }) => target.startsWith(here.store), 'ENOSPC', 'STORE_FULL'],
      [(here, { name, target }) => name === 'fsyncSync' && target.startsWith(here.ws), 'EIO', 'SEAL_FAILED'],
    ];
    for (const [fails, error, code] of cases) {
      const here = changedFile();
      let isPlaced = false;
      const restore = interceptWrites((call) => {
        if (isPlaced && fails(here, call)) throw systemError(error);
        if (call.name === 'linkSync' && call.target.startsWith(here.ws)) isPlaced = true;
      });
      const report = recovered(here);
      restore();
      expect(linesOf(report)).toEqual(['restored f']);
      expect(report).toMatchObject({ exitStatus: 3, sealError: { code } });
      expect(report.sealed).toBeUndefined();
      expect(text(here, 'f')).toBe('1');
      expect(names(here)).toEqual(['f']);
    }
  });

  it('content-damaged: damaged content is never put in place', () => {
    const here = setting();
    fs.writeFileSync(here.at('f'), 'the content to be damaged');
    observed(here, () => fs.writeFileSync(here.at('f'), '2'));
    for (const name of fs.readdirSync(here.store, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.pack')) continue;
      const file = path.join(here.store, name);
      const bytes = fs.readFileSync(file, 'latin1').replace('the content to be', 'THE content to be');
      fs.chmodSync(file, 0o600);
      fs.writeFileSync(file, bytes, 'latin1');
    }
    expect(linesOf(recovered(here))).toEqual(['refused f: content-damaged']);
    expect(text(here, 'f')).toBe('2');
    expect(names(here)).toEqual(['f']);
  });
});
