/** Permission bits, and what a user may not read or write. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import { changesOf, expectIntact, recover, shownChanges } from '../support/reports.ts';

it('P1: a file that may not be read is named, and never put back as something empty', () => {
  const box = sandbox('nobody');
  box.bash('echo s > k; chmod 000 k; echo 1 > f');
  const ended = box.bash(`T run -- sh -c 'rm -f k; echo 2 > f'`);
  expect(ended.status).toBe(0);
  expect(changesOf(box)).toEqual(['modified file f', 'deleted file k']);
  expect(shownChanges(box)[1]).toMatchObject({ recoverable: false, reason: 'unreadable' });
  expect(box.json(['show']).capsule.coverage).toMatchObject({
    complete: false,
    unobserved: { before: [{ path: 'k', reason: 'unreadable' }] },
  });
  expect(ended.stderr).toContain('k');
  expect(recover(box)).toEqual({ status: 3, results: ['restored f', 'refused k: not-observed'] });
  expect(box.bash('cat f; ls').stdout).toBe('1\nf\n');
});

it('P2: what was hidden before is not created after, and never removed', () => {
  const box = sandbox('nobody');
  box.bash('mkdir d; echo x > d/f; chmod 000 d');
  expect(box.bash(`T run -- chmod 700 d`).status).toBe(0);
  expect(shownChanges(box).map((change) => change.path)).toEqual(['d']);
  expect(box.json(['show']).capsule.coverage.unobserved.before).toEqual([
    { path: 'd', reason: 'unreadable' },
  ]);
  recover(box);
  expect(box.bash('chmod 700 d; cat d/f').stdout).toBe('x\n');
});

it('P3: a change of the mode alone is one change, keeps nothing, and leaves the time alone', () => {
  const box = sandbox();
  box.bash('echo x > s; chmod 755 s; touch -d 2020-01-01 s');
  const before = fingerprint(box.ws, { times: true });
  const size = (): string =>
    box.bash(`find "$AGENTDIFF_STORE" -path '*/packs/*.pack' -printf '%f %s\\n' | sort`).stdout;
  box.agentdiff(['run', '--', 'true']);
  const blobs = size();
  const ended = box.agentdiff(['run', '--', 'chmod', '600', 's']);
  expect(ended.status).toBe(0);
  expect(changesOf(box)).toEqual(['modified file s']);
  const [change] = shownChanges(box);
  expect([change?.before?.state.mode, change?.after?.state.mode]).toEqual([0o755, 0o600]);
  expect(box.agentdiff(['show']).stdout).toContain('0755 → 0600');
  // What is new in the store is the tree that holds the new mode, shorter than a hundred bytes and a header.
  const grown = size()
    .split('\n')
    .filter((line) => !blobs.includes(line) && line !== '');
  expect(grown).toHaveLength(1);
  expect(recover(box)).toEqual({ status: 0, results: ['restored s'] });
  expect(fingerprint(box.ws, { times: true })).toEqual(before);
  expectIntact(box);
});

it('P3: directories, and the root itself, get their modes back too', () => {
  const box = sandbox();
  box.bash('mkdir -m 750 d; chmod 711 .');
  expect(box.bash(`T run -- sh -c 'chmod 700 d; chmod 755 .'`).status).toBe(0);
  expect(recover(box).status).toBe(0);
  expect(box.bash('stat -c %a . d').stdout).toBe('711\n750\n');
});

it('P4: setuid and sticky bits come back for their owner', () => {
  const box = sandbox();
  box.bash('cp /bin/true s; chmod 4755 s; mkdir t; chmod 1777 t; echo g > g; chmod 2755 g');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- sh -c 'chmod 755 s; rmdir t; rm g'`).status).toBe(0);
  expect(recover(box)).toEqual({ status: 0, results: ['restored g', 'restored s', 'restored t'] });
  expect(box.bash('stat -c %a s t g').stdout).toBe('4755\n1777\n2755\n');
  expect(fingerprint(box.ws)).toEqual(before);
});

it('P5: a parent that the run made read-only is put back in an order that works', () => {
  const box = sandbox('nobody');
  box.bash('mkdir d; echo x > d/f');
  const before = fingerprint(box.ws);
  expect(box.bash(`T run -- sh -c 'rm d/f; chmod 555 d'`).status).toBe(0);
  const { status, results } = recover(box);
  if (status === 0) expect(fingerprint(box.ws)).toEqual(before);
  // No half: either both, or neither.
  else {
    expect(results).toEqual(['refused d: not-permitted', 'refused d/f: not-permitted']);
    expect(fs.readdirSync(path.join(box.ws, 'd'))).toEqual([]);
  }
});
