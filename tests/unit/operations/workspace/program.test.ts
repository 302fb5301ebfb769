import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitStatusOf } from '../../../../src/core/index.ts';
import { launchProblem } from '../../../../src/operations/workspace/program.ts';
import { temporaryDir } from '../../../support/temporary.ts';

describe('launchProblem', () => {
  it.each([
    ['ENOENT', 'COMMAND_NOT_FOUND', 127],
    ['EACCES', 'COMMAND_NOT_EXECUTABLE', 126],
    ['ENOEXEC', 'COMMAND_NOT_EXECUTABLE', 126],
    ['EISDIR', 'COMMAND_NOT_EXECUTABLE', 126],
    ['ENOTDIR', 'COMMAND_NOT_EXECUTABLE', 126],
    ['E2BIG', 'LAUNCH_FAILED', 125],
    ['ENOMEM', 'LAUNCH_FAILED', 125],
  ] as const)('%s is %s, status %i', (errno, code, status) => {
    const problem = launchProblem('no-such-program', errno, '/nowhere', '/');
    expect(problem).toMatchObject({ code, data: { program: 'no-such-program', errno } });
    expect(exitStatusOf(problem.code, 'run')).toBe(status);
  });

  it('tells a script whose interpreter is missing from a program that is missing', () => {
    const dir = temporaryDir();
    fs.writeFileSync(path.join(dir, 'script'), '#!/no/interpreter\n', { mode: 0o755 });
    fs.writeFileSync(path.join(dir, 'data'), '', { mode: 0o644 });
    const text = (program: string, searched = dir): string =>
      launchProblem(program, 'ENOENT', searched, dir).message;
    const missing = text('nothing').replace('nothing', 'X');
    for (const found of [
      text('script'),
      text('./script'),
      text(`${dir}/script`),
      text('script', `/nowhere::${dir}`),
      text('script', ''),
    ]) {
      expect(found.replace(/^.*script/, 'X')).not.toBe(missing);
    }
    expect(text('data').replace('data', 'X')).toBe(missing);
    expect(text('script', '/nowhere').replace('script', 'X')).toBe(missing);
  });

  it('escapes the name', () => {
    expect(launchProblem('\u001b[2J', 'ENOENT', '', '/').message).not.toContain('\u001b');
  });
});
