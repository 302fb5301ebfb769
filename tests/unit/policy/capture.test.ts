import { describe, expect, it } from 'vitest';
import type { Name, RelPath } from '../../../src/core/index.ts';
import { builtInPolicy, type CaptureFlag, captureLevels } from '../../../src/policy/index.ts';
import type { LevelDecision } from '../../../src/snapshot/index.ts';

type Kind = 'file' | 'directory' | 'symlink';

/** Asks as a scan does: for every directory from the root down, then for the entry. */
function levelOf(path: string, kind: Kind, flags: CaptureFlag[] = [], siblings: string[] = []): string {
  const levels = captureLevels(builtInPolicy(flags));
  const names = path.split('/');
  let decision: LevelDecision = { level: 'content', rule: 'root' };
  for (const index of names.keys()) {
    const isLast = index === names.length - 1;
    const at = names.slice(0, index + 1).join('/') as RelPath;
    decision = levels(at, isLast ? kind : 'directory', siblings as Name[], decision);
  }
  return `${decision.level} by ${decision.rule}`;
}

const CONTENT = 'content by default';

describe('the default capture levels', () => {
  it.each(['node_modules', '.venv', 'venv', '.tox', '.nox', '.mypy_cache', '.pytest_cache', '.ruff_cache'])(
    '%s is regenerable at any depth, with all below it',
    (name) => {
      const expected = `structure by regenerable: ${name}`;
      expect(levelOf(name, 'directory')).toBe(expected);
      expect(levelOf(`a/.b/${name}`, 'directory')).toBe(expected);
      expect(levelOf(`a/${name}/c/d`, 'file')).toBe(expected);
    },
  );

  it.each(['file', 'symlink'] as const)('a %s of that name is not', (kind) => {
    expect(levelOf('node_modules', kind)).toBe(CONTENT);
    expect(levelOf('target', kind, [], ['Cargo.toml', 'target'])).toBe(CONTENT);
  });

  it('target is regenerable only beside a Cargo.toml', () => {
    expect(levelOf('target', 'directory', [], ['src', 'target'])).toBe(CONTENT);
    expect(levelOf('target', 'directory', [], ['Cargo.toml', 'target'])).toBe(
      'structure by regenerable: target',
    );
  });

  it.each(['src', '.git', '.env', 'node_modules2', 'my-venv', 'a\nnode_modules'])('%j is content', (name) => {
    expect(levelOf(name, 'directory')).toBe(CONTENT);
    expect(levelOf(`${name}/x`, 'file')).toBe(CONTENT);
  });
});

describe('flags', () => {
  it('come before the defaults, for a deeper path too', () => {
    const flags: CaptureFlag[] = [{ glob: 'node_modules/mine', level: 'content' }];
    expect(levelOf('node_modules/mine/x', 'file', flags)).toBe('content by flag: node_modules/mine');
    expect(levelOf('node_modules/other/x', 'file', flags)).toBe('structure by regenerable: node_modules');
  });

  it('of two that match, the first wins, whichever is deeper', () => {
    const [outer, inner]: CaptureFlag[] = [
      { glob: 'data', level: 'none' },
      { glob: 'data/kept', level: 'digest' },
    ] as const;
    if (outer === undefined || inner === undefined) return;
    expect(levelOf('data/kept/x', 'file', [outer, inner])).toBe('none by flag: data');
    expect(levelOf('data/kept/x', 'file', [inner, outer])).toBe('digest by flag: data/kept');
    expect(levelOf('data/x', 'file', [inner, outer])).toBe('none by flag: data');
  });

  it('match any kind, leading dots, newlines and names that are not UTF-8', () => {
    const flags: CaptureFlag[] = [{ glob: '**/*.bin', level: 'digest' }];
    for (const path of ['x.bin', '.hid/.x.bin', 'a\nb/c\nd.bin', '\0\xff.bin']) {
      expect(levelOf(path, 'file', flags)).toBe('digest by flag: **/*.bin');
    }
    expect(levelOf('x.bin', 'symlink', flags)).toBe('digest by flag: **/*.bin');
  });

  it.each([
    ['./build/', 'build'],
    ['build//', 'build'],
    ['.cache', '.cache'],
  ])('%s is read as %s', (given, glob) => {
    expect(levelOf('build', 'directory', [{ glob: given, level: 'none' }])).toBe(
      glob === 'build' ? `none by flag: build${given.endsWith('/') ? '/' : ''}` : CONTENT,
    );
  });

  it('a leading ! is a character', () => {
    expect(levelOf('other', 'file', [{ glob: '!x', level: 'none' }])).toBe(CONTENT);
    expect(levelOf('!x', 'file', [{ glob: '!x', level: 'none' }])).toBe('none by flag: !x');
  });

  it.each(['', '.', './', '/', '/etc', '../x', 'a/../b', '[', '{a', '[z-a]', '\\'])(
    '%j is refused',
    (glob) => {
      expect(() => builtInPolicy([{ glob, level: 'none' }])).toThrowError(
        expect.objectContaining({ code: 'USAGE' }),
      );
    },
  );
});
