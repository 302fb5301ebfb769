import { parseRelPath, type RelPath } from '../core/index.ts';

/**
 * A path as a user types it, relative to the workspace root: a leading `./` and the `/` that a shell completes a directory's name with are
 * taken off, everything else stays as it is.
 * @throws PATH_INVALID
 */
export function parseUserPath(text: string): RelPath {
  return parseRelPath(text.replace(/^(\.\/+)+(?=.)/, '').replace(/(?<=[^/])\/+$/, ''));
}
