import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Ended, type Sandbox, sandbox } from '../support/cli.ts';
import { type CallKind, callsOf, killed, sample } from '../support/die-at.ts';
import { fingerprint } from '../support/fingerprint.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const FILES = 2000;

/** A few thousand files in a hundred directories. */
function fill({ ws }: Sandbox): void {
  for (let i = 0; i < FILES; i++) {
    const dir = path.join(ws, `d${i % 100}`);
    if (i < 100) fs.mkdirSync(dir);
    fs.writeFileSync(path.join(dir, `f${i}`), `content ${i}\n`);
  }
}

interface ListedRun {
  readonly runId: string;
  readonly state: string;
}

function runsOf(box: Sandbox): ListedRun[] {
  const { status, stdout } = box.agentdiff(['list', '--json']);
  expect(status).toBe(0);
  return (JSON.parse(stdout) as { runs: ListedRun[] }).runs;
}

/** Whatever the moment of the kill: the store answers, every sealed capsule is whole, and a next run and its recover work. */
function expectUsable(box: Sandbox, known: readonly ListedRun[]): void {
  const runs = runsOf(box);
  const later = runs.filter(({ runId }) => !known.some((run) => run.runId === runId));
  expect(later.length).toBeLessThanOrEqual(1);
  for (const { state } of later) expect(['sealed', 'unsealed', 'never-started']).toContain(state);
  expect(runs.filter(({ runId }) => known.some((run) => run.runId === runId))).toEqual(known);
  expect(box.agentdiff(['verify', 'last']).status).toBe(0);
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'sh', '-c', 'echo next > d7/f7; rm -r d8; echo new > new']).status).toBe(
    0,
  );
  expect(box.agentdiff(['verify', 'last']).status).toBe(0);
  expect(box.agentdiff(['recover', '--yes']).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual(before);
}

/** The child goes on when agentdiff is gone; what is then there must be all its work, or nothing. */
async function settled(box: Sandbox, states: readonly string[][]): Promise<string[]> {
  for (let i = 0; ; i++) {
    const now = fingerprint(box.ws);
    if (states.some((state) => state.join('\n') === now.join('\n'))) return now;
    if (i > 2400) return now;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe(`a run that is killed (seed ${SEED})`, () => {
  it.each([
    ['any', 7],
    ['writing', 9],
  ] as const)(
    'at any moment, counted by calls (%s), leaves a whole capsule or none, and the workspace to the child',
    async (kind: CallKind, count) => {
      const box = sandbox();
      fill(box);
      const work = 'echo two > d1/f1; rm -rf d2; mkdir d2; echo made > d2/made';
      const args = ['run', '--', 'sh', '-c', work];
      const before = fingerprint(box.ws);
      // The first run reads every file, so the calls are counted there; the ones after it go by the index.
      const total = callsOf(box, args, kind);
      const after = fingerprint(box.ws);
      expect(after).not.toEqual(before);
      for (const at of sample(total, count, SEED)) {
        expect(box.agentdiff(['run', '--', 'sh', '-c', `echo ${at} > d1/f1; touch d*/f*`]).status).toBe(0);
        const left = fingerprint(box.ws);
        const known = runsOf(box);
        const status = killed(box, args, kind, at);
        const found = await settled(box, [left, after]);
        const what = `killed before call ${at} of ${total}, seed ${SEED}, status ${status}`;
        expect([left, after], what).toContainEqual(found);
        expectUsable(box, known);
      }
    },
  );

  it('while the child runs keeps the before-snapshot, and what the child does afterwards', async () => {
    const box = sandbox();
    fill(box);
    expect(box.agentdiff(['run', '--', 'true']).status).toBe(0);
    const known = runsOf(box);
    const { status } = box.agentdiff(['run', '--', 'sh', '-c', 'kill -9 $PPID; echo late > late']);
    expect(status).toBe(137);
    for (let i = 0; i < 2400 && !fs.existsSync(path.join(box.ws, 'late')); i++)
      await new Promise((resolve) => setTimeout(resolve, 25));
    const later = runsOf(box).slice(known.length);
    expect(later).toMatchObject([{ state: 'unsealed' }]);
    for (const command of ['recover', 'show', 'diff', 'verify']) {
      const { status: refused, stderr } = box.agentdiff([command, later[0]?.runId ?? '']);
      expect(refused).toBe(4);
      expect(stderr).toContain('RUN_UNSEALED');
    }
    expectUsable(box, runsOf(box));
    expect(fs.readFileSync(path.join(box.ws, 'late'), 'utf8')).toBe('late\n');
  });
});

const NAMESPACE = ['unshare', '-Urm'];

/** Runs a bash script with a store on a file system of `size`; undefined where such a mount is not possible. */
function withSmallStore(box: Sandbox, size: string, script: string): Ended | undefined {
  fs.mkdirSync(box.store, { mode: 0o700 });
  const mount = `mount -t tmpfs -o size=${size},mode=700 tmpfs '${box.store}'`;
  if (box.bash(`${NAMESPACE.join(' ')} sh -c "${mount}"`).status !== 0) return undefined;
  return box.bash(`${NAMESPACE.join(' ')} bash -c "$SCRIPT"`, { env: { SCRIPT: `${mount} && ${script}` } });
}

/** What a script told about itself, one `name=value` a line. */
function told({ stdout }: Ended): Map<string, string> {
  return new Map(
    stdout
      .split('\n')
      .filter((line) => /^\w+=/.test(line))
      .map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

describe('a store that is full', () => {
  it('before the child starts: 125, the child is not started, and nothing half-written is left', (context) => {
    const box = sandbox();
    fs.writeFileSync(
      path.join(box.home, 'big'),
      Buffer.from(Array.from({ length: 6 << 20 }, (_, i) => (i * 2_654_435_761) >>> 24)),
    );
    const ended = withSmallStore(
      box,
      '4m',
      `
      echo 1 > f; T run -- sh -c 'echo 2 > f' 2>/dev/null
      find "$AGENTDIFF_STORE" | sort > ~/before
      cp ~/big . ; cp ~/big big2; echo x >> big2
      T run -- touch started 2> ~/stderr; echo "status=$?"
      echo "code=$(grep -o 'STORE_FULL' ~/stderr | head -1)"
      test -e started; echo "started=$?"
      find "$AGENTDIFF_STORE" | sort > ~/after
      echo "left=$(comm -13 ~/before ~/after | tr '\\n' ' ')"
      T verify last > /dev/null; echo "verify=$?"
      echo "runs=$(T list --json | grep -o '"state":"[a-z]*"' | tr '\\n' ' ')"
      rm big big2
      T recover --yes > /dev/null; echo "recover=$?"
      echo "f=$(cat f)"`,
    );
    if (ended === undefined) return skip(context, 'no tmpfs can be mounted in a user namespace here');
    expect(Object.fromEntries(told(ended))).toEqual({
      status: '125',
      code: 'STORE_FULL',
      started: '1',
      left: '',
      verify: '0',
      runs: '"state":"sealed" ',
      recover: '0',
      f: '1',
    });
  });

  it('when the result is written: the child keeps its status, else 125, and the run stays unsealed', (context) => {
    const box = sandbox();
    const ended = withSmallStore(
      box,
      '4m',
      `
      echo 1 > f; T run -- sh -c 'echo 2 > f' 2>/dev/null
      printf '#!/bin/sh\nhead -c 100m /dev/zero > "$AGENTDIFF_STORE/fill" 2>/dev/null\n' > ~/fill; chmod 755 ~/fill
      T run -- bash -c 'echo 3 > f; ~/fill; exit 7' 2> ~/stderr; echo "failed=$?"
      echo "code=$(grep -o 'STORE_FULL' ~/stderr | head -1)"
      rm "$AGENTDIFF_STORE/fill"
      T run -- bash -c 'echo 4 > f; ~/fill; exit 0' 2> ~/stderr; echo "succeeded=$?"
      echo "again=$(grep -o 'STORE_FULL' ~/stderr | head -1)"
      T list --json > ~/list; echo "list=$?"
      echo "runs=$(grep -o '"state":"[a-z]*"' ~/list | tr '\\n' ' ')"
      T verify last > /dev/null; echo "verify=$?"
      rm "$AGENTDIFF_STORE/fill"
      T run -- sh -c 'echo 5 > f' 2>/dev/null; echo "next=$?"
      T recover --yes > /dev/null; echo "recover=$?"
      echo "f=$(cat f)"`,
    );
    if (ended === undefined) return skip(context, 'no tmpfs can be mounted in a user namespace here');
    expect(Object.fromEntries(told(ended)), ended.stderr).toEqual({
      failed: '7',
      code: 'STORE_FULL',
      succeeded: '125',
      again: 'STORE_FULL',
      list: '0',
      runs: '"state":"sealed" "state":"unsealed" "state":"unsealed" ',
      verify: '0',
      next: '0',
      recover: '0',
      f: '4',
    });
  });
});

function skip(context: { skip: (reason: string) => void }, reason: string): void {
  process.stderr.write(`skipped: ${reason}\n`);
  context.skip(reason);
}

interface Recovered {
  readonly results: readonly { path: string; result: string; code?: string }[];
}

describe('what an ordinary user may not read', () => {
  const recover = (box: Sandbox): { status: number; lines: string[] } => {
    const { status, stdout } = box.agentdiff(['recover', '--yes', '--json']);
    const { results } = JSON.parse(stdout) as Recovered;
    return {
      status,
      lines: results.map(
        ({ path: at, result, code }) => `${result} ${at}${code === undefined ? '' : `: ${code}`}`,
      ),
    };
  };

  it('a file: the run works and says so; recover refuses it and never makes an empty one (P1)', () => {
    const box = sandbox('nobody');
    expect(box.bash('echo s > k; chmod 000 k; echo 1 > f').status).toBe(0);
    const { status, stderr } = box.agentdiff(['run', '--', 'sh', '-c', 'rm -f k; echo 2 > f']);
    expect(status).toBe(0);
    expect(stderr).toContain('not observed');
    const { capsule, changes } = box.json(['show', 'last']);
    expect(capsule.coverage).toMatchObject({
      complete: false,
      unobserved: { before: [{ path: 'k', reason: 'unreadable' }], beforeTotal: 1, afterTotal: 0 },
    });
    expect(changes).toMatchObject([
      { path: 'f', recoverable: true },
      { path: 'k', recoverable: false, reason: 'unreadable' },
    ]);
    expect(recover(box)).toEqual({ status: 3, lines: ['restored f', 'refused k: not-observed'] });
    expect(fs.readdirSync(box.ws)).toEqual(['f']);
  });

  it('a directory: what becomes visible in it later was not created, and is never deleted (P2)', () => {
    const box = sandbox('nobody');
    box.bash('mkdir d; echo x > d/f; chmod 000 d');
    expect(box.agentdiff(['run', '--', 'true']).status).toBe(0);
    expect(box.json(['show', 'last']).capsule.coverage).toMatchObject({
      complete: false,
      unobserved: { before: [{ path: 'd', reason: 'unreadable' }] },
    });
    expect(box.agentdiff(['run', '--', 'sh', '-c', 'chmod 700 d; echo y > d/g']).status).toBe(0);
    expect(recover(box)).toEqual({ status: 3, lines: ['refused d: not-observed'] });
    expect(fs.readdirSync(path.join(box.ws, 'd')).sort()).toEqual(['f', 'g']);
  });

  it('a directory that the run made and closed: refused, and said so', () => {
    const box = sandbox('nobody');
    for (const script of ['mkdir d; chmod 000 d', 'mkdir d; touch d/f; chmod 333 d']) {
      expect(box.agentdiff(['run', '--', 'sh', '-c', script]).status).toBe(0);
      expect(recover(box)).toEqual({ status: 3, lines: ['refused d: not-permitted'] });
      expect(fs.existsSync(path.join(box.ws, 'd'))).toBe(true);
      box.bash('chmod 700 d; rm -r d');
    }
  });

  it('a directory that the run closed is opened again before its files come back', () => {
    const box = sandbox('nobody');
    box.bash('mkdir d; echo x > d/f');
    const before = fingerprint(box.ws);
    expect(box.agentdiff(['run', '--', 'sh', '-c', 'rm d/f; chmod 555 d']).status).toBe(0);
    expect(recover(box)).toEqual({ status: 0, lines: ['restored d', 'restored d/f'] });
    expect(fingerprint(box.ws)).toEqual(before);
  });

  it('a read-only tree that the run made goes, and what has to stay of it keeps its modes', () => {
    const box = sandbox('nobody');
    const make =
      'mkdir -p m/a/b m/c; for d in m/a m/a/b m/c; do echo x > $d/f; done; chmod 555 m/a/b m/a m/c; chmod 500 m';
    expect(box.agentdiff(['run', '--', 'sh', '-c', make]).status).toBe(0);
    box.bash('chmod 755 m/a/b; echo mine > m/a/b/mine; chmod 555 m/a/b');
    expect(recover(box)).toEqual({
      status: 3,
      lines: [
        'refused m: directory-not-empty',
        'refused m/a: directory-not-empty',
        'refused m/a/b: directory-not-empty',
        'refused m/a/b/f: not-permitted',
        'refused m/a/f: not-permitted',
        'refused m/c: not-permitted',
        'removed m/c/f',
      ],
    });
    expect(fingerprint(box.ws).map((line) => line.replace(/^(\S+ \S+) \S+ /, '$1 '))).toEqual([
      'directory 0500 "m"',
      'directory 0555 "m/a"',
      'directory 0555 "m/a/b"',
      'file 0644 "m/a/b/f"',
      'file 0644 "m/a/b/mine"',
      'file 0644 "m/a/f"',
      'directory 0555 "m/c"',
    ]);
    box.bash('chmod -R u+w m; rm -r m');
    expect(box.agentdiff(['run', '--', 'sh', '-c', make]).status).toBe(0);
    expect(recover(box).status).toBe(0);
    expect(fs.readdirSync(box.ws)).toEqual([]);
  });

  it('a directory that was and is closed to writing: its file is refused, not permitted', () => {
    const box = sandbox('nobody');
    box.bash('mkdir d; echo x > d/f; chmod 555 d');
    expect(box.agentdiff(['run', '--', 'sh', '-c', 'chmod 755 d; rm d/f; chmod 555 d']).status).toBe(0);
    expect(recover(box)).toEqual({ status: 3, lines: ['refused d/f: not-permitted'] });
    expect(fs.readdirSync(path.join(box.ws, 'd'))).toEqual([]);
  });
});
