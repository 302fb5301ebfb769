/** What others do at the same time or afterwards is theirs: it is seen where it can be, and never undone. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { changesOf, expectIntact, expectPlainReports, recover, shownChanges } from '../support/reports.ts';

it('R1: a file that is written all the while has one consistent content or none', () => {
  const box = sandbox();
  box.bash('echo 1 > g');
  const script = `(while :; do head -c 5M /dev/urandom > f; done) & P=$!; until [ -s f ]; do sleep 0.01; done; T run -- sh -c 'echo 2 > g'; s=$?; kill $P; wait; exit $s`;
  expect(box.bash(script).status).toBe(0);
  expectIntact(box);
  const f = shownChanges(box).find(({ path }) => path === 'f');
  const { coverage } = box.json(['show']).capsule;
  const isNamed = [...coverage.unobserved.before, ...coverage.unobserved.after].some(
    ({ path }) => path === 'f',
  );
  expect(coverage.complete).toBe(!isNamed);
  const before = fingerprint(box.ws).filter((line) => line.endsWith('"f"'));
  const { status, results } = recover(box);
  expect(results).toContain('restored g');
  expect(status).toBe(f === undefined ? 0 : 3);
  expect(fingerprint(box.ws).filter((line) => line.endsWith('"f"'))).toEqual(before);
});

/** Runs agentdiff `times` over while `work` is done round after round; each command lasts for two rounds at least. The statuses of the runs. */
function besideWriter(box: Sandbox, work: string, times: number): string {
  return box.bash(`(i=0; until [ -e ~/stop ] || [ $i -ge 200000 ]; do i=$((i+1)); ${work}; printf . >> ~/rounds; done) &
    rounds() { stat -c %s ~/rounds 2>/dev/null || echo 0; }
    until [ "$(rounds)" -gt 1 ]; do :; done
    for n in $(seq ${times}); do
      T run -- sh -c 'began=$(stat -c %s ~/rounds); until [ "$(stat -c %s ~/rounds)" -gt $((began + 1)) ]; do :; done' 2>> ~/stderr
      echo "$?"
    done
    touch ~/stop; wait`).stdout;
}

it('R1: a file that is replaced all the while is one of those that stood there, never a mixture', () => {
  const box = sandbox();
  const versions = Array.from({ length: 20 }, (_, i) => Buffer.alloc(1 << 20, String.fromCharCode(65 + i)));
  versions.forEach((bytes, i) => fs.writeFileSync(path.join(box.home, `v${i}`), bytes));
  fs.copyFileSync(path.join(box.home, 'v0'), path.join(box.ws, 'f'));
  const work = 'cp ~/v$((i % 20)) new; mv new f';
  expect(besideWriter(box, work, 5)).toBe('0\n'.repeat(5));
  expectIntact(box);
  const known = new Set(versions.map((bytes) => createHash('sha256').update(bytes).digest('hex')));
  let seen = 0;
  for (const { runId } of box.json(['list']).runs) {
    for (const { path: at, before, after } of box.json(['show', runId]).changes) {
      if (at !== 'f') continue;
      for (const { content } of [before, after].flatMap((side) => (side === undefined ? [] : [side.state]))) {
        // Replaced twice while it was looked at, it is named and has no content.
        if (content.is === 'unknown') expect(content.reason).toBe('unstable');
        else expect(known).toContain(content.digest);
        seen++;
      }
    }
  }
  expect(seen).toBeGreaterThan(0);
});

it('R2: what vanishes between list and open is no failure: files, links, directories', () => {
  const box = sandbox();
  const work = 'touch t1 t2 t3; ln -s t1 l; mkdir -p d/e; : > d/e/f; rm -rf t1 t2 t3 l d';
  expect(besideWriter(box, work, 5)).toBe('0\n'.repeat(5));
  expect(box.json(['list']).runs).toHaveLength(5);
  expect(fs.readFileSync(path.join(box.home, 'stderr'), 'utf8')).not.toMatch(/ENOENT|INTERNAL|^ +at /m);
  expectIntact(box);
});

it('R6: times of the future are times like others', () => {
  const box = sandbox();
  box.bash('echo 1 > f; echo 1 > g; touch -d 2099-01-01 f g');
  const before = fingerprint(box.ws, { times: true });
  box.bash('T run -- true; T run -- true');
  // An edit that keeps the time of the future, and one that gives it.
  const script =
    'echo 2 > f; touch -d 2099-01-01 f; touch -d 2098-01-01 g; echo n > n; touch -d 2099-06-01 n';
  expect(box.agentdiff(['run', '--', 'sh', '-c', script]).status).toBe(0);
  expect(changesOf(box)).toEqual(['modified file f', 'created file n']);
  const { times } = box.json(['show']).capsule;
  expect(times.durationMs).toBeGreaterThanOrEqual(times.childDurationMs);
  expect(times.childDurationMs).toBeGreaterThanOrEqual(0);
  expect(recover(box)).toEqual({ status: 0, results: ['restored f', 'removed n'] });
  expect(fingerprint(box.ws, { times: true })[0]).toBe(before[0]);
  expectIntact(box);
});

describe('R3: same size and same modification time hide nothing', () => {
  const cases = [
    ['an edit in place', 'r=$(stat -c %y f); printf BBBB > f; touch -d "$r" f'],
    ['a file put in its place by cp -a', 'printf BBBB > "$HOME/f"; touch -r f "$HOME/f"; cp -a "$HOME/f" f'],
    [
      'a file unpacked by tar',
      'cd "$HOME"; printf BBBB > f; touch -r "$OLDPWD/f" f; tar cf t f; cd "$OLDPWD"; tar xf "$HOME/t"',
    ],
  ] as const;
  it.each(cases)('%s', (_, script) => {
    const box = sandbox();
    box.bash('printf AAAA > f; touch -d 2020-01-01 f');
    const before = fingerprint(box.ws, { times: true });
    // Also where the file is known already, and so would be skipped if size and time were believed.
    box.bash('T run -- true; sleep 2.1; T run -- true');
    const ended = box.agentdiff(['run', '--', 'bash', '-c', script]);
    expect(ended.status, ended.stderr).toBe(0);
    expect(changesOf(box)).toEqual(['modified file f']);
    expect(box.agentdiff(['diff']).stdout).toMatch(/^-AAAA$[^]*^\+BBBB$/m);
    expect(recover(box)).toEqual({ status: 0, results: ['restored f'] });
    expect(fingerprint(box.ws, { times: true })).toEqual(before);
  });
});

it('R7: edits made after the run are refused and stay, with what was expected and what was found', () => {
  const box = sandbox();
  box.bash('echo 1 > f; echo 1 > g');
  expect(box.bash(`T run -- sh -c 'echo 2 > f; echo 2 > g; echo n > h'`).status).toBe(0);
  box.bash('echo mine > g; echo mine >> h');
  expectPlainReports(box);
  const dry = box.agentdiff(['recover', '--dry-run']);
  expect(dry.status).toBe(0);
  const { stdout } = box.agentdiff(['doctor', 'last']);
  const ended = box.agentdiff(['recover', '--yes']);
  expect(ended.status).toBe(3);
  for (const text of [dry.stdout, stdout, ended.stdout]) {
    expect(text).toMatch(/ g +changed-since: expected a file .*2 bytes.* found a file .*5 bytes/);
    expect(text).toMatch(/ h +changed-since: expected a file .*2 bytes.* found a file .*7 bytes/);
  }
  expect(box.bash('cat f g h').stdout).toBe('1\nmine\nn\nmine\n');
  const run = box.json(['list']).runs[0].runId;
  expect(recover(box, run)).toEqual({
    status: 3,
    results: ['already-right f', 'refused g: changed-since', 'refused h: changed-since'],
  });
  expectIntact(box);
});

it('R7: removed, replaced by another kind, or with another mode: later work all the same', () => {
  const box = sandbox();
  box.bash('for n in a b c d; do echo 1 > $n; done');
  expect(box.bash(`T run -- sh -c 'for n in a b c d; do echo 2 > $n; done'`).status).toBe(0);
  box.bash('rm a; rm b; mkdir b; chmod 755 c; mv d e');
  const before = fingerprint(box.ws);
  expect(recover(box)).toEqual({
    status: 3,
    results: ['a', 'b', 'c', 'd'].map((name) => `refused ${name}: changed-since`),
  });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('R8: what the run did not touch is no candidate, whatever became of it', () => {
  const box = sandbox();
  box.bash('echo 1 > a; echo 1 > b');
  expect(box.bash(`T run -- sh -c 'echo 2 > a'; echo new > b; echo new > c`).status).toBe(0);
  const text = ['recover --dry-run', 'doctor last', 'show']
    .map((command) => box.bash(`T ${command}`).stdout)
    .join('');
  expect(text).not.toMatch(/^ +(\w+ +)?[bc]\b/m);
  expect(recover(box)).toEqual({ status: 0, results: ['restored a'] });
  expect(box.bash('cat a b c').stdout).toBe('1\nnew\nnew\n');
  expectIntact(box);
});
