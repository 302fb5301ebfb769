import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ScanProgress } from '../../../src/snapshot/index.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { MemoryIndex, MemoryObjects, scan } from './memory-store.ts';

describe('onProgress', () => {
  it('tells what was seen at least every few hundred entries', () => {
    const root = temporaryDir();
    for (let i = 0; i < 1100; i++) fs.writeFileSync(`${root}/${i}`, '');
    for (let i = 0; i < 100; i++) fs.mkdirSync(`${root}/d${i}`);
    const told: ScanProgress[] = [];
    scan(root, new MemoryObjects(), { onProgress: (seen) => told.push(seen) });
    const counts = [0, ...told.map(({ entries }) => entries), 1200];
    expect(told.length).toBeGreaterThan(1);
    expect(counts.every((count, i) => count - (counts[i - 1] ?? 0) <= 512)).toBe(true);
    expect(told.every(({ entries, files }) => files <= entries && files >= entries - 100)).toBe(true);
  });

  it('tells the bytes it reads at least every few MiB, and none that the index spares it', () => {
    const root = temporaryDir();
    fs.writeFileSync(`${root}/large`, Buffer.alloc(9 << 20));
    const index = new MemoryIndex();
    const objects = new MemoryObjects();
    const told: ScanProgress[] = [];
    const onProgress = (seen: ScanProgress) => void told.push(seen);
    scan(root, objects, { onProgress, index, indexOut: index });
    const steps = [0, ...told.map(({ bytes }) => bytes), 9 << 20];
    expect(told.length).toBeGreaterThan(1);
    expect(steps.every((bytes, i) => bytes - (steps[i - 1] ?? 0) <= 4 << 20)).toBe(true);
    told.length = 0;
    scan(root, objects, { onProgress, index });
    expect(told.every(({ bytes }) => bytes === 0)).toBe(true);
  });

  it('ends the scan by throwing', () => {
    const root = temporaryDir();
    for (let i = 0; i < 1000; i++) fs.writeFileSync(`${root}/${i}`, '');
    const onProgress = () => {
      throw new Error('enough');
    };
    expect(() => scan(root, new MemoryObjects(), { onProgress })).toThrow('enough');
  });
});
