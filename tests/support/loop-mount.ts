import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDir } from './temporary.ts';

/** File systems that clone, and the smallest size, in MiB, that their makers accept. */
const MIB = { btrfs: 128, xfs: 320 } as const;

export type Kind = keyof typeof MIB;

/** Those that can be mounted here; of the others it is printed why not. What a kernel has not, no package brings: such a test is not one here. */
export function mountableKinds(): Kind[] {
  return (['btrfs', 'xfs'] as const).filter((kind) => {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), 'agentdiff-test-'));
    try {
      const mount = mountIn(place, kind);
      if ('dir' in mount) spawnSync('umount', ['-l', mount.dir]);
      else process.stderr.write(`not tried on ${kind}: ${mount.why}\n`);
      return 'dir' in mount;
    } finally {
      fs.rmSync(place, { recursive: true, force: true });
    }
  });
}

/** A fresh file system of this kind, mounted until the test ends. */
export function loopMount(kind: Kind): string {
  const mount = mountIn(temporaryDir(), kind);
  if ('why' in mount) throw new Error(mount.why);
  // Runs before the directory is removed: what was registered last runs first.
  onTestFinished(() => void spawnSync('umount', ['-l', mount.dir]));
  return mount.dir;
}

function mountIn(place: string, kind: Kind): { dir: string } | { why: string } {
  if (process.getuid?.() !== 0) return { why: 'only root may mount' };
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
  return { dir };
}
