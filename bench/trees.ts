import * as fs from 'node:fs';
import * as path from 'node:path';
import { setImmediate } from 'node:timers/promises';

/** A deterministic sequence of numbers in [0, 1) (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Text of words, about as compressible as source code, so that neither side has it easier than with real files. */
function randomText(random: () => number, length: number): Buffer {
  const letters = 'etaoinshrdlucmfwypvbgkjqxz';
  const word = (): string =>
    Array.from({ length: 2 + Math.floor(random() * 9) }, () => letters[Math.floor(random() ** 2 * 26)]).join(
      '',
    );
  const words = Array.from({ length: 4000 }, word);
  let text = '';
  while (text.length < length) {
    const end = random() < 0.12 ? ';\n  ' : ' ';
    text += (words[Math.floor(random() ** 2 * words.length)] ?? '') + end;
  }
  return Buffer.from(text.slice(0, length), 'latin1');
}

export interface TreeShape {
  readonly files: number;
  readonly seed: number;
  /** Bytes of the smallest and the largest file. */
  readonly sizes: readonly [least: number, most: number];
}

/** 0.2 to 12 KB, 4.43 KB in the mean. */
export const sourceSizes = [200, 12_000] as const;
const SKEW = 1.79;
const FILES_PER_DIRECTORY = 20;
const DIRECTORIES_PER_PARENT = 100;

/** Where file `n` of such a tree lies: 20 files in a directory, 100 directories below (and with) each parent. */
export function fileName(n: number): string {
  const directory = Math.floor(n / FILES_PER_DIRECTORY);
  return path.join(directoryName(directory), `file-${n}.txt`);
}

function directoryName(n: number): string {
  const parent = `part-${Math.floor(n / DIRECTORIES_PER_PARENT)}`;
  const own = n % DIRECTORIES_PER_PARENT;
  return own === 0 ? parent : path.join(parent, `dir-${own}`);
}

/** Makes the tree below a directory that does not exist yet; the same names and bytes for the same shape. @param pause called now and then; may throw to end it */
export async function makeTree(root: string, shape: TreeShape, pause: () => void): Promise<void> {
  const { files, seed, sizes } = shape;
  const random = randomNumbers(seed);
  const text = randomText(random, 1 << 20);
  fs.mkdirSync(root, { recursive: true });
  for (let n = 0; n < files; n += 1) {
    if (n % FILES_PER_DIRECTORY === 0)
      fs.mkdirSync(path.join(root, directoryName(n / FILES_PER_DIRECTORY)), { recursive: true });
    const head = Buffer.from(`${n.toString(36).padStart(8, '0')}\n`);
    const size = Math.max(head.length, Math.round(sizes[0] + (sizes[1] - sizes[0]) * random() ** SKEW));
    const from = Math.floor(random() * (text.length - sizes[1]));
    const body = text.subarray(from, from + size - head.length);
    fs.writeFileSync(path.join(root, fileName(n)), Buffer.concat([head, body]));
    if (n % 500 === 0) {
      await setImmediate();
      pause();
    }
  }
}

/** One file that no file system can keep as a hole. @param bytes a multiple of 1 MiB */
export async function makeLargeFile(file: string, bytes: number, pause: () => void): Promise<void> {
  const piece = randomText(randomNumbers(2), 1 << 20);
  const fd = fs.openSync(file, 'wx');
  try {
    for (let n = 0; n < bytes / piece.length; n += 1) {
      piece.writeUInt32BE(n, 0);
      fs.writeSync(fd, piece);
      if (n % 32 === 0) {
        await setImmediate();
        pause();
      }
    }
  } finally {
    fs.closeSync(fd);
  }
}

/** How many entries that are not directories lie below. */
export function countFiles(dir: string): number {
  let count = 0;
  for (const entry of fs.readdirSync(dir, { withFileTypes: true }))
    count += entry.isDirectory() ? countFiles(path.join(dir, entry.name)) : 1;
  return count;
}
