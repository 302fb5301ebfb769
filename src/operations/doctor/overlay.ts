import { type ByteString, errnoOf, isMarked, type Name } from '../../core/index.ts';
import type { Dir } from '../../fs/index.ts';
import { changeOwnerAndMode, ensureDir } from '../../fs/write.ts';

const LOWER = 'lower' as Name;
const UPPER = 'upper' as Name;
const WORK = 'work' as Name;
const MERGED = 'merged' as Name;

/**
 * Prepares a trial mount of an overlay in a user namespace of its own and gives the command that tries it; the mount ends with the command.
 * @param path of the scratch directory; undefined is answered for one that mount's options cannot carry
 */
export function overlayTrial(
  scratch: Dir,
  path: ByteString,
): readonly [command: string, ...rest: string[]] | undefined {
  if (isMarked(path) || /[,:\\]/.test(path)) return undefined;
  for (const name of [LOWER, UPPER, WORK, MERGED]) ensureDir(scratch, name).close();
  const options = `userxattr,lowerdir=${path}/${LOWER},upperdir=${path}/${UPPER},workdir=${path}/${WORK}`;
  return [
    'unshare',
    '--user',
    '--map-root-user',
    '--mount',
    'mount',
    '-t',
    'overlay',
    '-o',
    options,
    'overlay',
    `${path}/${MERGED}`,
  ];
}

/** The overlay leaves a directory of mode 000 behind, which could not be listed for removal. */
export function openLeftover(scratch: Dir): void {
  if (scratch.tryLstat(WORK)?.kind !== 'directory') return;
  const work = scratch.openDir(WORK);
  try {
    const seen = work.tryLstat(WORK);
    if (seen !== undefined)
      changeOwnerAndMode(work, WORK, seen, { mode: 0o700, uid: seen.uid, gid: seen.gid });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  } finally {
    work.close();
  }
}
