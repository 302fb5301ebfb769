import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { onTestFinished } from 'vitest';

/** A fresh directory (real path) that is removed when the test at hand ends. */
export function temporaryDir(): string {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'agentdiff-test-')));
  onTestFinished(() => removeAll(dir));
  return dir;
}

/** Removes a tree of any kind of content, read-only directories included. */
export function removeAll(dir: string): void {
  makeWritable(Buffer.from(dir));
  fs.rmSync(dir, { recursive: true, force: true });
}

function makeWritable(dir: Buffer): void {
  const stat = fs.lstatSync(dir, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory()) return;
  fs.chmodSync(dir, 0o700);
  for (const name of fs.readdirSync(dir, { encoding: 'buffer' }))
    makeWritable(Buffer.concat([dir, Buffer.from('/'), name]));
}
