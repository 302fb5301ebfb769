/** What the wrapped command gets and gives: status, signals, streams, terminal, working directory; nested and interrupted runs. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { inTerminal } from '../support/terminal.ts';
import {
  changesOf,
  expectError,
  expectIntact,
  expectPlain,
  recover,
  skipUnless,
} from '../support/reports.ts';

const ESC = '\u001b';

describe('Q10: a command that ends by a signal', () => {
  it.each([
    ['TERM', 15],
    ['KILL', 9],
    ['INT', 2],
    ['SEGV', 11],
    ['HUP', 1],
  ])('gives 128 + n, and the capsule has the signal apart from any code: %s', (name, number) => {
    const box = sandbox();
    expect(box.bash(`ulimit -c 0; T run -- sh -c 'kill -${name} $$'`).status).toBe(128 + number);
    expect(box.json(['show']).capsule.exit).toEqual({
      started: true,
      signal: `SIG${name}`,
      signalNumber: number,
    });
    expect(box.agentdiff(['show']).stdout).toContain(`killed by SIG${name}`);
    expectIntact(box);
  });

  it('is told apart from one that ends with that number', () => {
    const box = sandbox();
    expect(box.bash(`T run -- sh -c 'exit 143'`).status).toBe(143);
    expect(box.json(['show']).capsule.exit).toEqual({ started: true, code: 143 });
  });
});

it('a status is passed on, whatever it is', () => {
  const box = sandbox();
  const codes = [0, 1, 2, 3, 77, 124, 125, 126, 127, 130, 255];
  const script = codes.map((code) => `T run --quiet -- sh -c 'exit ${code}'; echo $?`).join('\n');
  expect(box.bash(script).stdout.trim().split('\n').map(Number)).toEqual(codes);
});

describe('Q11: a command that cannot be started', () => {
  it.each([
    ['is not there', 'true', 'no-such-command', 127, 'COMMAND_NOT_FOUND', 'ENOENT', /not found/],
    [
      'has no execute permission',
      'echo x > n',
      './n',
      126,
      'COMMAND_NOT_EXECUTABLE',
      'EACCES',
      /cannot be executed/,
    ],
    ['is a directory', 'true', './', 126, 'COMMAND_NOT_EXECUTABLE', 'EACCES', /cannot be executed/],
    [
      'has no interpreter',
      String.raw`printf '#!/no/such\n' > i; chmod +x i`,
      './i',
      127,
      'COMMAND_NOT_FOUND',
      'ENOENT',
      /interpreter/,
    ],
    ['is the empty word', 'true', '', 127, 'COMMAND_NOT_FOUND', 'ENOENT', /not found/],
  ] as const)(
    '%s: a capsule says "never started", and nothing changed',
    (_, setup, command, status, code, errno, text) => {
      const box = sandbox();
      box.bash(setup);
      const before = fingerprint(box.ws);
      const ended = box.agentdiff(['run', '--quiet', '--', command, 'argument']);
      expectError(ended, code, status);
      expect(ended.stderr).toMatch(text);
      const { capsule, changes } = box.json(['show']);
      expect(capsule.exit).toEqual({ started: false, errno });
      expect(changes).toEqual([]);
      expect(box.agentdiff(['show']).stdout).toContain('not started');
      expect(recover(box)).toEqual({ status: 0, results: [] });
      expect(fingerprint(box.ws)).toEqual(before);
      expectIntact(box);
    },
  );
});

it('Q12: a working directory that is gone is named, not the command', () => {
  const box = sandbox();
  const ended = box.bash(
    'mkdir gone; cd gone; rmdir ../gone; T run -- touch ran 2>&1 | tail -n 2 >&2; exit ${PIPESTATUS[0]}',
  );
  expectError(ended, 'CWD_MISSING', 125);
  expect(ended.stderr).not.toMatch(/touch|ENOENT|uv_cwd/);
});

it('Q13: the child may remove its own working directory', () => {
  const box = sandbox();
  box.bash('mkdir -p .git s; echo 1 > s/f');
  const before = fingerprint(box.ws);
  expect(box.bash('cd s; T run -- rm -rf ../s').status).toBe(0);
  expect(changesOf(box)).toEqual(['deleted directory s', 'deleted file s/f']);
  expect(recover(box)).toEqual({ status: 0, results: ['restored s', 'restored s/f'] });
  expect(fs.readFileSync(path.join(box.ws, 's/f'), 'utf8')).toBe('1\n');
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('Q13: and that may be the root itself', () => {
  const box = sandbox();
  const ended = box.bash('mkdir s; echo 1 > s/f; cd s; T run -- rm -rf ../s');
  expect(ended.status).toBe(0);
  expect(ended.stderr).not.toMatch(/INTERNAL/);
  expect(ended.stderr).toMatch(/deleted +1 +f/);
});

it('Q7: standard input is the child’s, byte for byte and to its end', () => {
  const box = sandbox();
  expect(box.bash(String.raw`printf 'a\0b\n' | T run -- od -An -tx1`).stdout).toBe(' 61 00 62 0a\n');
  expect(box.bash('T run -- cat < /dev/null')).toMatchObject({ status: 0, stdout: '' });
  expect(box.bash('echo x | T run -- true').status).toBe(0);
  expect(box.bash(`T run -- sh -c 'read x; echo $?' <&-`)).toMatchObject({ status: 0, stdout: '1\n' });
  // A loop around it keeps what the child did not read.
  const loop = String.raw`printf 'one\ntwo\nthree\n' | while read -r word; do T run -- echo "$word"; done`;
  expect(box.bash(loop).stdout).toBe('one\ntwo\nthree\n');
});

it('standard output is the child’s: every byte of it, and no other', () => {
  const box = sandbox();
  const child = `head -c 3000000 /dev/urandom | tee "$HOME/sent"; echo on-stderr >&2; echo 1 > f; exit 5`;
  const ended = box.agentdiff(['run', '--', 'sh', '-c', `sh -c '${child}'; rm f; exit 5`]);
  expect(ended.status).toBe(5);
  const compared = box.bash(
    `T run -- cat "$HOME/sent" > "$HOME/received"; echo $?; cmp "$HOME/sent" "$HOME/received" && echo same`,
  );
  expect(compared.stdout).toBe('0\nsame\n');
  expect(ended.stderr.split('\n')[0]).toBe('on-stderr');
});

it('Q15: without a terminal nothing is asked and no escape byte is written', () => {
  const box = sandbox();
  box.bash('echo 1 > f');
  const script = `env -i PATH="$PATH" CI=1 AGENTDIFF_STORE="$AGENTDIFF_STORE" setsid -w T run -- rm f </dev/null >"$HOME/o" 2>"$HOME/e"; echo $?
    setsid -w T recover </dev/null >>"$HOME/o" 2>>"$HOME/e"; echo $?
    setsid -w T recover --yes </dev/null >>"$HOME/o" 2>>"$HOME/e"; echo $?; cat f`;
  expect(box.bash(script).stdout).toBe('0\n4\n0\n1\n');
  const written = ['o', 'e'].map((name) => fs.readFileSync(path.join(box.home, name), 'utf8')).join('');
  expectPlain(written);
  expect(written).toContain('--yes');
});

it('Q6: a reader that goes away ends the child as it would without us, and the run is sealed', () => {
  const box = sandbox();
  box.bash('echo 1 > f');
  const ended = box.bash(`T run -- sh -c 'rm f; yes' | head -n 1; echo "\${PIPESTATUS[0]}"`);
  expect(ended.stdout).toBe('y\n141\n');
  expect(ended.stderr).not.toMatch(/EPIPE|INTERNAL|^ +at /m);
  expect(recover(box)).toEqual({ status: 0, results: ['restored f'] });
  expectIntact(box);
});

describe('at a terminal', () => {
  const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

  it('the question is asked after the plan, and what is no yes touches nothing', (context) => {
    skipUnless(context, hasScript, 'there is no script(1)');
    const box = sandbox();
    box.bash('echo 1 > f; T run -- rm f');
    const capsules = (): number => box.json(['list']).runs.length;
    for (const answer of ['n', '', 'yep', 'no y']) {
      const { status, shown } = inTerminal(box, 'T recover', answer);
      expect(status, answer).toBe(4);
      expect(shown).toMatch(/restore \(1\)[^]* f\n[^]*\[y\/N\]/);
      expect(shown).toContain('[NOT_APPROVED]');
      expect(fs.readdirSync(box.ws)).toEqual([]);
    }
    expect(capsules()).toBe(1);
    expect(inTerminal(box, 'T recover', 'y').status).toBe(0);
    expect(fs.readFileSync(path.join(box.ws, 'f'), 'utf8')).toBe('1\n');
    expect(capsules()).toBe(2);
  });

  it('colours are there only, and none with NO_COLOR, --no-color or a dumb terminal', (context) => {
    skipUnless(context, hasScript, 'there is no script(1)');
    const box = sandbox();
    box.bash(`echo 1 > f; T run -- sh -c 'rm f; echo 2 > g'`);
    const shown = (command: string): string => inTerminal(box, command).shown;
    expect(shown('T show')).toContain(`${ESC}[`);
    expect(shown('T run -- rm g')).toContain(`${ESC}[`);
    for (const command of [
      'NO_COLOR=1 T show',
      'T show --no-color',
      'TERM=dumb T show',
      'NO_COLOR=1 T run -- touch h',
    ])
      expect(shown(command), command).not.toContain(ESC);
    expect(shown('T show > plain; cat plain')).not.toContain(ESC);
  });

  it('Q5: the child has the terminal', (context) => {
    skipUnless(context, hasScript, 'there is no script(1)');
    const box = sandbox();
    const command =
      'stty rows 33 cols 101; T run --quiet -- sh -c "test -t 0 && test -t 1 && test -t 2 && echo ok > /dev/tty; stty size"';
    expect(inTerminal(box, command)).toEqual({
      status: 0,
      shown: expect.stringContaining('ok\n33 101\n') as string,
    });
  });
});

it('nested runs: the inner names the outer as its parent, and both are sealed and verify', () => {
  const box = sandbox();
  box.bash('echo 1 > a; echo 1 > b');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- sh -c 'rm a; T run -- rm b; T run -- T run -- touch c; exit 6'`).status).toBe(6);
  const { runs } = box.json(['list']);
  expect(runs.map(({ state }: { state: string }) => state)).toEqual(['sealed', 'sealed', 'sealed', 'sealed']);
  const [outer, inner, middle, innermost] = runs.map(({ runId }: { runId: string }) => runId);
  const parentOf = (id: string): unknown => box.json(['show', id]).capsule.parentRun;
  expect([outer, inner, middle, innermost].map(parentOf)).toEqual([undefined, outer, outer, middle]);
  expect(changesOf(box, outer)).toEqual(['deleted file a', 'deleted file b', 'created file c']);
  expect(changesOf(box, inner)).toEqual(['deleted file b']);
  expect(changesOf(box, innermost)).toEqual(['created file c']);
  expect(box.agentdiff(['show', inner]).stdout).toContain(outer);
  expectIntact(box);
  // The newest command is the outer one, which has the changes of the inner ones too.
  expect(recover(box)).toEqual({ status: 0, results: ['restored a', 'restored b', 'removed c'] });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('nested runs: an inner one that was interrupted does not stand for the outer one', () => {
  const box = sandbox();
  box.bash('echo 1 > a; echo 1 > b');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- sh -c 'rm a; T run -- sh -c "rm b; kill -9 \\$PPID"; true'`).status).toBe(0);
  expect(box.json(['list']).runs.map(({ state }: { state: string }) => state)).toEqual([
    'sealed',
    'unsealed',
  ]);
  expect(recover(box)).toEqual({ status: 0, results: ['restored a', 'restored b'] });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('C2: recover is refused while a run is active, and not for ever', () => {
  const box = sandbox();
  box.bash('echo 1 > f; T run -- rm f');
  const first: string = box.json(['list']).runs[0].runId;
  const script = `T run --quiet -- sh -c 'echo "$AGENTDIFF_RUN_ID"; while [ ! -e ../go ]; do sleep 0.05; done' & 
    while [ "$(T list --json | grep -c '"active"')" = 0 ]; do sleep 0.05; done
    T recover --yes; echo $?; T recover --dry-run; echo $?; ls; touch ../go; wait; T recover ${first} --yes > /dev/null; echo $?; cat f`;
  const ended = box.bash(script);
  const [active = '', ...rest] = ended.stdout.trim().split('\n');
  expect(rest).toEqual(['4', '4', '0', '1']);
  expect(ended.stderr).toMatch(new RegExp(`${active} is active.*\\[RUN_ACTIVE\\]`));
  expect(box.json(['show', active]).capsule.overlapping).toEqual([]);
  expectIntact(box);
});

it('C2: nor does a run recover what itself is inside of', () => {
  const box = sandbox();
  box.bash('echo 1 > f; T run -- rm f');
  expect(box.bash(`T run --quiet -- T recover --yes`).status).toBe(4);
  expect(fs.readdirSync(box.ws)).toEqual([]);
});

it('X1: a run whose agentdiff was killed is listed as unsealed and claims nothing; the next run works and leaves it', () => {
  const box = sandbox();
  box.bash('echo 1 > f; echo 1 > g; T run -- rm g');
  const ended =
    box.bash(`T run -- sh -c 'echo $$ > ../pid; echo 2 > f; touch ../started; exec sleep 60' & P=$!
    while [ ! -e ../started ]; do sleep 0.05; done; kill -9 $P; wait $P; echo $?; kill "$(cat ../pid)"`);
  expect(ended.stdout).toBe('137\n');
  const [sealed, unsealed] = box.json(['list']).runs;
  expect(unsealed).toMatchObject({
    state: 'unsealed',
    kind: 'run',
    argv: expect.arrayContaining(['sh', '-c']) as string[],
  });
  expect(box.agentdiff(['list']).stdout).toContain('unsealed');
  const id: string = unsealed.runId;
  for (const command of ['show', 'diff', 'verify', 'recover', 'doctor']) {
    expectError(box.agentdiff([command, id]), 'RUN_UNSEALED', 4);
    expect(box.json([command, id]).error.code).toBe('RUN_UNSEALED');
  }
  // The newest command is the interrupted one: an older one is not taken back in its place.
  expectError(box.agentdiff(['recover', '--yes']), 'RUN_UNSEALED', 4);
  expect(box.bash('cat f; ls').stdout).toBe('2\nf\n');
  const kept = fingerprint(box.store, {
    skip: (name) => !/^workspaces(\/[^/]+(\/pending(\/.*)?)?)?$/.test(name),
  });
  expect(box.bash(`T run -- sh -c 'echo 3 > f'`).status).toBe(0);
  const runs = box.json(['list']).runs;
  expect(runs.map(({ state }: { state: string }) => state)).toEqual(['sealed', 'unsealed', 'sealed']);
  expect(box.json(['show']).capsule.overlapping).toEqual([]);
  expect(recover(box)).toEqual({ status: 0, results: ['restored f'] });
  expect(recover(box, sealed.runId)).toEqual({ status: 0, results: ['restored g'] });
  expect(box.bash('cat f g').stdout).toBe('2\n1\n');
  expect(
    fingerprint(box.store, { skip: (name) => !/^workspaces(\/[^/]+(\/pending(\/.*)?)?)?$/.test(name) }),
  ).toEqual(kept);
  expectIntact(box);
});

it.each(['INT', 'TERM', 'HUP'])(
  'a SIG%s while names are changing waits until the recover is done',
  (signal) => {
    const box = sandbox();
    // Many files are made durable by one `sync`; this one sends us the signal at that moment.
    box.bash(
      `printf '#!/bin/sh\\nkill -${signal} $PPID\\n' > "$HOME/sync"; chmod +x "$HOME/sync"; touch f{1..20}`,
    );
    const before = fingerprint(box.ws);
    expect(box.bash('T run -- sh -c "rm f*"').status).toBe(0);
    const ended = box.bash('PATH="$HOME:$PATH" T recover --yes');
    expect(ended.status).toBe(0);
    expect(fingerprint(box.ws)).toEqual(before);
    expectIntact(box);
  },
);
