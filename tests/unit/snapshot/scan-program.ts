/**
 * A program of its own, for what needs another user or fewer open files: scans the directory given as its argument, twice and the second time
 * with the index of the first, and prints what it found as JSON.
 */
import { toJsonPath } from '../../../src/core/index.ts';
import { listing, MemoryIndex, MemoryObjects, scan } from './memory-store.ts';

export interface Printed {
  readonly entries: { path: string; kind: string; content: unknown }[];
  readonly unobserved: { path: string; reason: string }[];
  readonly error?: string;
  readonly counts: { entries: number; files: number };
  readonly isStable: boolean;
}

const [, , path = '', maxDepth = '1000'] = process.argv;
const objects = new MemoryObjects();
const index = new MemoryIndex();
const limits = { maxDepth: Number(maxDepth) };
try {
  const first = scan(path, objects, { limits, indexOut: index });
  const second = scan(path, objects, { limits, index });
  const printed: Printed = {
    entries: [...listing(objects, first.tree)].map(([at, { kind, content }]) => ({
      path: toJsonPath(at).path,
      kind,
      content,
    })),
    unobserved: first.unobserved.map(({ path: at, reason }) => ({ path: toJsonPath(at).path, reason })),
    counts: { entries: first.entries, files: first.files },
    isStable: first.tree === second.tree,
  };
  process.stdout.write(JSON.stringify(printed));
} catch (error) {
  process.stdout.write(
    JSON.stringify({ error: error instanceof Error && 'code' in error ? error.code : String(error) }),
  );
}
