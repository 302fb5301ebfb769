import type { Digest, Name } from '../../src/core/index.ts';
import type { Stat } from '../../src/fs/index.ts';
import { IndexBuilder, RACY_NS, StatIndex } from '../../src/store/index.ts';

/** When the scans begin whose indexes {@link indexOf} makes, nanoseconds since the epoch. */
export const STARTED = 1_800_000_000_000_000_000n;

export function fileStat(ino: number | bigint, over: Partial<Stat> = {}): Stat {
  return {
    kind: 'file',
    mode: 0o4755,
    uid: 0,
    gid: 0,
    size: 12,
    nlink: 2,
    dev: 2049n,
    ino: BigInt(ino),
    rdev: 0n,
    mtimeNs: 1_700_000_000_123_456_789n,
    ctimeNs: 1_700_000_000_987_654_321n,
    ...over,
  };
}

const directoryStat = (ino: number): Stat => fileStat(ino, { kind: 'directory', mode: 0o755 });

/** One entry of a made-up directory: a file, or a directory with entries of its own, in byte order. */
export interface MadeEntry {
  readonly name: Name;
  readonly stat?: Stat;
  readonly digest?: Digest;
  readonly kept?: boolean;
  readonly below?: readonly MadeEntry[];
}

/** The stat index of a directory that exists in name only. */
export function indexOf(entries: readonly MadeEntry[]): StatIndex {
  const builder = new IndexBuilder('rules', STARTED - RACY_NS, StatIndex.empty());
  const root = builder.addRow('' as Name, directoryStat(1));
  const open = [{ row: root, parent: 0, entries }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const directory = builder.addDirectory(next.row, next.parent, 4, 'default');
    const below: typeof open = [];
    for (const [at, { name, stat, digest, kept, below: inside }] of next.entries.entries()) {
      const row = builder.addRow(name, stat ?? (inside ? directoryStat(1000 + at) : fileStat(at)));
      if (digest !== undefined) builder.setDigest(row, digest, kept === true);
      if (inside !== undefined) below.push({ row, parent: directory, entries: inside });
    }
    open.push(...below.toReversed());
  }
  return builder.finish();
}
