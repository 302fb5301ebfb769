import { AgentdiffError, type ByteString, escapeText } from '../../core/index.ts';
import { isExecutable, statPath } from '../../fs/index.ts';
import { absolute } from './root.ts';

/**
 * What it means that a program could not be started, in the words of a shell: 127 not found, 126 found but not executable. A script whose
 * interpreter is missing fails with ENOENT too; then it is the interpreter that is not found.
 * @param errno of the failed start
 */
export function launchProblem(
  program: string,
  errno: string,
  path: string | undefined,
  cwd: ByteString,
): AgentdiffError {
  const shown = escapeText(program);
  const data = { program: shown, errno };
  if (errno === 'ENOENT') {
    if (locate(program, path, cwd) !== undefined) {
      return new AgentdiffError('COMMAND_NOT_FOUND', `${shown}: its interpreter does not exist`, {
        hint: 'the first line of the script (#!) names a program that is missing',
        data,
      });
    }
    return new AgentdiffError('COMMAND_NOT_FOUND', `${shown}: command not found`, {
      hint: 'nothing was run; check the name and PATH',
      data,
    });
  }
  if (errno === 'EACCES' || errno === 'ENOEXEC' || errno === 'EISDIR' || errno === 'ENOTDIR') {
    return new AgentdiffError('COMMAND_NOT_EXECUTABLE', `${shown}: cannot be executed (${errno})`, {
      hint: 'nothing was run; it is a directory, or has no execute permission',
      data,
    });
  }
  return new AgentdiffError('LAUNCH_FAILED', `${shown}: could not be started (${errno})`, {
    hint: 'nothing was run',
    data,
  });
}

/** Where the system would have found the program; undefined when nowhere. */
function locate(program: string, path: string | undefined, cwd: ByteString): ByteString | undefined {
  const candidates = program.includes('/')
    ? [absolute(program, cwd)]
    : (path ?? '/usr/bin:/bin')
        .split(':')
        .map((directory) => `${absolute(directory === '' ? '.' : directory, cwd)}/${program}`);
  return candidates.find((candidate) => statPath(candidate) !== undefined && isExecutable(candidate));
}
