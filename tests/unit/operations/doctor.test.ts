import realFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AgentdiffError } from '../../../src/core/index.ts';
import { budgetCheck } from '../../../src/operations/doctor/store-figures.ts';
import { type DoctorReport, examineMachine, examineRun } from '../../../src/operations/doctor.ts';
import { pretendToClone } from '../../support/cloning.ts';
import { interceptWrites, systemError } from '../../support/fs-calls.ts';
import { storePath } from '../../support/retention.ts';
import { observed, type Setting, setting } from '../../support/context.ts';
import { fingerprint } from '../../support/fingerprint.ts';
import { Session } from '../../../src/operations/workspace/session.ts';
import { findRoot } from '../../../src/operations/workspace/root.ts';
import { builtInPolicy } from '../../../src/policy/index.ts';

const examine = async (here: Setting): Promise<DoctorReport> =>
  await examineMachine(here.context, here.place);
const statusOf = ({ checks }: DoctorReport, id: string): string | undefined =>
  checks.find((check) => check.id === id)?.status;

describe('examining the machine', () => {
  it('tries everything, and leaves nothing in the store', async () => {
    const here = setting();
    const report = await examine(here);
    expect(report.checks.map(({ id }) => id)).toEqual([
      'root',
      'policy',
      'store',
      'free-space',
      'anchored',
      'no-follow',
      'clone',
      'hard-links',
      'names',
      'clock',
      'overlay',
      'terminal',
      'git',
      'strace',
      'srt',
      'unsealed',
      'kept',
      'capsules',
      'store-budget',
    ]);
    for (const id of ['root', 'store', 'anchored', 'no-follow', 'hard-links', 'unsealed', 'store-budget'])
      expect([id, statusOf(report, id)]).toEqual([id, 'ok']);
    for (const { status } of report.checks) expect(['ok', 'limited', 'missing']).toContain(status);
    expect(fs.readdirSync(here.store)).toEqual([]);
    expect(fs.statSync(here.store).mode & 0o7777).toBe(0o700);
    expect(fingerprint(here.ws)).toEqual([]);
  });

  it('says of a program what it is without, and never fails for it', async () => {
    const here = setting();
    const report = await examineMachine({ ...here.context, environment: { PATH: here.home } }, here.place);
    for (const id of ['git', 'strace', 'srt', 'overlay'])
      expect([id, statusOf(report, id)]).toEqual([id, 'missing']);
    fs.writeFileSync(path.join(here.home, 'git'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const broken = await examineMachine({ ...here.context, environment: { PATH: here.home } }, here.place);
    expect(statusOf(broken, 'git')).toBe('missing');
  });

  it('finds a store that cannot be made, or that is not the caller`s alone', async () => {
    const here = setting();
    fs.writeFileSync(path.join(here.home, 'file'), '');
    const under = await examineMachine(here.context, {
      ...here.place,
      store: path.join(here.home, 'file', 'store'),
    });
    expect(statusOf(under, 'store')).toBe('failed');
    expect(under.checks.find(({ id }) => id === 'store')?.detail).toMatch(/\[STORE_[A-Z_]+\]$/);
    fs.mkdirSync(here.store);
    fs.chmodSync(here.store, 0o777);
    const open = await examine(here);
    expect(statusOf(open, 'store')).toBe('failed');
    expect(open.checks.find(({ id }) => id === 'store')?.detail).toContain('[STORE_NOT_OWNED]');
    expect(fs.readdirSync(here.store)).toEqual([]);
  });

  it('goes on with what needs no store where there is none', async () => {
    const here = setting();
    const store = path.join(here.home, 'file', 'store');
    fs.writeFileSync(path.join(here.home, 'file'), '');
    const { checks } = await examineMachine(here.context, { ...here.place, store });
    expect(checks.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['root', 'terminal', 'git', 'unsealed']),
    );
  });

  it('works in a directory whose name says that it may go, should it be killed', async () => {
    const here = setting();
    const seen = path.join(here.home, 'seen');
    const script = `#!/bin/sh\n/bin/ls -A '${here.store}' > '${seen}'\n`;
    fs.writeFileSync(path.join(here.home, 'unshare'), script, { mode: 0o755 });
    await examineMachine({ ...here.context, environment: { PATH: here.home } }, here.place);
    expect(fs.readFileSync(seen, 'utf8')).toMatch(/^\.agentdiff-tmp-[0-9a-f]+\n$/);
    expect(fs.readdirSync(here.store)).toEqual([]);
  });

  it('says that files can be cloned where a clone was made, and else that they are copied', async () => {
    const cloneCheck = async () => (await examine(setting())).checks.find(({ id }) => id === 'clone');
    onTestFinished(pretendToClone());
    expect(await cloneCheck()).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('can be cloned'),
    });
    const refuse = (): never => {
      throw systemError('ENOTSUP');
    };
    onTestFinished(pretendToClone({ before: refuse }));
    expect(await cloneCheck()).toMatchObject({
      status: 'missing',
      detail: expect.stringContaining('copied'),
    });
  });

  it('says which policy is in force, and what is wrong with its file', async () => {
    const here = setting();
    const policy = async () => (await examine(here)).checks.find(({ id }) => id === 'policy');
    expect(await policy()).toMatchObject({ status: 'ok', detail: expect.stringContaining('built in') });
    const text = 'version: 1\nlimits:\n  storeBytes: 1 GiB\n';
    fs.writeFileSync(here.at('agentdiff.yaml'), text);
    expect(await policy()).toMatchObject({ status: 'ok' });
    expect((await policy())?.detail).toContain('limits storeBytes');
    fs.writeFileSync(here.at('agentdiff.yaml'), text.replace('1 GiB', '1 GB'));
    expect(await policy()).toMatchObject({ status: 'failed' });
    expect((await policy())?.detail).toMatch(
      /agentdiff\.yaml:3:15: limits\.storeBytes: .*\[POLICY_INVALID\]/,
    );
    fs.writeFileSync(here.at('other.json'), '{"version": 1}');
    const named = await examineMachine(here.context, here.place, here.at('other.json'));
    expect(statusOf(named, 'policy')).toBe('ok');
  });

  it('says once what is wrong with a policy file, and has figures all the same', async () => {
    const here = setting();
    observed(here, () => {});
    fs.writeFileSync(here.at('agentdiff.yaml'), 'version: 1\nlimits:\n  storeBytes: 1 GB\n');
    const { checks, figures } = await examine(here);
    const saying = checks.filter(({ detail }) => detail.includes('POLICY_INVALID'));
    expect(saying.map(({ id }) => id)).toEqual(['policy']);
    expect(saying[0]?.advice).not.toContain('doctor');
    expect(checks.find(({ id }) => id === 'store-budget')?.status).toBe('limited');
    expect(figures).toMatchObject({ capsules: 1, budgetBytes: 'unknown' });
  });

  it('says of a root how it was found as the other commands do', async () => {
    const here = setting();
    const { checks } = await examine(here);
    expect(checks.find(({ id }) => id === 'root')?.detail).toMatch(/ \(given by --root\)$/);
  });

  it('gives the space of a small file system in a unit that shows it', async () => {
    const here = setting();
    const original = realFs.statfsSync;
    onTestFinished(() => {
      realFs.statfsSync = original;
      syncBuiltinESMExports();
    });
    const small = { bsize: 1024, blocks: 2048, bavail: 1024 };
    realFs.statfsSync = ((file: fs.PathLike) => Object.assign(original(file), small)) as typeof original;
    syncBuiltinESMExports();
    const space = (await examine(here)).checks.find(({ id }) => id === 'free-space');
    expect(space?.detail).toMatch(/^1\.0 MiB of 2\.0 MiB on/);
  });

  it('names a capsule that changed since the seal', async () => {
    const here = setting();
    const runId = observed(here, () => fs.writeFileSync(here.at('f'), '1'));
    observed(here, () => fs.writeFileSync(here.at('f'), '2'));
    expect(statusOf(await examine(here), 'capsules')).toBe('ok');
    fs.appendFileSync(storePath(here, 'capsules', runId, 'changes.jsonl'), '{}\n');
    const found = (await examine(here)).checks.find(({ id }) => id === 'capsules');
    expect(found).toMatchObject({ status: 'limited', detail: expect.stringContaining(`${runId} [CAPSULE_`) });
  });

  it('tries the workspace`s part of the store where only that may be written, as a run does', async () => {
    const here = setting();
    observed(here, () => {});
    const own = storePath(here);
    onTestFinished(
      interceptWrites(({ target }) => {
        if (target.startsWith(`${fs.realpathSync(here.store)}/.agentdiff-tmp-`)) throw systemError('EACCES');
      }),
    );
    const before = fs.readdirSync(own);
    const report = await examine(here);
    expect([statusOf(report, 'store-writable'), statusOf(report, 'hard-links')]).toEqual([undefined, 'ok']);
    expect(fs.readdirSync(own)).toEqual(before);
  });

  it('counts what the newest run did not keep, without a scan', async () => {
    const here = setting();
    const kept = async () => (await examine(here)).checks.find(({ id }) => id === 'kept');
    expect(await kept()).toMatchObject({ status: 'ok' });
    fs.mkdirSync(here.at('node_modules'));
    fs.writeFileSync(here.at('node_modules/a'), '');
    observed(here, () => {});
    expect(await kept()).toMatchObject({ status: 'limited' });
    expect((await kept())?.detail).toContain('1 place at level structure (regenerable: node_modules');
  });

  it('finds a root that a run would refuse', async () => {
    const here = setting();
    expect(statusOf(await examine(here), 'root')).toBe('ok');
    const home = await examineMachine(here.context, { ...here.place, root: here.home });
    expect(statusOf(home, 'root')).toBe('failed');
    const gone = await examineMachine(here.context, { ...here.place, root: here.at('gone') });
    expect(statusOf(gone, 'root')).toBe('failed');
  });

  it('lists runs that were interrupted', async () => {
    const here = setting();
    const root = findRoot(here.context, here.place);
    const session = Session.open(here.context, here.place, root, 'outside', {
      kind: 'run',
      argv: ['x'],
      policy: builtInPolicy(),
      whenFull: 'stop',
    });
    session.snapshotBefore();
    expect(statusOf(await examine(here), 'unsealed')).toBe('ok');
    // Its process is this one, which lives; so another one is written down.
    for (const name of fs.readdirSync(here.store, { recursive: true, encoding: 'utf8' })) {
      if (!/pending\/[^/]+\/(owner|intent)[^/]*$/.test(name)) continue;
      const file = path.join(here.store, name);
      fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(/"startTime":"\d+"/, '"startTime":"1"'));
    }
    const report = await examine(here);
    expect(report.checks.find(({ id }) => id === 'unsealed')).toMatchObject({
      status: 'limited',
      detail: expect.stringContaining(session.runId) as string,
    });
    session.close();
    root.dir.close();
  });
});

describe('examining a run', () => {
  it('says path by path what could be recovered right now, and what the capsule is worth; and changes nothing', () => {
    const here = setting();
    for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), '1');
    const runId = observed(here, () => {
      for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), '2');
    });
    fs.writeFileSync(here.at('b'), 'mine');
    const everything = (): string[] => fingerprint(path.dirname(here.ws), { times: true });
    const before = everything();
    const { plan, capsule, ...rest } = examineRun(here.context, here.place, 'last');
    expect(rest).toEqual({
      runId,
      lowered: { groups: [], cut: false, unobserved: { total: 0, examples: [] } },
    });
    if (plan instanceof AgentdiffError) throw plan;
    expect(plan.steps.map(({ path: at, verdict, code }) => [at, verdict, code])).toEqual([
      ['a', 'apply', undefined],
      ['b', 'refused', 'changed-since'],
    ]);
    expect(capsule).toMatchObject({ verdict: 'holds', runId });
    expect(everything()).toEqual(before);
  });

  it('says what a damaged capsule is worth, and why no recover would rely on it', () => {
    const here = setting();
    fs.writeFileSync(here.at('a'), '1');
    const runId = observed(here, () => fs.writeFileSync(here.at('a'), '2'));
    const name = fs
      .readdirSync(here.store, { recursive: true, encoding: 'utf8' })
      .find((one) => one.endsWith(`${runId}/changes.jsonl`));
    fs.rmSync(path.join(here.store, name ?? ''));
    const { plan, capsule } = examineRun(here.context, here.place, 'last');
    expect(capsule.verdict).toBe('fails');
    expect(plan).toMatchObject({ code: 'CAPSULE_DAMAGED' });
  });

  it('says what the capsule is worth also where its root is another one now', () => {
    const here = setting();
    observed(here, () => fs.writeFileSync(here.at('a'), ''));
    fs.renameSync(here.ws, `${here.ws}-old`);
    fs.mkdirSync(here.ws);
    const { plan, capsule } = examineRun(here.context, here.place, 'last');
    expect(capsule.verdict).toBe('holds');
    expect(plan).toMatchObject({ code: 'ROOT_REPLACED' });
  });
});

describe('the figures of the store', () => {
  it('name what each run costs, newest first, and say so when the store is over its budget', async () => {
    const here = setting();
    const first = observed(here, () => fs.writeFileSync(here.at('f'), Buffer.alloc(100_000, 'f')));
    const second = observed(here, () => {});
    const { figures, checks } = await examine(here);
    expect(figures).toMatchObject({ capsules: 2, pins: 0, pending: 0, leftovers: { count: 0 } });
    expect(figures?.runs.map(({ runId }) => runId)).toEqual([second, first]);
    expect(figures?.runs[0]?.objects.bytes).toBe(0);
    expect(figures?.runs[1]?.objects.bytes).toBeGreaterThan(100_000);
    expect(checks.find(({ id }) => id === 'store-budget')?.status).toBe('ok');
    const over = budgetCheck({ ...(figures as NonNullable<typeof figures>), budgetBytes: 1 });
    expect(over).toMatchObject({ status: 'limited', advice: expect.stringContaining('agentdiff gc') });
  });
});
