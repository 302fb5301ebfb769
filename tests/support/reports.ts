import { expect, type TestContext } from 'vitest';
import type { Ended, Sandbox } from './cli.ts';

interface JsonPath {
  readonly path: string;
  readonly pathBytes?: string;
}

interface Side {
  readonly state: { readonly kind: string; readonly mode: number };
}

/** A change as `show --json` has it. */
export interface ShownChange extends JsonPath {
  readonly before?: Side;
  readonly after?: Side;
  readonly level: string;
  readonly recoverable: boolean;
  readonly reason?: string;
}

/**
 * What `show --json` says that a run changed, each as `deleted file a`; a type change as `modified directory>symlink d`, and a name that is
 * not UTF-8 by its bytes in base64.
 */
export function changesOf(box: Sandbox, ref = 'last'): string[] {
  return shownChanges(box, ref).map((change) => {
    const [before, after] = [change.before?.state.kind, change.after?.state.kind];
    const word = before === undefined ? 'created' : after === undefined ? 'deleted' : 'modified';
    const kind =
      before === undefined || after === undefined || before === after
        ? (before ?? after)
        : `${before}>${after}`;
    return `${word} ${kind} ${change.pathBytes ?? change.path}`;
  });
}

export function shownChanges(box: Sandbox, ref = 'last'): ShownChange[] {
  return box.json(['show', ref]).changes;
}

interface Recovered {
  readonly status: number;
  /** Each as `restored a` or `refused a: changed-since`, in the order of the report. */
  readonly results: readonly string[];
}

/** `recover --yes --json`. */
export function recover(box: Sandbox, ...args: readonly string[]): Recovered {
  const { status, stdout } = box.agentdiff(['recover', ...args, '--yes', '--json']);
  const { results, exitStatus } = JSON.parse(stdout) as {
    results: readonly (JsonPath & { result: string; code?: string })[];
    exitStatus: number;
  };
  expect(exitStatus, 'the status in the report is that of the process').toBe(status);
  const line = ({ path, pathBytes, result, code }: (typeof results)[number]): string =>
    `${result} ${pathBytes ?? path}${code === undefined ? '' : `: ${code}`}`;
  return { status, results: results.map(line) };
}

/** Every sealed run verifies, and no claim about it fails. */
export function expectIntact(box: Sandbox): void {
  const ids = box.json(['list']).runs.filter(({ state }: { state: string }) => state === 'sealed');
  const { status, stdout } = box.agentdiff([
    'verify',
    '--json',
    ...ids.map(({ runId }: { runId: string }) => runId),
  ]);
  expect(status, stdout).toBe(0);
}

/** Inclusive ranges of code points that a terminal or a log acts on: C0 but the newline, DEL and C1, what breaks lines or reorders text. */
const ACTING = [
  [0x00, 0x09],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
] as const;

/** Nothing in the text acts on a terminal, and no byte was lost to a replacement character. */
export function expectPlain(text: string): void {
  const acting = Array.from(text).filter((character) => {
    const point = character.codePointAt(0) ?? 0;
    return point === 0xfffd || ACTING.some(([first, last]) => point >= first && point <= last);
  });
  expect(acting, text).toEqual([]);
}

/** All that can be said of the newest run, as text and as JSON, is plain; in the text each change has one line. */
export function expectPlainReports(box: Sandbox): void {
  const commands = [['list'], ['show'], ['diff'], ['verify'], ['doctor', 'last'], ['recover', '--dry-run']];
  for (const command of commands) {
    for (const flags of [[], ['--json']]) {
      const { stdout, stderr } = box.agentdiff([...command, ...flags]);
      expectPlain(stdout);
      expectPlain(stderr);
      expect(stdout + stderr).not.toContain('[INTERNAL]');
    }
  }
  expect(changeLines(box)).toHaveLength(shownChanges(box).length);
}

/** The lines of `show` that stand for a change. */
export function changeLines(box: Sandbox, ref = 'last'): string[] {
  const { stdout } = box.agentdiff(['show', ref]);
  return stdout.split('\n').filter((line) => /^ {2}(created|deleted|modified) /.test(line));
}

/** An error of ours: one or two lines on stderr, the first with the code, and nothing else. */
export function expectError({ status, stdout, stderr }: Ended, code: string, exit: number): void {
  const lines = stderr.trimEnd().split('\n');
  expect({ status, stdout, code: /\[([A-Z_0-9]+)\]$/.exec(lines[0] ?? '')?.[1] }, stderr).toEqual({
    status: exit,
    stdout: '',
    code,
  });
  expect(lines.length, stderr).toBeLessThanOrEqual(2);
  expectPlain(stderr);
}

/** Skips the test at hand and says why, whatever the reporter shows. */
export function skipUnless(context: TestContext, condition: boolean, reason: string): void {
  if (!condition) {
    process.stderr.write(`skipped: ${context.task.name}: ${reason}\n`);
    context.skip(reason);
  }
}
