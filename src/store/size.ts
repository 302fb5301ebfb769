import type { Dir } from '../fs/index.ts';
import { reading } from './failures.ts';

/**
 * Bytes that the objects of one workspace take: the lengths of its packs and large files. Capsules and the stat index are small beside them and do
 * not count.
 * @throws STORE_DAMAGED
 */
export function objectBytes(packs: Dir, large: Dir): number {
  return reading('packs and large', () => {
    let bytes = sumOf(packs);
    for (const name of large.names()) {
      if (large.tryLstat(name)?.kind !== 'directory') continue;
      const folder = large.openDir(name);
      try {
        bytes += sumOf(folder);
      } finally {
        folder.close();
      }
    }
    return bytes;
  });
}

function sumOf(dir: Dir): number {
  let bytes = 0;
  for (const name of dir.names()) {
    const seen = dir.tryLstat(name);
    if (seen?.kind === 'file') bytes += seen.size;
  }
  return bytes;
}
