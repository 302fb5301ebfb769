/** The policy file, the options that set limits, and what a run says of content that it does not keep. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Ended, type Sandbox, sandbox } from '../support/cli.ts';
import { inTerminal } from '../support/terminal.ts';
import { expectError, expectIntact, recover, skipUnless } from '../support/reports.ts';

interface Lowered {
  readonly path: string;
  readonly level: string;
  readonly rule: string;
}

/** What the newest capsule says was looked at less closely, as `path level rule`. */
function loweredOf(box: Sandbox): string[] {
  const { capsule } = box.json(['show']);
  return capsule.coverage.lowered.map(({ path: at, level, rule }: Lowered) => `${at} ${level} ${rule}`);
}

function policyOf(box: Sandbox) {
  return JSON.parse(fs.readFileSync(path.join(box.newestCapsule(), 'policy.json'), 'utf8'));
}

const notices = ({ stderr }: Ended): string[] =>
  stderr.split('\n').filter((line) => line.includes('content is not kept for'));

describe('the policy file', () => {
  it('sets levels and limits, is named in the capsule with its digest, and the capsule verifies', () => {
    const box = sandbox();
    box.bash(`mkdir data secret; echo only here > data/a; echo 1 > secret/b; head -c 2000 /dev/zero > big; echo 1 > f
cat > agentdiff.yaml <<'END'
version: 1
capture:
  - {glob: data/**, level: digest, reason: made again}
  - {path: secret, level: none}
limits: {keptFileBytes: 1 KiB}
END`);
    const ended = box.bash("T run -- sh -c 'rm data/a big f'");
    expect(ended.status).toBe(0);
    expect(loweredOf(box)).toEqual([
      'big digest limit: file over 1 KiB',
      'data digest file: data/**',
      'secret none file: secret',
    ]);
    const sum = box.bash('sha256sum < agentdiff.yaml').stdout.slice(0, 64);
    expect(policyOf(box)).toMatchObject({
      name: 'file',
      file: { path: 'agentdiff.yaml', digest: sum },
      limits: { keptFileBytes: 1024 },
      limitsBy: { keptFileBytes: 'file' },
    });
    expectIntact(box);
    const { stdout } = box.agentdiff(['show']);
    expect(stdout).toContain('digest by file: data/**: 1 place, 1 file');
    expect(stdout).toContain('made again');
    expect(recover(box).results).toEqual([
      'refused big: content-not-kept',
      'refused data/a: content-not-kept',
      'restored f',
    ]);
  });

  it('one that is wrong stops the run before the command, and doctor says where; recover works all the same', () => {
    const box = sandbox();
    box.bash("echo 1 > f; T run -- sh -c 'rm f; echo version: 2 > agentdiff.yaml' || true");
    box.bash("printf 'version: 1\\nlimits:\\n  keptFileBytes: 1 MB\\n' > agentdiff.yaml");
    const ended = box.agentdiff(['run', '--', 'touch', 'ran']);
    expectError(ended, 'POLICY_INVALID', 125);
    expect(ended.stderr).toContain('agentdiff.yaml:3:18: limits.keptFileBytes: ');
    expect(fs.existsSync(path.join(box.ws, 'ran'))).toBe(false);
    const doctor = box.agentdiff(['doctor']);
    expect(doctor.status).toBe(1);
    expect(doctor.stdout).toContain('agentdiff.yaml:3:18');
    expect(recover(box, '--path', 'f').results).toEqual(['restored f']);
  });

  it.each([
    ['a link', 'ln -s /dev/null agentdiff.yaml'],
    ['a dangling link', 'ln -s nowhere agentdiff.yaml'],
    ['a fifo', 'mkfifo agentdiff.yaml'],
    ['a directory', 'mkdir agentdiff.yaml'],
    ['too long', 'head -c 300000 /dev/zero | tr "\\0" "#" > agentdiff.yaml'],
    ['not UTF-8', 'printf "version: 1 # \\377\\n" > agentdiff.yaml'],
  ])('%s is not read', (_what, script) => {
    const box = sandbox();
    box.bash(script);
    expectError(box.agentdiff(['run', '--', 'touch', 'ran']), 'POLICY_INVALID', 125);
  });

  it('--policy names another one, in JSON too; in the workspace a change of it is denied', () => {
    const box = sandbox();
    box.bash(
      `echo 'not: read' > agentdiff.yaml; mkdir ci; echo '{"version": 1, "limits": {"maxDepth": 9}}' > 'ci/p*.json'`,
    );
    const ended = box.bash(`T run --policy 'ci/p*.json' -- sh -c 'echo >> "ci/p*.json"'`);
    expect(ended.status).toBe(3);
    expect(policyOf(box).limits.maxDepth).toBe(9);
    expectIntact(box);
    const [change] = box.json(['show']).changes;
    expect(change).toMatchObject({ path: 'ci/p*.json', decision: 'deny', rule: 'policy-file' });
    expectError(box.agentdiff(['run', '--policy', 'gone', '--', 'true']), 'POLICY_INVALID', 125);
    expectError(box.agentdiff(['run', '--policy', '', '--', 'true']), 'USAGE', 125);
  });

  it('without one neither yaml nor zod is loaded', () => {
    const box = sandbox();
    const coverage = path.join(box.home, 'coverage');
    const loaded = (): string[] => {
      fs.rmSync(coverage, { recursive: true, force: true });
      expect(box.agentdiff(['run', '--', '/bin/true'], { env: { NODE_V8_COVERAGE: coverage } }).status).toBe(
        0,
      );
      return fs.readdirSync(coverage).flatMap((name) => {
        const { result } = JSON.parse(fs.readFileSync(path.join(coverage, name), 'utf8'));
        return result
          .map(({ url }: { url: string }) => url)
          .filter(
            (url: string) =>
              url.startsWith('file:') &&
              fs.readFileSync(fileURLToPath(url), 'utf8').match(/LineCounter|ZodError/),
          );
      });
    };
    expect(loaded()).toEqual([]);
    box.bash('echo version: 1 > agentdiff.yaml');
    expect(loaded()).not.toEqual([]);
  });
});

describe('options', () => {
  it.each([
    ['--max-file-size', '1K', 'big digest limit: file over 1 KiB'],
    ['--max-hash-size', '1KiB', 'big stat limit: file over 1 KiB'],
    ['--max-new-bytes', '1500', 'big digest limit: new content of the run'],
  ])('%s %s: the file is named before the command starts, with the option', (option, size, lowered) => {
    const box = sandbox();
    box.bash('head -c 2000 /dev/zero > big');
    const ended = box.bash(`T run ${option} ${size} -- sh -c 'echo child >&2'`);
    expect(ended.status).toBe(0);
    expect(loweredOf(box)).toEqual([lowered]);
    const [notice = '', child] = ended.stderr.split('\n');
    expect(notice).toContain('big (1 file, 2.0 KiB)');
    expect(notice).toContain(option);
    expect(child).toBe('child');
    expect(Object.values(policyOf(box).limitsBy)).toEqual(['flag']);
    expectIntact(box);
  });

  it('come before the file', () => {
    const box = sandbox();
    box.bash(
      `echo 1 > f; printf 'version: 1\\ncapture:\\n- {glob: f, level: none}\\nlimits: {keptFileBytes: 1, freePercent: 1}\\n' > agentdiff.yaml`,
    );
    expect(
      box.agentdiff(['run', '--capture', 'f=stat', '--max-file-size', '2M', '--min-free', '0', '--', 'true'])
        .status,
    ).toBe(0);
    expect(loweredOf(box)).toEqual(['f stat flag: f']);
    expect(policyOf(box)).toMatchObject({
      limits: { keptFileBytes: 2 ** 21, freeBytes: 0 },
      limitsBy: { keptFileBytes: 'flag', freeBytes: 'flag' },
    });
    expect(policyOf(box).limits).not.toHaveProperty('freePercent');
  });

  it.each([
    ['--max-file-size', '1MB'],
    ['--max-store-size', 'much'],
    ['--min-free', '101%'],
    ['--capture', 'x=all'],
  ])('%s %s is refused', (option, value) => {
    expectError(sandbox().agentdiff(['run', option, value, '--', 'true']), 'USAGE', 125);
  });
});

describe('each level', () => {
  it('structure: that an edit in place may not be seen is said before the command, at its end, and in show', () => {
    const box = sandbox();
    box.bash('mkdir node_modules; echo 1 > node_modules/f; echo 1 > g');
    const ended = box.bash("T run -- sh -c 'echo child >&2; echo 2 > g; echo 2 > node_modules/new'");
    const [before = '', after = ''] = ended.stderr.split('child');
    expect(before).toContain('edits in place may not be seen');
    expect(after).toContain('an edit in place may not be');
    const { stdout } = box.agentdiff(['show']);
    expect(stdout).toContain('an edit in place may not be');
    expect(stdout).toContain('created  node_modules/new');
    expect(box.agentdiff(['doctor', 'last']).stdout).toContain('structure by regenerable: node_modules');
  });

  it.each([['digest'], ['stat'], ['structure'], ['none']])(
    '%s: said before the command, and nothing is put back',
    (level) => {
      const box = sandbox();
      box.bash('mkdir d; echo 1 > d/f');
      const ended = box.bash(`T run --capture d=${level} -- sh -c 'echo child >&2; rm d/f'`);
      const [notice = '', child] = ended.stderr.split('\n');
      expect(notice).toMatch(/^agentdiff: .*\bd\b.*cannot be put back/);
      expect(child).toBe('child');
      expect(loweredOf(box)).toEqual([`d ${level} flag: d`]);
      expect(recover(box).results.filter((line) => line.startsWith('restored'))).toEqual([]);
      expectIntact(box);
    },
  );

  it('P1: what may not be read is said before the command', () => {
    const box = sandbox('nobody');
    const ended = box.bash("echo s > k; chmod 000 k; T run -- sh -c 'echo child >&2'");
    expect(ended.stderr.split('\n').slice(0, 2)).toEqual([
      expect.stringContaining('k (unreadable)'),
      'child',
    ]);
  });

  it('E3: a rule with a slash leaves a link of that name alone, and nothing behind a link is looked at', () => {
    const box = sandbox();
    box.bash('ln -s nowhere node_modules; mkdir "$HOME/out"; echo 1 > "$HOME/out/x"; ln -s "$HOME/out" out');
    box.bash("T run --capture 'node_modules/=none' --capture 'out/=none' -- rm node_modules out");
    expect(box.json(['show']).capsule.coverage.unobserved.beforeTotal).toBe(0);
    expect(recover(box).results).toEqual(['restored node_modules', 'restored out']);
  });
});

describe('K1: no room in the store', () => {
  it.each([['--min-free', '100%', 'limit: free space']])(
    '%s %s: stops before the command; --best-effort goes on and names it',
    (option, value, rule) => {
      const box = sandbox();
      box.bash('head -c 2000 /dev/urandom > big');
      expect(box.bash('mkdir w; cd w; T run --root . -- true').status).toBe(0);
      const ended = box.agentdiff(['run', option, value, '--', 'touch', 'ran']);
      expectError(ended, 'STORE_FULL', 125);
      expect(ended.stderr).toContain(rule);
      for (const way of [option, '--best-effort', '--store']) expect(ended.stderr).toContain(way);
      expect(fs.existsSync(path.join(box.ws, 'ran'))).toBe(false);
      expect(box.json(['list']).runs).toEqual([]);
      expect(box.bash('find "$AGENTDIFF_STORE" -name "*.pack" -size +1k').stdout).toBe('');
      const lowered = box.agentdiff(['run', option, value, '--best-effort', '--', 'rm', 'big']);
      expect(lowered.status).toBe(0);
      expect(notices(lowered)).toHaveLength(1);
      expect(loweredOf(box)).toContain(`big digest ${rule}`);
      expect(recover(box).results).toEqual(['refused big: content-not-kept']);
    },
  );

  it('--max-store-size lowers what does not fit, says so before the command, and stops nothing', () => {
    const box = sandbox();
    box.bash('head -c 2000 /dev/urandom > big');
    const ended = box.agentdiff(['run', '--max-store-size', '1K', '--', 'rm', 'big']);
    expect(ended.status).toBe(0);
    expect(notices(ended)).toEqual([expect.stringContaining('keep it with --max-store-size')]);
    expect(loweredOf(box)).toContain('big digest limit: size of the store');
  });

  it('a file system that is too small: nothing of the run is left, and earlier capsules verify', (context) => {
    const can = spawnSync('unshare', ['-Urm', 'true']).status === 0;
    skipUnless(context, can, 'needs a mount namespace');
    const box = sandbox();
    const script = `mkdir -p "$AGENTDIFF_STORE" && mount -t tmpfs -o size=1m,mode=700 t "$AGENTDIFF_STORE" || exit 99
echo 1 > f; T run -- rm f 2> /dev/null || exit 98
head -c 3M /dev/urandom > big
used() { du -s "$AGENTDIFF_STORE" | cut -f1; }
before=$(used); T run -- touch ran; echo "status $?"; ls; test "$(used)" -le "$before" && echo same
T verify > /dev/null && echo verified
T run --best-effort -- rm big 2> /dev/null; echo "status $?"; T recover --yes`;
    const ended = box.bash(`unshare -Urm bash -c '${script}'`);
    expect(ended.stdout.split('\n').slice(0, 5)).toEqual([
      'status 125',
      'big',
      'same',
      'verified',
      'status 0',
    ]);
    expect(ended.stdout).toContain('content-not-kept');
    expect(ended.stderr).toContain('no space on the disk of the store');
  });
});

describe('what is said of places that were looked at less closely', () => {
  it('where no change was seen too', () => {
    const box = sandbox();
    box.bash('mkdir node_modules; echo 1 > node_modules/i.js');
    const ended = box.agentdiff(['run', '--', 'true']);
    expect(ended.stderr).toContain('no change seen in the workspace');
    expect(ended.stderr).toContain('only names in 1 place, an edit in place may not be seen');
    expect(box.agentdiff(['run', '--capture', 'node_modules=content', '--', 'true']).stderr).not.toContain(
      'Looked at less closely',
    );
  });

  it('a rule is shown as it was written, and what nobody looked into is not counted', () => {
    const box = sandbox();
    box.bash('mkdir d; echo 1 > d/x; echo 2 > f');
    const ended = box.agentdiff(['run', '--capture', 'd/=none', '--capture', 'f=none', '--', 'true']);
    expect(ended.stderr).toContain('d (level none by flag: d/), f (level none by flag: f), 2 places');
    expect(ended.stderr).toContain('--capture GLOB=LEVEL');
    expect(notices(ended)).toEqual([]);
    const { stdout } = box.agentdiff(['show']);
    expect(stdout).toContain('d  level none, not looked into  (flag: d/)');
    expect(stdout).not.toContain('0 files');
    const { capsule, lowered } = box.json(['show']);
    expect(capsule.coverage.lowered).toEqual([
      { path: 'd', level: 'none', rule: 'flag: d/', reason: 'asked for' },
      { path: 'f', level: 'none', rule: 'flag: f', reason: 'asked for' },
    ]);
    expect(lowered[0]).not.toHaveProperty('files');
    expectIntact(box);
  });

  it('the notice says where edits may not be seen, and which rule to change', () => {
    const box = sandbox();
    box.bash(`mkdir node_modules data more; for d in node_modules data more; do echo $d > $d/x; done
printf 'version: 1\ncapture: [{glob: more/**, level: digest}]\n' > agentdiff.yaml`);
    const [notice = ''] = notices(box.agentdiff(['run', '--capture', 'data=digest', '--', 'true']));
    expect(notice).toContain('; edits in place in node_modules may not be seen');
    expect(notice).toContain('content in place of digest in --capture data');
    expect(notice).toContain('--capture GLOB=content, which comes before more/** of the policy file');
  });

  it('contents that the store has from before are not said to be lost', () => {
    const box = sandbox();
    box.bash('mkdir d; echo 1 > d/x; echo 2 > d/y');
    box.bash('T run -- true');
    const ended = box.bash('T run --capture d=digest -- rm d/x d/y');
    expect(notices(ended)[0]).toContain('cannot be put back, unless the store has it from before');
    expect(ended.stderr).toContain('2 of 2 recorded changes can be taken back');
    expect(ended.stderr).toContain('can be put back only where the store had its content already');
  });

  it('doctor names path, rule and reason, and what was not observed', () => {
    const box = sandbox('nobody');
    box.bash('mkdir data; echo 1 > data/a; echo s > k; chmod 000 k; T run --capture data=digest -- true');
    const { checks } = box.json(['doctor']);
    const kept = checks.find(({ id }: { id: string }) => id === 'kept');
    expect(kept.status).toBe('limited');
    expect(kept.detail).toContain('level digest (flag: data; asked for; 1 file; data)');
    expect(kept.detail).toContain('did not observe 1 place: k (unreadable)');
    expect(box.json(['doctor', 'last'])).toMatchObject({
      lowered: [{ rule: 'flag: data', reason: 'asked for', examples: ['data'] }],
      unobserved: { total: 1, examples: ['k (unreadable)'] },
    });
    expect(box.agentdiff(['doctor', 'last']).stdout).toContain('not observed: 1 place: k (unreadable)');
  });

  it('doctor: places that were not observed are no reason to be content', () => {
    const box = sandbox('nobody');
    box.bash('echo s > k; T run -- true');
    const kept = () => box.json(['doctor']).checks.find(({ id }: { id: string }) => id === 'kept');
    expect(kept()).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('kept the content of every file that it found') as string,
    });
    box.bash('chmod 000 k; T run -- true');
    expect(kept().status).toBe('limited');
  });
});

describe('taking back what was not kept', () => {
  it('is said by the summary, the plan, before --yes, and by the capsule', () => {
    const box = sandbox();
    box.bash('echo 1 > small; echo old > f');
    const ended = box.bash(
      `T run --max-file-size 1K -- sh -c 'head -c 3000 /dev/urandom | tee made > f; echo x >> f; echo 2 > kept'`,
    );
    expect(ended.stderr).toContain('In 2 places content that the run left was not kept');
    expect(loweredOf(box)).toEqual([]);
    const { capsule } = box.json(['show']);
    expect(capsule.coverage.loweredAfter).toEqual([
      { path: 'f', level: 'digest', rule: 'limit: file over 1 KiB', files: 1, bytes: 3002 },
      { path: 'made', level: 'digest', rule: 'limit: file over 1 KiB', files: 1, bytes: 3000 },
    ]);
    expect(box.agentdiff(['show']).stdout).toContain('made  level digest, 1 file, 2.9 KiB');
    expectIntact(box);
    const plan = box.agentdiff(['recover', '--dry-run']).stdout;
    expect(plan).toMatch(/^ {4}made {2}cannot be undone: /m);
    expect(plan).toMatch(/^ {4}kept$/m);
    expect(plan).toContain('2 steps cannot be undone: f, made');
    const asked = inTerminal(box, 'T recover', 'n');
    expect(asked.shown).toContain('Apply? 2 steps cannot be undone [y/N]');
    const applied = box.agentdiff(['recover', '--yes']);
    expect(applied.stderr).toContain('2 steps cannot be undone: f, made');
    expect(applied.status).toBe(0);
  });

  it('a refusal names level and rule of the place', () => {
    const box = sandbox();
    box.bash('mkdir node_modules; echo 1 > node_modules/i.js; T run -- rm node_modules/i.js');
    expect(box.agentdiff(['recover', '--dry-run']).stdout).toContain(
      'its content was not kept (level structure by regenerable: node_modules)',
    );
  });
});
