/** What others do at the same time or afterwards is theirs: it is seen where it can be, and never undone. */
import { describe, expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
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

it('R2: files that vanish between list and open are no failure', () => {
  const box = sandbox();
  const script = `(while :; do touch t1 t2 t3; rm -f t1 t2 t3; done) & P=$!
    s=0; for i in 1 2 3; do T run -- true || s=$?; done; kill $P; wait; exit $s`;
  expect(box.bash(script).status).toBe(0);
  expect(box.json(['list']).runs).toHaveLength(3);
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
