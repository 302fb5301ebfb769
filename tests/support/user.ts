import * as fs from 'node:fs';

const NOBODY = 65534;

/**
 * Runs `action` as an ordinary user, whom permission bits stop: as root the effective user is changed for its duration (tests run in
 * processes of their own), anybody else is one already. `dirs` are given to that user.
 */
export function asOrdinaryUser<T>(dirs: readonly string[], action: () => T): T {
  if (process.getuid?.() !== 0) return action();
  for (const dir of dirs) chownTree(dir);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return action();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}

function chownTree(path: string): void {
  fs.lchownSync(path, NOBODY, NOBODY);
  if (!fs.lstatSync(path).isDirectory()) return;
  for (const name of fs.readdirSync(path)) chownTree(`${path}/${name}`);
}
