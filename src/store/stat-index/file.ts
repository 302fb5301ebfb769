import type { ByteString } from '../../core/index.ts';
import type { Dir } from '../../fs/index.ts';
import { createFile, removeQuietly, rename, temporaryName } from '../../fs/write.ts';
import { writing } from '../failures.ts';
import { FILE, MODE } from '../layout.ts';

/**
 * Replaces the index in the store. Atomic, not durable: after a crash of the machine it may be empty. It is a cache: that it could not be
 * written costs one full reading and no more.
 * @throws failures of the store
 */
export function writeIndex(base: ByteString, workspace: Dir, bytes: Buffer): void {
  writing(base, () => {
    const temporary = temporaryName();
    const file = createFile(workspace, temporary, MODE.file);
    try {
      try {
        file.write(bytes);
      } finally {
        file.close();
      }
      rename(workspace, temporary, workspace, FILE.index);
    } catch (error) {
      removeQuietly(workspace, temporary);
      throw error;
    }
  });
}
