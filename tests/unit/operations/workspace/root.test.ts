import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Context, Place } from '../../../../src/operations/index.ts';
import { checkRoot, findRoot, mountsBelow, type Root } from '../../../../src/operations/workspace/root.ts';
import { contextIn } from '../../../support/context.ts';
import { temporaryDir } from '../../../support/temporary.ts';

const failsWith = (code: string): Error => expect.objectContaining({ code }) as Error;

/** `base` with `outer/inner/deep` in it, and a home and a store that exist in name only. */
function tree(): { base: string; at: (...names: string[]) => string; place: Place } {
  const base = temporaryDir();
  const at = (...names: string[]): string => path.join(base, ...names);
  fs.mkdirSync(at('outer', 'inner', 'deep'), { recursive: true });
  return { base, at, place: { store: at('state', 'store'), storeChosen: false, allowAnyRoot: false } };
}

function find(context: Context, place: Place): Root {
  const root = findRoot(context, place);
  onTestFinished(() => root.dir.close());
  return root;
}

function found(context: Context, place: Place): { path: string; chosenBy: string } {
  const { path: at, chosenBy } = find(context, place);
  return { path: at, chosenBy };
}

describe('findRoot', () => {
  it('goes by --root, the environment, a policy file, a .git, and then the directory, in this order', () => {
    const { at, place } = tree();
    const context = contextIn(at('outer', 'inner', 'deep'), undefined);
    expect(found(context, place)).toEqual({ path: at('outer', 'inner', 'deep'), chosenBy: 'cwd' });
    fs.mkdirSync(at('outer', 'inner', '.git'));
    expect(found(context, place)).toEqual({ path: at('outer', 'inner'), chosenBy: 'git' });
    fs.writeFileSync(at('outer', 'agentdiff.yaml'), '');
    expect(found(context, place)).toEqual({ path: at('outer'), chosenBy: 'policy-file' });
    const inEnvironment = { ...context, environment: { AGENTDIFF_ROOT: '../..' } };
    expect(found(inEnvironment, place)).toEqual({ path: at('outer'), chosenBy: 'environment' });
    expect(found(inEnvironment, { ...place, root: at('outer', 'inner') })).toEqual({
      path: at('outer', 'inner'),
      chosenBy: 'option',
    });
  });

  it('takes the nearest of several, and a .git that is a file as in a worktree', () => {
    const { at, place } = tree();
    fs.mkdirSync(at('outer', '.git'));
    fs.writeFileSync(at('outer', 'inner', '.git'), 'gitdir: elsewhere\n');
    expect(found(contextIn(at('outer', 'inner', 'deep'), undefined), place)).toEqual({
      path: at('outer', 'inner'),
      chosenBy: 'git',
    });
  });

  it('names the same root whatever links lead to it', () => {
    const { at, place } = tree();
    fs.symlinkSync(at('outer'), at('link'));
    expect(found(contextIn(at('link', 'inner'), undefined), place).path).toBe(at('outer', 'inner'));
    expect(found(contextIn('/', undefined), { ...place, root: at('link', 'inner') }).path).toBe(
      at('outer', 'inner'),
    );
  });

  it('refuses what is no directory that can be opened', () => {
    const { at, place } = tree();
    fs.writeFileSync(at('file'), '');
    const context = contextIn(at('outer'), undefined);
    for (const root of [at('missing'), at('file'), at('file', 'below')]) {
      expect(() => findRoot(context, { ...place, root }), root).toThrowError(failsWith('ROOT_UNREADABLE'));
    }
  });
});

describe('checkRoot', () => {
  const check = (root: string, place: Place, home?: string): string => {
    const context = contextIn('/', home);
    return checkRoot(find(context, { ...place, root }), context, place);
  };

  it('refuses /, the home directory by any of its names, and a parent of the default store', () => {
    const { base, at, place } = tree();
    fs.symlinkSync(at('outer'), at('link'));
    const refused = failsWith('ROOT_REFUSED');
    expect(() => check('/', place)).toThrowError(refused);
    expect(() => check(at('outer'), place, at('outer'))).toThrowError(refused);
    expect(() => check(at('outer'), place, at('link'))).toThrowError(refused);
    expect(() => check(at('link'), place, at('outer'))).toThrowError(refused);
    expect(() => check(base, place)).toThrowError(refused);
    fs.mkdirSync(at('state', 'store'), { recursive: true });
    expect(() => check(at('state'), place)).toThrowError(refused);
    expect(() => check(at('state', 'store'), place)).toThrowError(refused);
  });

  it('takes each of them when that is said', () => {
    const { base, at, place } = tree();
    const said = { ...place, allowAnyRoot: true };
    expect(check('/', said)).toBe('inside');
    expect(check(at('outer'), said, at('outer'))).toBe('outside');
    expect(check(base, said)).toBe('inside');
  });

  it('allows a directory of the home, and discloses a store that was put inside', () => {
    const { base, at, place } = tree();
    expect(check(at('outer', 'inner'), place, at('outer'))).toBe('outside');
    const chosen = { ...place, storeChosen: true };
    expect(check(base, chosen)).toBe('inside');
    fs.mkdirSync(at('outer', 'kept'));
    fs.symlinkSync(at('outer', 'kept'), at('through'));
    expect(check(at('outer'), { ...chosen, store: at('through', 'store') })).toBe('inside');
    expect(check(at('outer', 'inner'), { ...chosen, store: at('through', 'store') })).toBe('outside');
    // Names that only begin alike are not inside.
    expect(check(at('outer'), { ...chosen, store: at('outer-store') })).toBe('outside');
  });
});

describe('mountsBelow', () => {
  it('keeps what is below the root, relative to it', () => {
    const { at, place } = tree();
    const root = find(contextIn('/', undefined), { ...place, root: at('outer') });
    const points = ['/', at('outer'), at('outer', 'm'), at('outer', 'inner', 'n'), at('outer-2', 'x')];
    expect([...mountsBelow(root, points)]).toEqual(['m', 'inner/n']);
  });
});
