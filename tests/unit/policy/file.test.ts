import { describe, expect, it } from 'vitest';
import type { AgentdiffError, Name, RelPath } from '../../../src/core/index.ts';
import { digestOf } from '../../../src/core/index.ts';
import { parsePolicyFile } from '../../../src/policy/file.ts';
import { captureLevels, resolvePolicy } from '../../../src/policy/index.ts';
import type { LevelDecision } from '../../../src/snapshot/index.ts';

const read = (text: string) => parsePolicyFile(text, 'agentdiff.yaml');

/** Code, line, column and place of the first problem. */
function problemOf(text: string): unknown[] {
  try {
    read(text);
  } catch (error) {
    const { code, data, message } = error as AgentdiffError;
    const [first] = data['issues'] as { line: number; column: number; place: string }[];
    expect(message).toContain(`agentdiff.yaml:${first?.line}:${first?.column}: `);
    return [code, first?.line, first?.column, first?.place];
  }
  return ['no error'];
}

describe('a policy file', () => {
  it('says what it says: rules in their order, sizes as numbers or texts', () => {
    const text = `# ours
version: 1
capture:
  - glob: data/**
    level: digest
    reason: made again
  - { path: 'a [b]*', level: none }
  - glob: '**/dist/'
    level: structure
limits:
  keptFileBytes: 1.5 MiB
  hashedFileBytes: 4096
  storeBytes: 20G
  freePercent: 2.5
  maxDepth: 20
`;
    expect(read(text)).toEqual({
      capture: [
        { rule: 'file: data/**', glob: 'data/**', level: 'digest', reason: 'made again' },
        { rule: 'file: a [b]*', glob: 'a [b]*', literal: true, level: 'none', reason: 'by the policy file' },
        {
          rule: 'file: **/dist/',
          glob: '**/dist',
          when: { kind: 'directory' },
          level: 'structure',
          reason: 'by the policy file',
        },
      ],
      limits: {
        keptFileBytes: 1.5 * 2 ** 20,
        hashedFileBytes: 4096,
        storeBytes: 20 * 2 ** 30,
        freePercent: 2.5,
        maxDepth: 20,
      },
    });
  });

  it('may be JSON, and need say nothing but its version', () => {
    expect(read('{"version": 1, "limits": {"maxDepth": 3}}').limits).toEqual({ maxDepth: 3 });
    expect(read('version: 1')).toEqual({ capture: [], limits: {} });
  });

  it.each<[string, string, number, number, string]>([
    ['nothing but a comment', '# only\n', 1, 1, ''],
    ['a list', '- 1\n', 1, 1, ''],
    ['no version', 'limits: {}\n', 1, 1, 'version'],
    ['a version in quotes', 'version: "1"\n', 1, 10, 'version'],
    ['an unknown key', 'version: 1\ncaptures: []\n', 2, 1, ''],
    ['__proto__', 'version: 1\n__proto__: {}\n', 2, 1, ''],
    ['an unknown limit', 'version: 1\nlimits:\n  keptBytes: 1\n', 3, 3, 'limits'],
    ['a key twice', 'version: 1\nlimits: {}\nlimits: {}\n', 3, 1, 'limits'],
    ['a limit twice', 'version: 1\nlimits:\n  maxDepth: 1\n  maxDepth: 2\n', 4, 3, 'limits.maxDepth'],
    ['an unknown level', 'version: 1\ncapture:\n  - glob: a\n    level: all\n', 4, 12, 'capture[0].level'],
    ['no level', 'version: 1\ncapture:\n  - glob: a\n', 3, 5, 'capture[0].level'],
    ['glob and path', 'version: 1\ncapture:\n  - {glob: a, path: b, level: stat}\n', 3, 5, 'capture[0]'],
    ['neither', 'version: 1\ncapture:\n  - level: stat\n', 3, 5, 'capture[0]'],
    ['a glob that leaves', 'version: 1\ncapture:\n- {glob: ../x, level: stat}\n', 3, 10, 'capture[0].glob'],
    [
      'a path that is absolute',
      'version: 1\ncapture:\n- {path: /x, level: stat}\n',
      3,
      10,
      'capture[0].path',
    ],
    ['no glob', 'version: 1\ncapture:\n- {glob: "a[", level: stat}\n', 3, 10, 'capture[0].glob'],
    ['a slow glob', 'version: 1\ncapture:\n- {glob: "*a*a*", level: stat}\n', 3, 10, 'capture[0].glob'],
    [
      'a glob of alternatives',
      'version: 1\ncapture:\n- {glob: "+(a|aa)", level: stat}\n',
      3,
      10,
      'capture[0].glob',
    ],
    ['an empty glob', 'version: 1\ncapture:\n- {glob: "", level: stat}\n', 3, 10, 'capture[0].glob'],
    ['a rule that is a text', 'version: 1\ncapture:\n- a\n', 3, 3, 'capture[0]'],
    ['a mapping for the rules', 'version: 1\ncapture: {}\n', 2, 10, 'capture'],
    ['a size in MB', 'version: 1\nlimits:\n  storeBytes: 1 MB\n', 3, 15, 'limits.storeBytes'],
    ['a negative size', 'version: 1\nlimits:\n  storeBytes: -1\n', 3, 15, 'limits.storeBytes'],
    ['half a byte', 'version: 1\nlimits:\n  storeBytes: 0.5\n', 3, 15, 'limits.storeBytes'],
    ['infinity', 'version: 1\nlimits:\n  storeBytes: .inf\n', 3, 15, 'limits.storeBytes'],
    ['no size', 'version: 1\nlimits:\n  storeBytes:\n', 3, 14, 'limits.storeBytes'],
    ['over 100 percent', 'version: 1\nlimits: {freePercent: 101}\n', 2, 23, 'limits.freePercent'],
    ['no depth', 'version: 1\nlimits: {maxDepth: 0}\n', 2, 20, 'limits.maxDepth'],
    ['an anchor', 'version: &v 1\n', 1, 13, 'version'],
    ['an alias', 'version: 1\nlimits: *x\n', 2, 9, 'limits'],
    ['a tag', 'version: !!int "1"\n', 1, 16, 'version'],
    ['a tag of its own', 'version: 1\nlimits: !x {}\n', 2, 9, ''],
    ['a merge key', 'version: 1\nlimits:\n  <<: {maxDepth: 1}\n', 3, 3, 'limits'],
    ['a key that is a list', 'version: 1\n? [a]\n: 1\n', 2, 3, ''],
    ['a second document', 'version: 1\n---\nversion: 1\n', 2, 1, ''],
    ['another YAML', '%YAML 1.1\n---\nversion: 1\n', 1, 1, ''],
    ['an open bracket', 'version: 1\ncapture: [\n', 3, 1, ''],
    ['a tab', 'version: 1\nlimits:\n\tmaxDepth: 1\n', 3, 1, ''],
  ])('%s is an error with its place', (_what, text, line, column, place) => {
    expect(problemOf(text)).toEqual(['POLICY_INVALID', line, column, place]);
  });

  it.each(['commands', 'paths', 'capabilities', 'network', 'recover'])(
    'the section %s is refused by its name, whatever else is wrong',
    (section) => {
      expect(problemOf(`version: 1\nlimits: 3\n${section}: []\n`)).toEqual(['POLICY_UNSUPPORTED', 3, 1, '']);
    },
  );

  it('another version is refused as such', () => {
    expect(problemOf('version: 2\n')).toEqual(['POLICY_UNSUPPORTED', 1, 10, 'version']);
  });

  it('names all problems, up to ten', () => {
    const rules = Array.from({ length: 12 }, () => '  - {glob: a, level: x}\n').join('');
    try {
      read(`version: 1\ncapture:\n${rules}`);
      expect.unreachable();
    } catch (error) {
      expect((error as AgentdiffError).data['issues']).toHaveLength(10);
      expect((error as AgentdiffError).message).toContain('(and 11 more)');
    }
  });

  it('a file that is nothing but depth or keys is refused, or read, in bounded time and without an overflow', () => {
    const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}: ${i}`).join('\n');
    for (const text of ['['.repeat(250_000), '- '.repeat(120_000), '{a: '.repeat(60_000), keys])
      expect(problemOf(text)[0]).toBe('POLICY_INVALID');
  });
});

describe('the rules of a file', () => {
  const levelOf = (rule: string, path: string, kind: 'file' | 'directory' | 'symlink'): string => {
    const file = read(`version: 1\ncapture:\n- ${rule}\n`);
    const policy = resolvePolicy({ capture: [], limits: {} }, { ...file, path: 'p', digest: digestOf('') });
    const root: LevelDecision = { level: 'content', rule: 'root' };
    return captureLevels(policy)(path as RelPath, kind, [path as Name], root).level;
  };

  it('match leading dots and newlines', () => {
    expect(levelOf("{glob: '*', level: none}", '.a\nb', 'file')).toBe('none');
    expect(levelOf("{glob: '**/*.x', level: none}", '.d/\n.x', 'file')).toBe('none');
  });

  it('E3: with a slash at the end they speak of directories only; a link is none', () => {
    expect(levelOf('{glob: d/, level: none}', 'd', 'directory')).toBe('none');
    expect(levelOf('{glob: d/, level: none}', 'd', 'symlink')).toBe('content');
    expect(levelOf('{glob: d/, level: none}', 'd', 'file')).toBe('content');
    expect(levelOf('{glob: d, level: none}', 'd', 'symlink')).toBe('none');
    expect(levelOf('{path: d/, level: none}', 'd', 'symlink')).toBe('content');
  });

  it('a path is every character as it stands, with all below it', () => {
    expect(levelOf("{path: 'a*[b]', level: none}", 'a*[b]', 'file')).toBe('none');
    expect(levelOf("{path: 'a*[b]', level: none}", 'a*[b]/c', 'file')).toBe('none');
    expect(levelOf("{path: 'a*[b]', level: none}", 'a*[b]c', 'file')).toBe('content');
    expect(levelOf("{path: 'a*', level: none}", 'ab', 'file')).toBe('content');
  });

  it('a glob that is taken matches any name of 255 bytes in little time', () => {
    const path = `${'a'.repeat(255)}/${'a'.repeat(255)}/${'b'.repeat(255)}/${'a'.repeat(254)}b`;
    const began = performance.now();
    levelOf("{glob: '**/*a*/*c', level: none}", path, 'file');
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
