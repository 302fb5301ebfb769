/** A capsule that was altered is known as such by every command that reads it, and no recover relies on it. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { expectError, expectIntact, recover, skipUnless } from '../support/reports.ts';

const MEMBERS = ['capsule.json', 'changes.jsonl', 'events.jsonl', 'policy.json'];

/** A sealed run that removed one file; its capsule's members may be written to. */
function sandboxWithRun(): { box: Sandbox; capsule: string } {
  const box = sandbox();
  box.bash('echo 1 > f; T run -- rm f');
  const capsule = box.newestCapsule();
  box.bash(`chmod u+w '${capsule}' '${capsule}'/*`);
  return { box, capsule };
}

interface Verdict {
  readonly verdict: string;
  readonly claims: readonly {
    claim: string;
    status: string;
    findings: readonly { code: string; where?: { path: string } }[];
  }[];
}

function verdictOf(box: Sandbox, ref = 'last'): Verdict {
  return box.json(['verify', ref]).capsules[0];
}

/** `claim: code member` of everything that verify found. */
function findingsOf(box: Sandbox): string[] {
  return verdictOf(box).claims.flatMap(({ claim, findings }) =>
    findings.map(({ code, where }) => `${claim}: ${code} ${where?.path ?? ''}`.trim()),
  );
}

/** Verify says 1, show warns, recover and a dry run refuse with 4, and nothing in workspace or store moves. */
function expectRefused(box: Sandbox, member: string): void {
  const [ws, store] = [fingerprint(box.ws), fingerprint(box.store)];
  const verified = box.agentdiff(['verify']);
  expect(verified.status, verified.stdout).toBe(1);
  expect(verified.stdout).toMatch(/^ +files-intact +fails/m);
  expect(verified.stdout).toContain(member);
  for (const flags of [['--yes'], ['--dry-run']]) {
    const ended = box.agentdiff(['recover', ...flags]);
    expect(ended.status, ended.stderr).toBe(4);
    expect(ended.stderr).toMatch(/\[CAPSULE_(DAMAGED|INVALID)\]/);
  }
  expect(fingerprint(box.ws)).toEqual(ws);
  expect(fingerprint(box.store)).toEqual(store);
}

const hasSha256sum = spawnSync('sha256sum', ['--version']).status === 0;

/** What anyone can find out without any tool of ours. */
function sha256sum(capsule: string): number | null {
  return spawnSync('sha256sum', ['--strict', '-c', 'SHA256SUMS'], { cwd: capsule }).status;
}

describe('T1: one member', () => {
  it.each(MEMBERS)('edited, by one byte: %s', (member) => {
    const { box, capsule } = sandboxWithRun();
    const file = path.join(capsule, member);
    const bytes = fs.readFileSync(file);
    const at = Math.floor(bytes.length / 2);
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    fs.writeFileSync(file, bytes);
    expect(findingsOf(box)).toContain(`files-intact: changed ${member}`);
    expectRefused(box, member);
    if (hasSha256sum) expect(sha256sum(capsule)).toBe(1);
    const shown = box.agentdiff(['show']);
    expect(shown.status).not.toBe(0);
    expect(shown.stdout + shown.stderr).toContain(member);
  });

  it.each([...MEMBERS, 'SHA256SUMS'])('removed: %s', (member) => {
    const { box, capsule } = sandboxWithRun();
    fs.rmSync(path.join(capsule, member));
    expect(findingsOf(box)).toContain(`files-intact: missing ${member}`);
    expectRefused(box, member);
    if (hasSha256sum) expect(sha256sum(capsule)).toBe(1);
  });

  it('added: an extra file', () => {
    const { box, capsule } = sandboxWithRun();
    fs.writeFileSync(path.join(capsule, 'notes.txt'), 'x');
    expect(findingsOf(box)).toEqual(['files-intact: extra notes.txt']);
    expectRefused(box, 'notes.txt');
    const shown = box.agentdiff(['show']);
    expect(shown).toMatchObject({ status: 1, stderr: '' });
    expect(shown.stdout).toMatch(/NOT INTACT +notes\.txt/);
    expect(shown.stdout).toContain('deleted  f');
  });

  it('replaced by a link to an equal copy', () => {
    const { box, capsule } = sandboxWithRun();
    const file = path.join(capsule, 'changes.jsonl');
    fs.renameSync(file, path.join(box.home, 'copy'));
    fs.symlinkSync(path.join(box.home, 'copy'), file);
    expect(findingsOf(box)).toContain('files-intact: not-a-file changes.jsonl');
    expectRefused(box, 'changes.jsonl');
  });

  it('with another mode: what it says is the same, so it is intact', () => {
    const { box, capsule } = sandboxWithRun();
    fs.chmodSync(path.join(capsule, 'changes.jsonl'), 0o755);
    expect(verdictOf(box).verdict).toBe('holds');
    expect(recover(box)).toEqual({ status: 0, results: ['restored f'] });
  });

  it.each(MEMBERS)('cut short is said to be cut short, not edited: %s', (member) => {
    const { box, capsule } = sandboxWithRun();
    const file = path.join(capsule, member);
    fs.truncateSync(file, fs.statSync(file).size - 10);
    expect(findingsOf(box)).toContain(`files-intact: cut-short ${member}`);
    expectRefused(box, member);
  });
});

describe('show, list and verify of a damaged capsule', () => {
  it.each([
    ['changes.jsonl is cut', 'truncate -s -10 changes.jsonl', 'changes'],
    ['events.jsonl is a link', 'mv events.jsonl ../e; ln -s ../e events.jsonl', 'events'],
    ['events.jsonl is missing', 'rm events.jsonl', 'events'],
    ['the manifest is missing', 'rm SHA256SUMS', 'digest'],
  ])('shows the rest when %s', (_, harm, part) => {
    const { box, capsule } = sandboxWithRun();
    box.bash(`cd '${capsule}' && ${harm}`);
    const shown = box.agentdiff(['show']);
    expect(shown).toMatchObject({ status: 1, stderr: '' });
    expect(shown.stdout).toMatch(/NOT INTACT/);
    expect(shown.stdout).toContain('command    rm f');
    const json = box.json(['show']);
    expect(json.unreadable).toMatchObject([{ part }]);
    expect(json.changes).toHaveLength(part === 'changes' ? 0 : 1);
  });

  it('names the next step when capsule.json cannot be read', () => {
    const { box, capsule } = sandboxWithRun();
    fs.writeFileSync(path.join(capsule, 'capsule.json'), '{}\n');
    const shown = box.agentdiff(['show']);
    expectError(shown, 'CAPSULE_INVALID', 4);
    expect(shown.stderr.split('\n')[1]).toContain(`agentdiff verify ${path.basename(capsule)}`);
  });

  it.each([
    ['an extra file', 'touch extra'],
    ['a missing file', 'rm events.jsonl'],
    ['a link', 'mv events.jsonl ../e; ln -s ../e events.jsonl'],
  ])('list marks it as damaged, without reading it: %s', (_, harm) => {
    const { box, capsule } = sandboxWithRun();
    expect(box.json(['list']).runs).toMatchObject([{ state: 'sealed' }]);
    box.bash(`cd '${capsule}' && ${harm}`);
    expect(box.json(['list']).runs).toMatchObject([
      { state: 'damaged', problem: 'CAPSULE_DAMAGED', kind: 'run' },
    ]);
    expect(box.agentdiff(['list']).stdout).toContain('damaged');
  });

  it('says what is wrong in words, where it is, and under the run id', () => {
    const { box, capsule } = sandboxWithRun();
    fs.writeFileSync(path.join(capsule, 'SHA256SUMS'), 'x\n');
    const { stdout } = box.agentdiff(['verify']);
    expect(stdout.startsWith(`${path.basename(capsule)}: `)).toBe(true);
    expect(stdout).not.toMatch(/file is (extra|not-a-file|malformed)/);
    expect(findingsOf(box)).toContain('schema-valid: malformed SHA256SUMS');
  });

  it('a directory that never was a capsule is one error, not a list of its files', () => {
    const box = sandbox();
    box.bash('touch a b');
    expectError(box.agentdiff(['verify', '.']), 'CAPSULE_NOT_FOUND', 2);
  });
});

it('T1: taken apart in every other way it is refused in a line or two, and never a crash', () => {
  const { box, capsule } = sandboxWithRun();
  const whole = path.join(box.home, 'whole');
  fs.cpSync(capsule, whole, { recursive: true });
  const harms: readonly [string, () => void][] = [
    ['empty directory', () => fs.mkdirSync(capsule)],
    ['a file in its place', () => fs.writeFileSync(capsule, 'x')],
    ['a link to it', () => fs.symlinkSync(whole, capsule)],
    [
      'empty members',
      () => (
        fs.mkdirSync(capsule),
        [...MEMBERS, 'SHA256SUMS'].forEach((name) => fs.writeFileSync(path.join(capsule, name), ''))
      ),
    ],
    [
      'a fifo as manifest',
      () => (
        fs.cpSync(whole, capsule, { recursive: true }),
        fs.rmSync(path.join(capsule, 'SHA256SUMS')),
        void box.bash(`mkfifo '${capsule}/SHA256SUMS'`)
      ),
    ],
  ];
  for (const [name, harm] of harms) {
    fs.rmSync(capsule, { recursive: true, force: true });
    harm();
    for (const command of [
      ['verify'],
      ['show'],
      ['diff'],
      ['recover', '--yes'],
      ['doctor', 'last'],
      ['list'],
    ]) {
      const ended = box.agentdiff(command);
      const said = `${name}: ${command.join(' ')}: ${ended.status} ${ended.stderr}`;
      expect(ended.stderr, said).not.toMatch(/INTERNAL|^ +at /m);
      expect(ended.stderr.trimEnd().split('\n').length, said).toBeLessThanOrEqual(2);
      if (command[0] !== 'list') expect(ended.status, said).not.toBe(0);
    }
  }
  expect(fs.readdirSync(box.ws)).toEqual([]);
});

it('T2: a capsule rewritten with its checksums is intact, is said not to be authentic, and fails against a digest kept elsewhere', (context) => {
  skipUnless(context, hasSha256sum, 'there is no sha256sum');
  const box = sandbox();
  const ended = box.bash('echo 1 > f; T run --task "honest work" -- rm f');
  const digest = /digest ([0-9a-f]{64})/.exec(ended.stderr)?.[1] ?? '';
  expect(box.agentdiff(['verify', '--expect', digest]).status).toBe(0);
  const capsule = box.newestCapsule();
  const forged = box.bash(
    `cd '${capsule}'; chmod u+w . *; sed -i 's/honest work/other works/' capsule.json; sha256sum *.json *.jsonl | LC_ALL=C sort -k2 > SHA256SUMS; sha256sum -c SHA256SUMS`,
  );
  expect(forged.status, forged.stderr).toBe(0);
  const verified = box.agentdiff(['verify']);
  expect(verified.status, verified.stdout).toBe(0);
  expect(verified.stdout).toMatch(/intact is not authentic/);
  const expected = box.agentdiff(['verify', '--expect', digest]);
  expect(expected.status).toBe(1);
  expect(expected.stdout).toContain('expected-digest');
});

it('T3: a newer format is named as such, refused with 4, and never called corrupt', (context) => {
  skipUnless(context, hasSha256sum, 'there is no sha256sum');
  const { box, capsule } = sandboxWithRun();
  box.bash(
    `cd '${capsule}'; sed -i 's/"format":1/"format":2/' capsule.json; sha256sum *.json *.jsonl | LC_ALL=C sort -k2 > SHA256SUMS`,
  );
  const verified = box.agentdiff(['verify']);
  expect(verified.status).toBe(4);
  expect(verified.stdout).toMatch(/format 2.*up to 1/);
  expect(verified.stdout).not.toMatch(/corrupt|damaged|fails/i);
  expectError(box.agentdiff(['recover', '--yes']), 'CAPSULE_VERSION', 4);
  expectError(box.agentdiff(['recover', '--dry-run']), 'CAPSULE_VERSION', 4);
  expect(fs.readdirSync(box.ws)).toEqual([]);
});

it('sha256sum and verify agree about every sealed capsule, of runs and of recovers', (context) => {
  skipUnless(context, hasSha256sum, 'there is no sha256sum');
  const box = sandbox();
  box.bash('echo 1 > f; T run -- rm f; T recover --yes; T run -- no-such-command; T run -- true');
  const capsules = path.dirname(box.newestCapsule());
  const ids = fs.readdirSync(capsules);
  expect(ids).toHaveLength(4);
  for (const id of ids) {
    expect(sha256sum(path.join(capsules, id))).toBe(0);
    // By id, by prefix, by path from anywhere: one capsule.
    expect(verdictOf(box, id).verdict).toBe('holds');
    expect(box.agentdiff(['verify', path.join(capsules, id)], { cwd: box.home }).status).toBe(0);
    expect(fs.readdirSync(path.join(capsules, id)).sort()).toEqual(['SHA256SUMS', ...MEMBERS].sort());
  }
  expectIntact(box);
});

it('content that is gone from the store, or is not what it was, is found by verify and refused by recover, path by path', () => {
  const box = sandbox();
  // Over 1 MiB each, so that each content is a file of its own.
  box.bash('for n in a b c; do (echo $n; head -c 2000000 /dev/zero) > $n; done; echo 1 > d');
  box.bash('T run -- rm a b c d');
  const large = box.bash(
    `cd "$AGENTDIFF_STORE"/workspaces/*/large; for f in */*; do echo "$(head -c 1 $f) $PWD/$f"; done`,
  ).stdout;
  const object = (name: string): string => new RegExp(`^${name} (.*)$`, 'm').exec(large)?.[1] ?? '';
  fs.rmSync(object('a'));
  fs.chmodSync(object('b'), 0o600);
  fs.appendFileSync(object('b'), 'x');
  const findings = verdictOf(box).claims.find(({ claim }) => claim === 'objects-present')?.findings ?? [];
  expect(findings.map(({ code, where }) => `${code} ${where?.path}`)).toEqual(['missing a', 'damaged b']);
  expect(box.agentdiff(['verify']).status).toBe(1);
  expect(recover(box)).toEqual({
    status: 3,
    results: ['refused a: content-missing', 'refused b: content-damaged', 'restored c', 'restored d'],
  });
  expect(fs.readdirSync(box.ws).sort()).toEqual(['c', 'd']);
});
