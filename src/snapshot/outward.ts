import { type ByteString, namesOf, type RelPath, toBytes } from '../core/index.ts';
import { pathBelow } from '../fs/index.ts';

const SLASH = 0x2f;

/**
 * Does a symlink lead out of the workspace, by the text of its target? Links on the way are not followed, so a target that only looks as if it
 * stayed inside is not found.
 * @param path of the link
 * @param root path of the workspace without links
 */
export function leadsOut(path: RelPath, target: ByteString, root: ByteString): boolean {
  const bytes = toBytes(target);
  if (bytes[0] === SLASH) return target !== root && pathBelow(target, root) === undefined;
  let depth = namesOf(path).length - 1;
  for (const part of bytes.toString('latin1').split('/')) {
    if (part === '..') depth--;
    else if (part !== '' && part !== '.') depth++;
    if (depth < 0) return true;
  }
  return false;
}
