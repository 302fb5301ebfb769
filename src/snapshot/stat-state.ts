import type { Digest } from '../core/index.ts';
import type { EntryKind, Stat } from '../fs/index.ts';
import { statIdentity } from '../store/index.ts';
import type { Content, State, StatIdentity, UnobservedReason } from './state.ts';

/** The stat identity of an entry, see {@link StatIdentity}. */
export function identityOf(stat: Stat): StatIdentity {
  return statIdentity(stat) as StatIdentity;
}

/** Only these kinds have a size that is compared. */
export function hasSize(kind: EntryKind): boolean {
  return kind === 'file' || kind === 'symlink';
}

export function digestContent(digest: Digest): Content {
  return { is: 'digest', digest };
}

/** `major:minor` of a Linux device number as the C library encodes it (gnu_dev_major and gnu_dev_minor of glibc; musl is the same). */
export function deviceNumber(rdev: bigint): string {
  const device = BigInt.asUintN(64, rdev);
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xfffff000n);
  const minor = (device & 0xffn) | ((device >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

/** Kind, permission bits and owners are the same. */
export function hasSameMetadata(
  a: Pick<State, 'kind' | 'mode' | 'uid' | 'gid'>,
  b: Pick<State, 'kind' | 'mode' | 'uid' | 'gid'>,
): boolean {
  return a.kind === b.kind && a.mode === b.mode && a.uid === b.uid && a.gid === b.gid;
}

/** Why the system refused to show something. */
export function reasonOf(errno: string | undefined): UnobservedReason {
  if (errno === 'EACCES' || errno === 'EPERM') return 'unreadable';
  return errno === 'EMFILE' || errno === 'ENFILE' ? 'too-deep' : 'failed';
}
