import * as fs from 'node:fs';
import { expect, it, vi } from 'vitest';
import { Dir } from '../../../src/fs/index.ts';
import type { LevelRules } from '../../../src/snapshot/index.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { diff, MemoryIndex, MemoryObjects, scan, summary } from './memory-store.ts';

const structure = { level: 'structure', rule: 'structure: m' } as const;
const hashed = { level: 'digest', rule: 'structure: m, looks secret' } as const;
const levels: LevelRules = (path, kind, _siblings, parent) => {
  if (path === 'm') return structure;
  return kind === 'file' && path.endsWith('.env') ? hashed : parent;
};

/** After every time that a test stamps. */
const LATER = 2n ** 62n;

function now(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** Waits until the file system's clock has moved on. */
function tick(root: string): void {
  const probe = `${root}/../probe`;
  fs.writeFileSync(probe, '');
  const { ctimeNs } = fs.statSync(probe, { bigint: true });
  do fs.writeFileSync(probe, '');
  while (fs.statSync(probe, { bigint: true }).ctimeNs === ctimeNs);
  while (now() <= ctimeNs);
}

function setting(): {
  root: string;
  /** The changes that a run sees: a scan, `during`, and a scan with the index of the first. */
  changes: (during: () => void) => string[];
} {
  const base = temporaryDir();
  const root = `${base}/w`;
  fs.mkdirSync(`${root}/m/a/b`, { recursive: true });
  for (const at of ['m/f', 'm/a/g', 'm/a/b/h']) fs.writeFileSync(`${root}/${at}`, at);
  fs.symlinkSync('f', `${root}/m/l`);
  const objects = new MemoryObjects();
  const index = new MemoryIndex();
  const observe = (sinceNs?: bigint) =>
    scan(root, objects, {
      levels,
      levelsId: 'structure',
      startedAtNs: LATER,
      index,
      indexOut: index,
      sinceNs,
    });
  observe();
  return {
    root,
    changes: (during) => {
      const started = now();
      const before = observe();
      tick(root);
      during();
      return summary(diff(objects, before, observe(started)));
    },
  };
}

it('names that come, go or are renamed are seen', () => {
  const { root, changes } = setting();
  expect(
    changes(() => {
      fs.writeFileSync(`${root}/m/a/new`, 'new');
      fs.rmSync(`${root}/m/a/b/h`);
      fs.renameSync(`${root}/m/f`, `${root}/m/renamed`);
    }),
  ).toEqual(['m/a/b/h: file>-', 'm/a/new: ->file', 'm/f: file>-', 'm/renamed: ->file']);
  expect(changes(() => undefined)).toEqual([]);
});

it('an edit in place is not looked for, and asks nothing of a file', () => {
  const { root, changes } = setting();
  const asked = vi.spyOn(Dir.prototype, 'tryLstat');
  expect(changes(() => fs.writeFileSync(`${root}/m/a/g`, 'edited'))).toEqual([]);
  expect(asked).not.toHaveBeenCalled();
});

it('an edit from before is not told as one of the run that makes a name beside it', () => {
  const { root, changes } = setting();
  fs.writeFileSync(`${root}/m/a/g`, 'edited before the run');
  tick(root);
  expect(changes(() => fs.writeFileSync(`${root}/m/a/new`, ''))).toEqual(['m/a/new: ->file']);
  expect(changes(() => undefined)).toEqual([]);
});

it('what takes the place of a file under its name is seen', () => {
  const { root, changes } = setting();
  expect(
    changes(() => {
      fs.writeFileSync(`${root}/m/a/t`, 'replacement');
      fs.renameSync(`${root}/m/a/t`, `${root}/m/a/g`);
    }),
  ).toEqual(['m/a/g: file>file']);
  expect(
    changes(() => {
      fs.rmSync(`${root}/m/l`);
      fs.symlinkSync('a', `${root}/m/l`);
    }),
  ).toEqual(['m/l: symlink>symlink']);
});

it('a directory that is moved or replaced is seen, with what is in it', () => {
  const { root, changes } = setting();
  expect(changes(() => fs.renameSync(`${root}/m/a/b`, `${root}/m/b2`))).toEqual([
    'm/a/b: directory>-',
    'm/a/b/h: file>-',
    'm/b2: ->directory',
    'm/b2/h: ->file',
  ]);
  expect(
    changes(() => {
      fs.rmSync(`${root}/m/a`, { recursive: true });
      fs.writeFileSync(`${root}/m/a`, 'a file now');
    }),
  ).toEqual(['m/a: directory>file', 'm/a/g: file>-']);
});

it('the mode of a directory is seen', () => {
  const { root, changes } = setting();
  expect(changes(() => fs.chmodSync(`${root}/m/a/b`, 0o700))).toEqual(['m/a/b: directory>directory']);
});

it('what takes the place of a file with its times is seen, also by a directory that takes the place of another', () => {
  const { root, changes } = setting();
  fs.mkdirSync(`${root}/m/c`);
  fs.writeFileSync(`${root}/m/c/g`, 'other');
  fs.writeFileSync(`${root}/staged`, 'staged');
  tick(root);
  expect(
    changes(() => {
      fs.renameSync(`${root}/m/a`, `${root}/m/t`);
      fs.renameSync(`${root}/m/c`, `${root}/m/a`);
      fs.renameSync(`${root}/m/t`, `${root}/m/c`);
    }),
  ).toEqual([
    'm/a/b: directory>-',
    'm/a/b/h: file>-',
    'm/a/g: file>file',
    'm/c/b: ->directory',
    'm/c/b/h: ->file',
    'm/c/g: file>file',
  ]);
  expect(changes(() => fs.renameSync(`${root}/staged`, `${root}/m/f`))).toEqual([
    'm/f: file>file',
    'staged: file>-',
  ]);
});

it('a file that a rule has hashed all the same is looked at', () => {
  const { root, changes } = setting();
  fs.writeFileSync(`${root}/m/a/.env`, 'TOKEN=1');
  tick(root);
  expect(changes(() => undefined)).toEqual([]);
  expect(changes(() => fs.writeFileSync(`${root}/m/a/.env`, 'TOKEN=2'))).toEqual(['m/a/.env: file>file']);
  expect(changes(() => fs.writeFileSync(`${root}/m/a/g`, 'edited'))).toEqual([]);
});
