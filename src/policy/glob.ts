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
  const name = /^\*\*\/([^/*?[\](){}!+@|\\]+)$/.exec(glob)?.[1];
  if (name !== undefined) return nameAnywhere(name);
  try {
    const matches = picomatch([glob, `${glob}/**`], OPTIONS);
    return (path) => matches(lossyText(path));
  } catch (cause) {
    throw new AgentdiffError('USAGE', `not a glob: ${JSON.stringify(glob)}`, { cause });
  }
}

/** What a glob of `**` and one name means, as the built-in ones are: to make an expression of each takes longer than all else that a short run decides. */
function nameAnywhere(name: string): (path: RelPath) => boolean {
  return (path) => `/${lossyText(path)}/`.includes(`/${name}/`);
}

/** A test for one path, taken literally, and everything below it. */
function literalPath(path: string): (path: RelPath) => boolean {
  return (other) => {
    const text = lossyText(other);
    return text === path || text.startsWith(`${path}/`);
  };
}

/** The test that a rule means. @throws USAGE when its glob is not one */
export function matcherOf({
  glob,
  literal,
}: {
  readonly glob: string;
  readonly literal?: true;
}): (path: RelPath) => boolean {
  return literal === true ? literalPath(glob) : compileGlob(glob);
}

/**
 * A glob, or a path, as a user writes it, without a leading `./` and trailing slashes; undefined when it is empty, absolute or steps up. With a trailing
 * slash it speaks of directories only, and a link is none, wherever it leads.
 */
export function readGlob(
  text: string,
): { readonly glob: string; readonly when?: { readonly kind: 'directory' } } | undefined {
  const glob = text.replace(/^(\.\/+)+/, '').replace(/\/+$/, '');
  if (glob === '' || glob === '.' || glob.startsWith('/') || glob.split('/').includes('..')) return undefined;
  return text.endsWith('/') ? { glob, when: { kind: 'directory' } } : { glob };
}

/** What `readGlob` read as its user knows it: a rule for directories only is not shown as one for everything of that name. */
export function writtenGlob({ glob, when }: NonNullable<ReturnType<typeof readGlob>>): string {
  return when === undefined ? glob : `${glob}/`;
}

/** Alternatives that repeat; picomatch makes expressions of them whose time can double with each character. */
const EXTGLOB = /[@+*?!]\(/;
const MAX_STARS_IN_PART = 2;
/** Of all parts together, `**` being one: each more multiplies the time for a long path by its length. */
const MAX_STARS = 4;

/**
 * May this glob be compiled when it comes from a file that a command could have written? It then matches every path in milliseconds.
 * @returns what is wrong with it, or undefined
 */
export function costOf(glob: string): string | undefined {
  if (EXTGLOB.test(glob)) return 'no alternatives in parentheses';
  const stars = glob.split('/').map((part) => part.match(/\*+/g)?.length ?? 0);
  if (stars.some((count) => count > MAX_STARS_IN_PART))
    return `at most ${MAX_STARS_IN_PART} * between two slashes`;
  if (stars.reduce((sum, count) => sum + count, 0) > MAX_STARS) return `at most ${MAX_STARS} * in all`;
  return undefined;
}
