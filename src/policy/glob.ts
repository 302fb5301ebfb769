import picomatch from 'picomatch';
import { AgentdiffError, lossyText, type RelPath } from '../core/index.ts';

/**
 * `dot` and `s`: a leading dot or a newline in a name must not take it out of a rule. `nonegate`: a leading `!` is a character.
 * `strictBrackets` and `debug`: a glob that cannot be read is an error, not one that matches nothing.
 */
const OPTIONS = {
  dot: true,
  flags: 's',
  nonegate: true,
  strictBrackets: true,
  debug: true,
  windows: false,
} as const;

/**
 * A test for the paths that a glob names: the entry itself and everything below it.
 *
 * A path that is not UTF-8 is matched on its text with U+FFFD in place of the odd bytes: its readable parts, and so the directories
 * above it, match as they do for any other path. `?` stands for one UTF-16 unit. The root matches no glob.
 *
 * Several `*` in one part make matching slow for long names (four cost a minute on 255 bytes), so the globs of a stranger are not for compiling.
 * @throws USAGE when it is not a glob
 */
export function compileGlob(glob: string): (path: RelPath) => boolean {
  try {
    const matches = picomatch([glob, `${glob}/**`], OPTIONS);
    return (path) => matches(lossyText(path));
  } catch (cause) {
    throw new AgentdiffError('USAGE', `not a glob: ${JSON.stringify(glob)}`, { cause });
  }
}

/** The glob without a leading `./` and trailing slashes; undefined when it is empty, absolute or steps up. */
export function relativeGlob(glob: string): string | undefined {
  const plain = glob.replace(/^(\.\/+)+/, '').replace(/\/+$/, '');
  if (plain === '' || plain === '.' || plain.startsWith('/')) return undefined;
  return plain.split('/').includes('..') ? undefined : plain;
}
