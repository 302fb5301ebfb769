/** The line that a long scan shows. The scan is made long by delaying one of its system calls, so that no test depends on how fast it is. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Sandbox, sandbox } from '../support/cli.ts';
import { inTerminal } from '../support/terminal.ts';

const CLEAR = `${String.fromCharCode(27)}[K`;
const LINE = /agentdiff: scanning before the command: [\d,]+ files, [\d.]+ K?B read, [\d.,]+ \S+\/s/;

const canDelay =
  spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0 &&
  spawnSync('strace', ['-o', '/dev/null', '-e', 'inject=getdents64:delay_enter=1', 'true']).status === 0;

/** A workspace whose listing alone takes longer than half a second, and the words that make it so. */
function slow(): { box: Sandbox; slowly: string } {
  const box = sandbox();
  const dir = join(realpathSync(box.ws), 'd');
  mkdirSync(dir);
  for (let i = 0; i < 1000; i++) writeFileSync(join(dir, `${i}`), `${i}`);
  return {
    box,
    slowly: `strace -f -o /dev/null -P '${dir}' -e trace=getdents64 -e inject=getdents64:delay_enter=600000`,
  };
}

/** What a terminal shows in the end of what was written to it. */
function leftOf(shown: string): string {
  return shown.slice(shown.lastIndexOf(CLEAR) + CLEAR.length);
}

it.skipIf(!canDelay)(
  'is there on a terminal, and gone before the command prints (needs script and strace)',
  () => {
    const { box, slowly } = slow();
    const { status, shown } = inTerminal(box, `${slowly} T run -- echo out`);
    expect(status).toBe(0);
    expect(shown).toMatch(LINE);
    expect(shown.indexOf('out\n')).toBeGreaterThan(shown.search(LINE));
    expect(shown).toContain(`${CLEAR}out\n`);
    expect(leftOf(shown)).not.toContain('scanning');
  },
);

it.skipIf(!canDelay)('is gone when the scan fails (needs script and strace)', () => {
  const { box, slowly } = slow();
  // The store cannot take the objects of the scan: 8 blocks are written at most.
  const { status, shown } = inTerminal(box, `ulimit -f 8; trap '' XFSZ; ${slowly} T run -- echo out`);
  expect(status).toBe(125);
  expect(shown).toMatch(LINE);
  expect(leftOf(shown)).toContain('[STORE_UNWRITABLE]');
  expect(leftOf(shown)).not.toContain('scanning');
});

it.skipIf(!canDelay).each([
  ['in a CI', 'CI=true', '', ''],
  ['on a terminal that cannot go back', 'TERM=dumb', '', ''],
  ['when it is to be quiet', '', '--quiet', ''],
  ['when stderr is no terminal', '', '', '2> "$HOME/told"; cat "$HOME/told"'],
])('is not there %s (needs script and strace)', (_what, environment, option, behind) => {
  const { box, slowly } = slow();
  const command = `${environment} ${slowly} T run ${option} -- echo out ${behind}`;
  const { status, shown } = inTerminal(box, command);
  expect(status).toBe(0);
  expect(shown).toContain('out\n');
  expect(shown).not.toContain('scanning');
});
