import {
  AgentdiffError,
  type ByteString,
  errnoOf,
  escapeText,
  fromBytes,
  isName,
  type Name,
  toBytes,
} from '../core/index.ts';
import { Dir } from '../fs/index.ts';
import { createFile, removeFile, temporaryName, writeFileDurably } from '../fs/write.ts';

/** A file that a result goes to: written whole or not at all, readable by its owner only. */
export interface OutputFile {
  /** @throws OUTPUT_UNWRITABLE */
  write(text: string): void;
}

/**
 * Makes sure, before anything else happens, that a file can be written: a temporary file is made beside it and removed again.
 * @param path absolute; a regular file there will be replaced, anything else is refused
 * @throws OUTPUT_UNWRITABLE
 */
export function prepareOutputFile(path: ByteString): OutputFile {
  const { dir, name } = openDirectoryOf(path);
  attempt(path, () => {
    checkReplaceable(path, dir, name);
    const temporary = temporaryName();
    createFile(dir, temporary, 0o600).close();
    removeFile(dir, temporary);
  });
  // The handle stays: whatever the command puts in the place of a directory of this path, the result goes where it was asked for.
  const write = (text: string): void =>
    attempt(path, () => {
      checkReplaceable(path, dir, name);
      writeFileDurably(dir, name, text);
    });
  return { write };
}

function openDirectoryOf(path: ByteString): { dir: Dir; name: Name } {
  const bytes = toBytes(path);
  const slash = bytes.lastIndexOf(0x2f);
  const name = fromBytes(bytes.subarray(slash + 1));
  if (!isName(name)) throw unwritable(path, 'it does not end in a file name');
  return attempt(path, () => ({ dir: Dir.open(fromBytes(bytes.subarray(0, Math.max(slash, 1)))), name }));
}

function attempt<T>(path: ByteString, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof AgentdiffError) throw cause;
    throw unwritable(path, errnoOf(cause) ?? 'unknown', cause);
  }
}

/** Renaming over a device, a pipe or a link would take it away. */
function checkReplaceable(path: ByteString, dir: Dir, name: Name): void {
  const seen = dir.tryLstat(name);
  if (seen !== undefined && seen.kind !== 'file') throw unwritable(path, `it is a ${seen.kind}`);
}

function unwritable(path: ByteString, why: string, cause?: unknown): AgentdiffError {
  return new AgentdiffError('OUTPUT_UNWRITABLE', `the file cannot be written: ${escapeText(path)} (${why})`, {
    hint: 'name a regular file, or a new one, in a directory that you can write',
    data: { path: escapeText(path), why },
    ...(cause === undefined ? {} : { cause }),
  });
}
