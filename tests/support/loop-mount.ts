import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDir } from './temporary.ts';

/** File systems that clone, and the smallest size, in MiB, that their makers accept. */
const MIB = { btrfs: 128, xfs: 320 } as const;

/**
 * A fresh file system of this kind, mounted until the test ends; or, as text, why there is none.
 * @returns `{ dir }`, or `{ why }`
 */
export function loopMount(kind: keyof typeof MIB): { dir: string } | { why: string } {
  if (process.getuid?.() !== 0) return { why: 'only root may mount' };
  const place = temporaryDir();
  const image = path.join(place, 'image');
  const dir = path.join(place, 'mount');
  fs.mkdirSync(dir);
  fs.writeFileSync(image, '');
  fs.truncateSync(image, MIB[kind] << 20);
  for (const command of [
    [`mkfs.${kind}`, '-q', image],
    ['mount', '-o', 'loop', image, dir],
  ]) {
    const { status, error, stderr } = spawnSync(command[0] ?? '', command.slice(1), { encoding: 'utf8' });
    if (status !== 0) return { why: `${command[0]}: ${error?.message ?? stderr.trim()}` };
  }
  // Runs before the directory is removed: what was registered last runs first.
  onTestFinished(() => void spawnSync('umount', ['-l', dir]));
  return { dir };
}
