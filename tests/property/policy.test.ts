import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBytes, joinPath, type Name, type RelPath, ROOT_PATH } from '../../src/core/index.ts';
import {
  builtInPolicy,
  captureLevels,
  changeDecisions,
  decideLaunch,
  type Decision,
  isLaunchPermit,
  type PathRule,
} from '../../src/policy/index.ts';
import type { LevelDecision } from '../../src/snapshot/index.ts';

/** Any bytes that can be a name, with dots, newlines, glob characters and broken UTF-8 more often than by chance. */
const byte = fc.oneof(
  fc.constantFrom(...Buffer.from('.\n*?[]{}()!+@\\ a\xff\xc3\xa9', 'latin1')),
  fc.integer({ min: 1, max: 255 }).filter((value) => value !== 0x2f),
);
const name = fc
  .array(byte, { minLength: 1, maxLength: 12 })
  .map((bytes) => fromBytes(Uint8Array.from(bytes)) as Name)
  .filter((text) => text !== ('.' as Name) && text !== ('..' as Name));
const names = fc.array(name, { maxLength: 5 });
const decision = fc.constantFrom<Decision>('allow', 'review', 'deny');

function pathOf(parts: readonly string[]): RelPath {
  return (parts as readonly Name[]).reduce(joinPath, ROOT_PATH);
}

function decide(rules: readonly PathRule[], path: RelPath): Decision {
  const policy = builtInPolicy();
  return changeDecisions({ ...policy, paths: { default: 'allow', rules } })({ path }).decision;
}

describe('path rules', () => {
  it('no name below a denied directory escapes', () => {
    const globs = fc.constantFrom('s\u00e9cret', 's\u00e9cret/**', '**/s\u00e9cret', 's*cret');
    fc.assert(
      fc.property(globs, names, (glob, below) => {
        const path = pathOf(['s\u00e9cret', ...below]);
        expect(decide([{ rule: 'r', glob, decision: 'deny' }], path)).toBe('deny');
      }),
    );
  });

  it('adding a rule never makes a decision milder than the default, and deny stays deny', () => {
    const rule = fc.record({
      rule: fc.constant('r'),
      glob: fc.constantFrom('a', '**', 'a/**', '*'),
      decision,
    });
    fc.assert(
      fc.property(fc.array(rule), rule, names, (rules, more, below) => {
        const path = pathOf(['a', ...below]);
        const denied = decide(rules, path) === 'deny';
        expect(decide([...rules, more], path) === 'deny').toBe(
          denied || (more.decision === 'deny' && decide([more], path) === 'deny'),
        );
        expect(decide(rules.toReversed(), path)).toBe(decide(rules, path));
      }),
    );
  });
});

describe('capture rules', () => {
  it('everything below a regenerable directory has its level, without flags', () => {
    const levels = captureLevels(builtInPolicy());
    fc.assert(
      fc.property(names, names, fc.constantFrom('node_modules', '.venv'), (above, below, regenerable) => {
        let parent: LevelDecision = { level: 'content', rule: 'root' };
        const parts = [...above, regenerable as Name, ...below];
        for (const index of parts.keys()) {
          parent = levels(pathOf(parts.slice(0, index + 1)), 'directory', parts, parent);
        }
        expect(parent.level).toBe('structure');
      }),
    );
  });

  it('nothing outside them is lowered', () => {
    const levels = captureLevels(builtInPolicy());
    const root: LevelDecision = { level: 'content', rule: 'root' };
    fc.assert(
      fc.property(names, name, (above, last) => {
        const decided = levels(pathOf([...above, last]), 'file', [last], root);
        expect(decided).toEqual({ level: 'content', rule: 'default' });
      }),
    );
  });
});

describe('permits', () => {
  it('carry exactly the argv that was asked for, and are made only with the capability', () => {
    const argv = fc
      .tuple(fc.string(), fc.array(fc.string({ unit: 'binary' })))
      .map(([first, rest]) => [first, ...rest] as const);
    fc.assert(
      fc.property(argv, fc.boolean(), (asked, granted) => {
        const policy = builtInPolicy();
        const capabilities = policy.capabilities.filter((capability) => granted || capability !== 'execute');
        const { permit } = decideLaunch(
          { ...policy, capabilities },
          { argv: asked, cwd: '/', workspaceId: 'w' },
        );
        expect(isLaunchPermit(permit)).toBe(granted);
        if (granted) expect(permit?.launch.argv).toEqual(asked);
      }),
    );
  });

  it('no other value passes for one', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withTypedArray: true }), (value) => {
        expect(isLaunchPermit(value)).toBe(false);
      }),
    );
  });
});
