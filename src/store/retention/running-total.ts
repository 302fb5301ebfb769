import { canonicalJson, type Name, parseJson } from '../../core/index.ts';
import { type Dir, readSmallFile } from '../../fs/index.ts';
import { createFile, removeQuietly, rename, temporaryName } from '../../fs/write.ts';
import { FILE, MODE } from '../layout.ts';
import { measure } from './usage.ts';

/** After so many runs the store is measured again: runs at the same time may lose each other's addition. */
const MEASURED_EVERY = 100;

interface Total {
  readonly bytes: number;
  /** Since it was measured. */
  readonly runs: number;
}

/**
 * About how many bytes the workspace's part of the store takes, without looking at all of it: the size that was measured last, and what each run
 * added since.
 * @param added bytes that a run just added
 */
export function addToTotal(workspace: Dir, added: number): number {
  const known = readTotal(workspace);
  const total =
    known === undefined || known.runs >= MEASURED_EVERY
      ? measured(workspace)
      : { bytes: known.bytes + added, runs: known.runs + 1 };
  writeTotal(workspace, total);
  return total.bytes;
}

/** Measures anew. */
export function renewTotal(workspace: Dir): number {
  const total = measured(workspace);
  writeTotal(workspace, total);
  return total.bytes;
}

function measured(workspace: Dir): Total {
  return { bytes: measure(workspace).total.allocated, runs: 0 };
}

function readTotal(workspace: Dir): Total | undefined {
  try {
    const value = parseJson(readSmallFile(workspace, FILE.size, 1024).toString('utf8'), FILE.size);
    if (typeof value !== 'object' || value === null || !('bytes' in value && 'runs' in value))
      return undefined;
    const { bytes, runs } = value;
    return Number.isSafeInteger(bytes) && Number.isSafeInteger(runs)
      ? { bytes: Number(bytes), runs: Number(runs) }
      : undefined;
  } catch {
    return undefined;
  }
}

/** A cache: whole or not there, and nobody is told when it cannot be written. */
function writeTotal(workspace: Dir, total: Total): void {
  const temporary: Name = temporaryName();
  try {
    const file = createFile(workspace, temporary, MODE.file);
    try {
      file.write(Buffer.from(`${canonicalJson(total)}\n`));
    } finally {
      file.close();
    }
    rename(workspace, temporary, workspace, FILE.size);
  } catch {
    removeQuietly(workspace, temporary);
  }
}
