import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Ended, sandbox } from '../support/cli.ts';

const BIN = new URL('../../bin/agentdiff.js', import.meta.url);

function lastLine(text: string): unknown {
  return JSON.parse(text.trim().split('\n').at(-1) ?? '');
}

/** The code in the brackets of the error line on stderr. */
function codeOf({ stderr }: Ended): string | undefined {
  return /^agentdiff: .* \[([A-Z0-9_]+)\]$/m.exec(stderr)?.[1];
}

describe('errors', () => {
  it('are one line with the code and one hint, without a stack', () => {
    const ended = sandbox().agentdiff(['show', 'no\n\u001b[2Ksuch']);
    expect(ended).toMatchObject({ status: 2, stdout: '' });
    expect(codeOf(ended)).toBe('RUN_UNKNOWN');
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(2);
    expect(ended.stderr).not.toContain('\u001b');
  });

  it('have a stack with --debug', () => {
    expect(sandbox().agentdiff(['show', '--debug']).stderr).toMatch(/^ +at /m);
  });

  it('are one JSON object on stdout with --json, wherever it stands', () => {
    const { agentdiff } = sandbox();
    for (const args of [
      ['--json', 'show'],
      ['show', '--json'],
      ['show', '--json', '--nonsense'],
    ]) {
      const { status, stdout, stderr } = agentdiff(args);
      expect(status).toBe(2);
      expect(lastLine(stdout)).toMatchObject({
        error: { code: expect.any(String) as string, message: expect.any(String) as string },
      });
      expect(stderr).toBe('');
    }
  });

  it('never go to the stdout of a run', () => {
    const ended = sandbox().agentdiff(['--json', 'run', '--', 'echo', 'x']);
    expect(ended).toMatchObject({ status: 125, stdout: '' });
    expect(codeOf(ended)).toBe('USAGE');
  });
});

describe('run', () => {
  it('hands every word behind -- to the command', () => {
    const { agentdiff } = sandbox();
    const words = ['--', '--json', '--version', '-h', '', "a'b", '--store=x'];
    expect(agentdiff(['run', '--', 'printf', '[%s]', ...words])).toMatchObject({
      status: 0,
      stdout: words.map((word) => `[${word}]`).join(''),
    });
  });

  it.each([
    ['ls', ['run', 'ls']],
    ['ls -la', ['run', 'ls', '-la']],
    ['npm --version', ['run', 'npm', '--version']],
    ['an option without its value', ['run', '--task', '--', 'echo', 'x']],
    ['a file option without its value', ['run', '--result-file', '--', 'echo', 'x']],
  ])('does not guess where a command without -- begins: %s', (_, args) => {
    const ended = sandbox().agentdiff(args);
    expect(ended).toMatchObject({ status: 125, stdout: '' });
    expect(codeOf(ended)).toBe('USAGE');
  });

  it('writes the result file, and says before the start when it cannot', () => {
    const { agentdiff, ws } = sandbox();
    const file = join(ws, '..', 'result.json');
    expect(
      agentdiff(['run', '--quiet', '--result-file', file, '--', 'sh', '-c', 'echo x > new; exit 7']),
    ).toMatchObject({ status: 7, stderr: '' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      exitStatus: 7,
      exit: { code: 7 },
      sealed: true,
      capsule: { counts: { created: 1 } },
      reversibility: { summary: expect.any(String) as string },
    });
    for (const bad of [join(ws, 'missing', 'file'), '/dev/null', ws]) {
      const ended = agentdiff(['run', '--result-file', bad, '--', 'touch', 'started']);
      expect(ended.status).toBe(125);
      expect(codeOf(ended)).toBe('OUTPUT_UNWRITABLE');
    }
    expect(existsSync(join(ws, 'started'))).toBe(false);
  });

  it('tells a failure before the start in the result file too', () => {
    const { agentdiff, ws } = sandbox();
    const file = join(ws, '..', 'result.json');
    expect(agentdiff(['run', '--root', '/', '--result-file', file, '--', 'true']).status).toBe(125);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ error: { code: 'ROOT_REFUSED' } });
  });

  it('refuses bytes that Node would change, before anything starts', () => {
    const { bash, ws } = sandbox();
    const refused = [
      String.raw`T run -- touch $'a\xffb'`,
      String.raw`X=$'\xff' T run -- touch started`,
      String.raw`mkdir $'d\xff'; cd $'d\xff' && T run -- touch started`,
    ];
    for (const script of refused) {
      const ended = bash(script);
      expect(ended.status, script).toBe(125);
      expect(codeOf(ended), script).toBe('INPUT_NOT_UTF8');
    }
    expect(readdirSync(ws)).toHaveLength(1);
    // What concerns no child is no reason to refuse.
    expect(bash(String.raw`X=$'\xff' T list`).status).toBe(0);
  });

  it('names a working directory that is gone', () => {
    const { bash } = sandbox();
    const ended = bash(
      `mkdir gone; cd gone; rmdir ../gone; '${process.execPath}' '${fileURLToPath(BIN)}' run -- true`,
    );
    expect(ended.status).toBe(125);
    expect(codeOf(ended)).toBe('CWD_MISSING');
    expect(ended.stderr).toContain('/gone');
    expect(ended.stderr).not.toMatch(/^ +at /m);
  });

  it('works without a home, and says so when there is no place for a store', () => {
    const { agentdiff, store } = sandbox();
    expect(
      agentdiff(['run', '--store', store, '--', 'true'], {
        env: { HOME: undefined, AGENTDIFF_STORE: undefined },
      }).status,
    ).toBe(0);
    const ended = agentdiff(['run', '--', 'true'], { env: { HOME: 'relative', AGENTDIFF_STORE: undefined } });
    expect(ended.status).toBe(125);
    expect(codeOf(ended)).toBe('STORE_UNWRITABLE');
  });

  it('says one line when nothing changed, and a dozen at most when much did', () => {
    const { agentdiff, bash } = sandbox();
    expect(agentdiff(['run', '--', 'true']).stderr.trimEnd().split('\n')).toHaveLength(1);
    const { stderr } = bash(
      "mkdir -p node_modules/x; echo 1 > node_modules/x/i; touch old; T run -- sh -c 'for d in $(seq 30); do mkdir -p d$d/e; echo x > d$d/e/f; done; rm old node_modules/x/i; chmod 700 node_modules'",
    );
    const summary = stderr
      .trimEnd()
      .split('\n')
      .filter((line) => !line.includes('content is not kept for'));
    expect(summary.length).toBeGreaterThan(4);
    expect(summary.length).toBeLessThanOrEqual(13);
  });
});

describe('run, interrupted during its first scan', () => {
  it.each([
    ['INT', 130],
    ['TERM', 143],
  ])('SIG%s: says so in one line, starts nothing and leaves no run', (signal, status) => {
    const { bash, json, ws } = sandbox();
    bash('for i in $(seq 6000); do echo $i > f$i; done');
    const ended = bash(`T run -- touch started & P=$!
      until ls "$AGENTDIFF_STORE"/workspaces/*/pending/2*/capsule > /dev/null 2>&1; do :; done; kill -${signal} $P; wait $P`);
    expect(ended).toMatchObject({ status, stdout: '' });
    expect(codeOf(ended)).toBe('INTERRUPTED');
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(existsSync(join(ws, 'started'))).toBe(false);
    expect(json(['list']).runs).toEqual([]);
  });

  it('killed: the run is never-started, and no command or snapshot is claimed', () => {
    const { bash, json, agentdiff } = sandbox();
    bash('for i in $(seq 6000); do echo $i > f$i; done');
    bash(`T run -- true & P=$!
      until ls "$AGENTDIFF_STORE"/workspaces/*/pending/2*/capsule > /dev/null 2>&1; do :; done; kill -9 $P; wait $P`);
    const [run] = json(['list']).runs;
    expect(run).toMatchObject({ state: 'never-started' });
    const shown = json(['show', run.runId]).error;
    expect(shown).toMatchObject({ code: 'RUN_UNSEALED', data: { state: 'never-started' } });
    expect(shown.hint).not.toContain('snapshot');
    const { stdout } = agentdiff(['doctor']);
    expect(stdout).toMatch(/unsealed runs: .*nothing was run/);
    expect(stdout).not.toContain('before-snapshots');
  });
});

describe('show and diff', () => {
  it('show where a link led, and print text differences that patch takes', (context) => {
    const { bash, ws, agentdiff } = sandbox();
    if (bash('patch --version').status !== 0) return context.skip('there is no patch');
    bash(`printf 'one\n\ttab\n' > edited; echo old > gone; ln -s edited link; cp -r . ../copy`);
    bash("T run -- sh -c 'echo two >> edited; rm gone link; echo new > made; ln -s made link2'");
    expect(agentdiff(['show']).stdout).toMatch(/link -> edited .*\n.*link2 -> made /);
    const diff = agentdiff(['diff']).stdout;
    expect(diff).toMatch(/^--- a\/gone\n\+\+\+ \/dev\/null$/m);
    expect(diff).toMatch(/^--- \/dev\/null\n\+\+\+ b\/made$/m);
    writeFileSync(join(ws, '..', 'diff'), diff);
    expect(bash('cd ../copy && patch -p1 < ../diff').status).toBe(0);
    for (const name of ['edited', 'made'])
      expect(readFileSync(join(ws, '..', 'copy', name))).toEqual(readFileSync(join(ws, name)));
    expect(existsSync(join(ws, '..', 'copy', 'gone'))).toBe(false);
  });

  it('name a run without a name', () => {
    expect(sandbox().agentdiff(['show', '']).stderr).toContain('""');
  });
});

describe('recover', () => {
  it('never asks without a terminal: it prints the plan and names the option', () => {
    const { agentdiff, bash, ws } = sandbox();
    writeFileSync(join(ws, 'f'), '1');
    agentdiff(['run', '--', 'rm', 'f']);
    const ended = bash('setsid T recover < /dev/null');
    expect(ended.status).toBe(4);
    expect(codeOf(ended)).toBe('NOT_APPROVED');
    expect(ended.stderr).toContain('--yes');
    expect(ended.stdout).toContain('f');
    expect(`${ended.stdout}${ended.stderr}`).not.toContain('\u001b');
    expect(readdirSync(ws)).toEqual([]);
    const json = agentdiff(['recover', '--json']);
    expect(json.status).toBe(4);
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: { code: 'NOT_APPROVED', data: { plan: { counts: { apply: 1 } } } },
    });
  });

  it('shows the plan and changes nothing with --dry-run', () => {
    const { agentdiff, json, ws } = sandbox();
    writeFileSync(join(ws, 'f'), '1');
    agentdiff(['run', '--', 'rm', 'f']);
    expect(agentdiff(['recover', '--dry-run', '--yes'])).toMatchObject({ status: 0, stderr: '' });
    expect(json(['recover', '--dry-run'])).toMatchObject({
      plan: { steps: [{ path: 'f', action: 'restore', verdict: 'apply' }] },
    });
    expect(readdirSync(ws)).toEqual([]);
  });

  it.skipIf(!existsSync('/usr/bin/script'))('asks on a terminal, and only y or yes is a yes', () => {
    const { agentdiff, bash, ws } = sandbox();
    writeFileSync(join(ws, 'f'), '1');
    agentdiff(['run', '--', 'rm', 'f']);
    const answer = (text: string): number =>
      bash(`(sleep 1; printf '${text}\\n'; sleep 1) | script -qec 'T recover' /dev/null`).status;
    expect(answer('n')).toBe(4);
    expect(answer('')).toBe(4);
    expect(answer('yellow')).toBe(4);
    expect(readdirSync(ws)).toEqual([]);
    expect(answer('y')).toBe(0);
    expect(readdirSync(ws)).toEqual(['f']);
  });

  it('takes paths that look like options', () => {
    const { bash, agentdiff, ws } = sandbox();
    bash('echo x > ./-rf; echo y > ./--; mkdir ./-d; T run -- rm -r -- -rf -- -d');
    expect(readdirSync(ws)).toEqual([]);
    expect(agentdiff(['recover', '--path=-rf', '--yes']).status).toBe(0);
    expect(readdirSync(ws)).toEqual(['-rf']);
    expect(agentdiff(['recover', '--yes', '--path', '--', '--path=-d']).status).toBe(0);
    expect(readdirSync(ws).sort()).toEqual(['--', '-d', '-rf']);
  });
});

describe('output', () => {
  it('has no control characters from names, arguments and link targets', () => {
    const { bash } = sandbox();
    const name = String.raw`$'ok\r\e[2K\e]0;title\a\xc2\x9b31m\n.txt'`;
    const made = bash(`f=${name}; T run -- sh -c 'echo x > "$1"; ln -s "$1" link' sh "$f"`);
    const texts = [
      made.stderr,
      ...['show', 'diff', 'list', 'doctor last', 'verify', 'recover --dry-run', 'show --json'].map(
        (words) => bash(`T ${words}`).stdout,
      ),
    ];
    for (const text of texts) {
      expect(text).toContain('\n');
      // eslint-disable-next-line no-control-regex
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    }
    expect(texts[1]?.split('\n').filter((line) => line.includes('.txt  (file'))).toHaveLength(1);
  });

  it('ends quietly when its reader goes away, and loudly when it cannot be written', () => {
    const { bash } = sandbox();
    bash("T run -- sh -c 'for i in $(seq 1500); do echo $i > file-with-a-long-name-$i; done'");
    for (const words of ['show', 'diff', 'show --json']) {
      const ended = bash(`T ${words} | head -c 10; echo " \${PIPESTATUS[0]}"`);
      expect(ended.stdout, words).toMatch(/ 0\n$/);
      expect(ended.stderr, words).toBe('');
    }
    const full = bash('T show > /dev/full');
    expect(full.status).toBe(4);
    expect(codeOf(full)).toBe('OUTPUT_UNWRITABLE');
  });

  it.skipIf(!existsSync('/dev/full'))(
    'a log that cannot be written is told in a line, and changes nothing else',
    () => {
      const { agentdiff, json, bash, ws } = sandbox();
      const told = (text: string): number => text.match(/\[OUTPUT_UNWRITABLE\]$/gm)?.length ?? 0;
      writeFileSync(join(ws, 'f'), '1');
      const ran = agentdiff(['run', '--log-file', '/dev/full', '--', 'sh', '-c', 'rm f; exit 7']);
      expect([ran.status, told(ran.stderr)], ran.stderr).toEqual([7, 1]);
      expect(ran.stderr).toContain('capsule digest');
      expect(json(['show']).capsule).toMatchObject({ exit: { code: 7 }, counts: { deleted: 1 } });
      const recovered = agentdiff(['recover', '--yes', '--log-file', '/dev/full']);
      expect([recovered.status, told(recovered.stderr)], recovered.stderr).toEqual([0, 1]);
      expect(json(['show']).capsule).toMatchObject({ kind: 'recover' });
      expect(readdirSync(ws)).toEqual(['f']);
      expect(bash("T run --verbose -- sh -c 'exit 7' 2> /dev/full").status).toBe(7);
    },
  );

  it('logs JSON lines only when it is asked to', () => {
    const { agentdiff, ws } = sandbox();
    const file = join(ws, '..', 'log');
    expect(agentdiff(['run', '--quiet', '--', 'true']).stderr).toBe('');
    agentdiff(['run', '--quiet', '--log-file', file, '--', 'true']);
    const verbose = agentdiff(['run', '--quiet', '--verbose', '--', 'true']).stderr;
    for (const text of [verbose, readFileSync(file, 'utf8')]) expect(lastLine(text)).toHaveProperty('msg');
    const lines = verbose
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(lines).toContainEqual(
      expect.objectContaining({ event: expect.objectContaining({ type: 'child-started' }) as object }),
    );
  });
});
