import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, it } from 'vitest';
import {
  digestOf,
  fromBytes,
  joinPath,
  lossyText,
  type Name,
  type RelPath,
  ROOT_PATH,
} from '../../src/core/index.ts';
import {
  builtInPolicy,
  captureLevels,
  changeDecisions,
  decideLaunch,
  type Decision,
  isLaunchPermit,
  type PathRule,
  policyDigest,
  resolvePolicy,
} from '../../src/policy/index.ts';
import { parsePolicyFile } from '../../src/policy/file.ts';
import { parsePolicy } from '../../src/policy/parse.ts';
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

describe('globs', () => {
  it('a glob of ** and one name is told without an expression, and means what picomatch means by it', () => {
    const last = fc.constantFrom('node_modules', '.venv', 'a.b', 'target', 'x y', 'é');
    fc.assert(
      fc.property(last, names, names, fc.boolean(), (wanted, above, below, isThere) => {
        const path = pathOf([...above, ...(isThere ? [wanted] : []), ...below]);
        if (path === ROOT_PATH) return;
        const glob = `**/${wanted}`;
        const matches = picomatch([glob, `${glob}/**`], {
          dot: true,
          flags: 's',
          nonegate: true,
          windows: false,
        });
        expect(decide([{ rule: 'r', glob, decision: 'deny' }], path) === 'deny').toBe(
          matches(lossyText(path)),
        );
      }),
      { numRuns: 1000 },
    );
  });
});

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

describe('policy files', () => {
  const level = fc.constantFrom('content', 'digest', 'stat', 'structure', 'none');
  const part = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 8 })
    .filter((text) => !/[/\0]/.test(text) && !/^\.{1,2}$/.test(text));
  const place = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  const glob = fc.constantFrom('a', '**/b/', '*.c', 'd/**', './e');
  const reason = fc.option(fc.record({ reason: part }), { nil: {} });
  const rule = fc
    .tuple(
      fc.oneof(
        glob.map((text) => ({ glob: text })),
        place.map((path) => ({ path })),
      ),
      level,
      reason,
    )
    .map(([what, at, why]) => ({ ...what, level: at, ...why }));
  const size = fc.oneof(
    fc.maxSafeNat(),
    fc.nat(1000).map((value) => `${value} MiB`),
  );
  const limits = fc.record(
    {
      keptFileBytes: size,
      hashedFileBytes: size,
      newBytesPerRun: size,
      storeBytes: size,
      freeBytes: size,
      freePercent: fc.double({ min: 0, max: 100, noNaN: true }).map((value) => value + 0),
      maxDepth: fc.integer({ min: 1, max: 100_000 }),
    },
    { requiredKeys: [] },
  );

  it('whatever a file says comes back from the capsule as it was resolved', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 5 }),
        limits,
        limits,
        fc.boolean(),
        (capture, said, other, inside) => {
          const file = parsePolicyFile(JSON.stringify({ version: 1, capture, limits: said }), 'p.json');
          const flags = parsePolicyFile(JSON.stringify({ version: 1, limits: other }), 'flags').limits;
          const source = { path: 'p.json', digest: digestOf('x'), ...(inside && { inWorkspace: 'ci/*' }) };
          const policy = resolvePolicy(
            { capture: [{ glob: 'x/', level: 'stat' }], limits: flags },
            { ...file, ...source },
          );
          const read = parsePolicy(JSON.parse(JSON.stringify(policy)));
          expect(read).toEqual(policy);
          expect(policyDigest(read)).toBe(policyDigest(policy));
          expect(policy.limits).toMatchObject(flags);
          const rules = policy.capture.map((each) => each.level);
          expect(rules.slice(0, capture.length + 1)).toEqual(['stat', ...capture.map((each) => each.level)]);
        },
      ),
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
