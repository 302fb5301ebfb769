import { type Check, check } from './check.ts';
import type { Trials } from './trials.ts';

export function trialChecks(trials: Trials): Check[] {
  const { anchored, noFollow, clone, clockStepNs, byteNames, hardLinks } = trials;
  return [
    check(
      'anchored',
      'anchored access',
      anchored,
      'directories are held by handle: what was opened stays what is looked into, whoever swaps a parent',
      {
        status: 'limited',
        detail: 'directories are compared by identity before and after use, which leaves a window',
      },
    ),
    check('no-follow', 'links are not followed', noFollow, 'opening a link is refused by the system', {
      status: 'failed',
      detail: 'this file system opens a link although it was told not to',
    }),
    check(
      'clone',
      'cloning in the store',
      clone,
      'files over 1 MiB can be cloned into it where the workspace is on the same file system',
      {
        status: 'missing',
        detail: 'this file system cannot clone: contents are copied',
      },
    ),
    check('hard-links', 'hard links', hardLinks, 'the file system of the store has them', {
      status: 'limited',
      detail: 'none on the file system of the store; a recover needs them in the workspace',
    }),
    check('names', 'names that are not UTF-8', byteNames, 'kept byte for byte', {
      status: 'limited',
      detail: 'this file system takes UTF-8 names only',
    }),
    check(
      'clock',
      'clock of the file system',
      clockStepNs !== undefined,
      `steps of ${clockStepNs ?? 0n} ns were seen`,
      {
        status: 'limited',
        detail: 'no step was seen; files written just before a scan are read again',
      },
    ),
  ];
}
