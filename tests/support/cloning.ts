import { constants, type copyFileSync, writeFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const fs: { copyFileSync: typeof copyFileSync } = createRequire('/')('node:fs');

/**
 * Makes cloning work in this process on a file system that cannot: what was asked for as a clone is copied. Until the answer is called.
 * @param options.before may throw, as a file system would
 * @param options.bytes what the file is taken to hold at the moment of the cloning
 */
export function pretendToClone(
  options: { readonly before?: () => void; readonly bytes?: Uint8Array } = {},
): () => void {
  const original = fs.copyFileSync;
  fs.copyFileSync = (source, target, mode = 0): void => {
    options.before?.();
    if (options.bytes === undefined) original(source, target, mode & ~constants.COPYFILE_FICLONE_FORCE);
    else writeFileSync(target, options.bytes, { flag: 'wx' });
  };
  syncBuiltinESMExports();
  return () => {
    fs.copyFileSync = original;
    syncBuiltinESMExports();
  };
}
