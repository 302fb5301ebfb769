/**
 * What only the kernel knows about the process we are: Node decodes arguments and environment as UTF-8 and replaces what is not, so
 * without these checks a child would get other bytes than those that were typed.
 */
import { AgentdiffError, type ByteString, escapeText, fromBytes, isMarked } from '../core/index.ts';
import { ownArgumentBytes, ownWorkingDirectory } from '../fs/index.ts';

export { absolute, settled } from './workspace/root.ts';

/** The working directory byte for byte; undefined where it is gone or the system has no /proc. */
export { ownWorkingDirectory };

/**
 * @param count how many of the last arguments are the user's (the ones before are Node's)
 * @param isUsed which environment variables matter
 * @throws INPUT_NOT_UTF8 naming the first offender; nothing is checked where there is no /proc
 */
export function checkOwnInput(count: number, isUsed: (name: string) => boolean): void {
  const own = ownArgumentBytes();
  if (own === undefined) return;
  const argv = split(own.argv);
  argv.slice(argv.length - count).forEach((argument, i) => {
    if (isMarked(argument))
      refuse(`argument ${i + 1}`, argument, 'rename the file, or name it inside a script and run the script');
  });
  for (const pair of split(own.environment)) {
    const name = nameOf(pair);
    if (isMarked(pair) && isUsed(name))
      refuse('the environment variable', pair, `unset it: env -u ${escapeText(name)} agentdiff …`);
  }
}

/** @throws INPUT_NOT_UTF8 */
export function checkOwnDirectory(directory: ByteString): void {
  if (isMarked(directory))
    refuse('the working directory', directory, 'start from a directory whose name is valid UTF-8');
}

function split(bytes: Buffer): ByteString[] {
  const parts: ByteString[] = [];
  for (let start = 0; start < bytes.length; ) {
    const nul = bytes.indexOf(0, start);
    const end = nul < 0 ? bytes.length : nul;
    parts.push(fromBytes(bytes.subarray(start, end)));
    start = end + 1;
  }
  return parts;
}

function nameOf(pair: ByteString): string {
  const text = isMarked(pair) ? pair.slice(1) : pair;
  return text.slice(0, text.indexOf('='));
}

function refuse(what: string, found: ByteString, hint: string): never {
  throw new AgentdiffError(
    'INPUT_NOT_UTF8',
    `${what} is not valid UTF-8, and Node.js would hand on other bytes: ${escapeText(found)}`,
    {
      hint,
      data: { what, found: escapeText(found) },
    },
  );
}
