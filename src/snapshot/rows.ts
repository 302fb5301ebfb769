import type { Digest } from '../core/index.ts';
import { kindOfMode, type Stat } from '../fs/index.ts';
import { CONTENT, DIGEST_BYTES, FLAG, type StatIndex, statIdentity } from '../store/index.ts';
import { isLeftOut, REASONS } from './codes.ts';
import { deviceNumber, digestContent, hasSize } from './stat-state.ts';
import type { Content, Particulars, State, StatIdentity, UnobservedReason } from './state.ts';

/** The state of an entry of which nothing but the name is known; it counts as a directory. */
const UNSEEN = { kind: 'directory', mode: 0, uid: 0, gid: 0, size: 0 } as const;

/** The state that a row of a stat index stands for. */
export function stateOfRow(index: StatIndex, row: number): State {
  const content = contentOfRow(index, row);
  if (index.has(row, FLAG.unseen)) return { ...UNSEEN, content };
  const { mode, uid, gid, size } = index.columns;
  const kind = kindOfMode(mode[row] ?? 0);
  return {
    kind,
    mode: (mode[row] ?? 0) & 0o7777,
    uid: uid[row] ?? 0,
    gid: gid[row] ?? 0,
    size: hasSize(kind) ? (size[row] ?? 0) : 0,
    content,
  };
}

function contentOfRow(index: StatIndex, row: number): Content {
  const { content, size } = index.columns;
  switch (content[row] ?? CONTENT.unknown) {
    case CONTENT.digest:
      return digestContent(index.digestOf(row));
    case CONTENT.identity:
      return { is: 'identity', identity: identityOfRow(index, row) };
    case CONTENT.device:
      return { is: 'device', number: deviceNumber(BigInt(size[row] ?? 0)) };
    case CONTENT.nothing:
      return { is: 'nothing' };
    default: {
      const reason = reasonOfRow(index, row);
      return isLeftOut(reason) || index.has(row, FLAG.unseen)
        ? { is: 'unknown', reason }
        : { is: 'unknown', reason, identity: identityOfRow(index, row) };
    }
  }
}

export function reasonOfRow(index: StatIndex, row: number): UnobservedReason {
  return REASONS[index.columns.digest[row * DIGEST_BYTES] ?? 0] ?? 'failed';
}

export function particularsOfRow(index: StatIndex, row: number): Particulars {
  return { mtimeNs: index.mtimeNs(row), nlink: index.columns.nlink[row] ?? 0, inode: index.inode(row) };
}

/** The digest of the row's content, when `stat` shows the very state that was recorded, and the record is old enough to be told from a later write. */
export function knownDigest(index: StatIndex, row: number, stat: Stat): Digest | undefined {
  const isKnown = index.columns.content[row] === CONTENT.digest && !index.has(row, FLAG.racy);
  return isKnown && statIdentity(stat) === identityOfRow(index, row) ? index.digestOf(row) : undefined;
}

function identityOfRow(index: StatIndex, row: number): StatIdentity {
  return statIdentity({
    dev: index.device(row),
    ino: index.ino(row),
    size: index.columns.size[row] ?? 0,
    mtimeNs: index.mtimeNs(row),
    ctimeNs: index.ctimeNs(row),
  }) as StatIdentity;
}
