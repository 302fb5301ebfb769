/** File names are bytes: every legal one is recorded, shown on one line, and brought back. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { fingerprint } from '../support/fingerprint.ts';
import {
  changeLines,
  changesOf,
  expectError,
  expectIntact,
  expectPlain,
  expectPlainReports,
  recover,
  shownChanges,
} from '../support/reports.ts';

it('F1: names that are not UTF-8 are told apart, kept byte for byte, and brought back', () => {
  const box = sandbox();
  box.bash(String.raw`echo 1 > $'\xfe'; echo 2 > $'\xff'; echo 3 > 'ÿ'`);
  const before = fingerprint(box.ws);
  expect(box.bash(String.raw`T run -- bash -c 'rm -f -- $'"'"'\xfe'"'"' $'"'"'\xff'"'"`).status).toBe(0);
  const bytes = [Buffer.from([0xfe]), Buffer.from([0xff])].map((name) => name.toString('base64'));
  expect(changesOf(box)).toEqual(bytes.map((name) => `deleted file ${name}`));
  expect(changeLines(box).map((line) => line.trim().split(/ +/)[1])).toEqual([
    String.raw`\xfe`,
    String.raw`\xff`,
  ]);
  expectPlainReports(box);
  expect(recover(box)).toEqual({ status: 0, results: bytes.map((name) => `restored ${name}`) });
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('F2: newline, tab and blank in a name make no further entries and no further lines', () => {
  const box = sandbox();
  box.bash(String.raw`echo a > $'a\nb'; echo b > $'c\td '`);
  const before = fingerprint(box.ws);
  expect(box.bash('T run -- find . -type f -delete').status).toBe(0);
  expect(fingerprint(box.ws)).toEqual([]);
  expect(changesOf(box)).toEqual(['deleted file a\nb', 'deleted file c\td ']);
  expect(changeLines(box)).toEqual([
    String.raw`  deleted  a\nb  (file 0644 2 B)`,
    String.raw`  deleted  c\td\x20  (file 0644 2 B)`,
  ]);
  expectPlainReports(box);
  expect(recover(box)).toEqual({ status: 0, results: ['restored a\nb', 'restored c\td '] });
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('F3: a leading dash is never taken for an option, and a path can be named all the same', () => {
  const box = sandbox();
  box.bash('echo x > ./-rf; echo y > ./--; mkdir ./-d');
  const before = fingerprint(box.ws);
  expect(box.bash('T run -- rm -r -- -rf -- -d').status).toBe(0);
  expect(changesOf(box)).toEqual(['deleted file --', 'deleted directory -d', 'deleted file -rf']);
  expectPlainReports(box);
  const restored = before.filter((line) => line.endsWith('"-rf"'));
  expect(recover(box, '--path=-rf')).toEqual({ status: 0, results: ['restored -rf'] });
  expect(fingerprint(box.ws)).toEqual(restored);
  const run = box.json(['list']).runs[0].runId;
  expect(recover(box, '--path', '--', '--path=-d')).toEqual({
    status: 0,
    results: ['restored --', 'restored -d'],
  });
  expect(fingerprint(box.ws)).toEqual(before);
  // Behind a `--`, operands need no care either.
  const ended = box.agentdiff(['recover', '--yes', '--', run, '-rf', '--']);
  expect(ended.status, ended.stderr).toBe(0);
  expect(ended.stdout).toContain('2 already right');
});

it('F4: a name of 255 bytes has no room beside it for a suffix', () => {
  const box = sandbox();
  const name = 'n'.repeat(255);
  fs.writeFileSync(path.join(box.ws, name), 'x\n');
  const before = fingerprint(box.ws);
  expect(box.agentdiff(['run', '--', 'rm', name]).status).toBe(0);
  expect(recover(box)).toEqual({ status: 0, results: [`restored ${name}`] });
  expect(fingerprint(box.ws)).toEqual(before);
});

it('F6: control bytes in a name never reach the terminal raw', () => {
  const box = sandbox();
  // In a name, in the target of a link, in what replaces both, and (C1, bidirectional) beyond ASCII.
  const hostile = String.raw`ok\r\e[2K\e]0;title\a`;
  const child = String.raw`echo x > $'${hostile}.txt'; ln -s $'${hostile}' link; echo y > $'\u009b2J\u202etxt'; mkdir $'\x7f'`;
  const ended = box.agentdiff(['run', '--', 'bash', '-c', child]);
  expect(ended.status).toBe(0);
  expectPlain(ended.stderr);
  expect(changesOf(box)).toEqual([
    'created symlink link',
    'created file ok\r\u001b[2K\u001b]0;title\u0007.txt',
    'created directory \u007f',
    'created file \u009b2J\u202etxt',
  ]);
  expectPlainReports(box);
  expect(recover(box).status).toBe(0);
  expect(fingerprint(box.ws)).toEqual([]);
  expectIntact(box);
});

it('F6: control bytes in a command and in what is asked for come back escaped too', () => {
  const box = sandbox();
  const hostile = 'no\r\u001b[2Ksuch\u0007\n\u009b';
  const missing = box.agentdiff(['run', '--', hostile]);
  expect(missing.status).toBe(127);
  expectPlain(missing.stderr);
  expectPlainReports(box);
  const asked = [
    box.agentdiff(['show', hostile]),
    box.agentdiff(['verify', `./${hostile}`]),
    box.agentdiff(['recover', 'last', hostile]),
    box.agentdiff(['list', '--root', hostile]),
    box.agentdiff([hostile]),
    box.agentdiff(['run', `--${hostile}`, '--', 'true']),
    box.agentdiff(['run', '--capture', hostile, '--', 'true']),
    box.agentdiff(['run', '--result-file', hostile + '/x', '--', 'true']),
    box.agentdiff(['list', '--log-file', hostile + '/x']),
  ];
  for (const { status, stdout, stderr } of asked) {
    expect(status).not.toBe(0);
    expect(stdout).toBe('');
    expectPlain(stderr);
    expect(stderr.trimEnd().split('\n').length, stderr).toBeLessThanOrEqual(2);
  }
});

it('F7: names that mean something to JavaScript objects are names like others', () => {
  const box = sandbox();
  box.bash('echo 1 > __proto__; echo 2 > constructor; mkdir prototype; echo 3 > toString');
  const before = fingerprint(box.ws);
  expect(box.bash('T run -- rm __proto__ constructor').status).toBe(0);
  expect(changesOf(box)).toEqual(['deleted file __proto__', 'deleted file constructor']);
  expect(shownChanges(box).every(({ recoverable }) => recoverable)).toBe(true);
  expect(recover(box, 'last', '__proto__')).toEqual({ status: 0, results: ['restored __proto__'] });
  // The recover is the newest capsule now; the default is still the command.
  expect(recover(box)).toEqual({ status: 0, results: ['already-right __proto__', 'restored constructor'] });
  expect(fingerprint(box.ws)).toEqual(before);
  expectIntact(box);
});

it('F9: what Node.js cannot hand on byte for byte is refused before the child starts', () => {
  const box = sandbox();
  box.bash(String.raw`touch $'a\xffb'; mkdir $'d\xff'`);
  const before = fingerprint(box.ws);
  expectError(box.bash(String.raw`T run -- rm $'a\xffb'`), 'INPUT_NOT_UTF8', 125);
  expectError(box.bash(String.raw`X=$'\xff' T run -- touch ran`), 'INPUT_NOT_UTF8', 125);
  expectError(box.bash(String.raw`cd $'d\xff' && T run -- touch ran`), 'INPUT_NOT_UTF8', 125);
  expect(fingerprint(box.ws)).toEqual(before);
  expect(fs.existsSync(box.store)).toBe(false);
});
