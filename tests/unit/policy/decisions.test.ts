import { describe, expect, it } from 'vitest';
import type { RelPath } from '../../../src/core/index.ts';
import {
  builtInPolicy,
  changeDecisions,
  decideLaunch,
  type Decision,
  isLaunchPermit,
  type Policy,
  worstOf,
} from '../../../src/policy/index.ts';

function decide(path: string, rules?: Policy['paths']['rules']): string {
  const policy = builtInPolicy();
  const used = rules === undefined ? policy : { ...policy, paths: { ...policy.paths, rules } };
  const { decision, rule } = changeDecisions(used)({ path: path as RelPath });
  return `${decision} by ${rule}`;
}

describe('decisions about changes', () => {
  it('the policy file at the root is denied, and what a directory of that name holds', () => {
    expect(decide('agentdiff.yaml')).toBe('deny by policy-file');
    expect(decide('agentdiff.yaml/x')).toBe('deny by policy-file');
  });

  it.each([
    '',
    'a',
    'sub/agentdiff.yaml',
    'agentdiff.yaml2',
    'agentdiffxyaml',
    'x\nagentdiff.yaml',
    '\0\xff',
  ])('%j is allowed by default', (path) => {
    expect(decide(path)).toBe('allow by default');
  });

  it('deny is over review is over allow, whatever the order', () => {
    const rules = (['allow', 'review', 'deny'] as const).map((decision) => ({
      rule: decision,
      glob: 'a*',
      decision,
    }));
    expect(decide('ab', rules)).toBe('deny by deny');
    expect(decide('ab', rules.toReversed())).toBe('deny by deny');
    expect(decide('ab', rules.slice(0, 2))).toBe('review by review');
    expect(decide('b', rules)).toBe('allow by default');
  });

  it('of rules that say the same, the first is named', () => {
    const rules = ['one', 'two'].map((rule) => ({ rule, glob: 'a', decision: 'deny' as const }));
    expect(decide('a', rules)).toBe('deny by one');
  });

  it.each([
    's\u00e9cret/.x',
    's\u00e9cret/a\nb',
    '\0s\xc3\xa9cret/\xff',
    's\u00e9cret/\n',
    's\u00e9cret/a/b/c',
  ])('%j does not escape a rule for its directory', (path) => {
    expect(decide(path, [{ rule: 'r', glob: 's\u00e9cret', decision: 'deny' }])).toBe('deny by r');
  });

  it('a glob that cannot be read is an error, not a rule that never matches', () => {
    expect(() => decide('a', [{ rule: 'r', glob: '[z-a]', decision: 'deny' }])).toThrowError(
      expect.objectContaining({ code: 'USAGE' }),
    );
  });

  it.each<[Decision[], Decision]>([
    [[], 'allow'],
    [['allow', 'review'], 'review'],
    [['deny', 'review', 'allow'], 'deny'],
  ])('the worst of %j is %s', (decisions, worst) => {
    expect(worstOf(decisions)).toBe(worst);
  });
});

describe('decisions about launches', () => {
  const request = { argv: ['rm', '-rf', 'x'], cwd: '/w', workspaceId: 'id' } as const;

  it('the built-in policy allows every command by its default, with a permit for exactly that', () => {
    const { permit, ...decided } = decideLaunch(builtInPolicy(), request);
    expect(decided).toEqual({ decision: 'allow', rule: 'default' });
    expect(isLaunchPermit(permit)).toBe(true);
    expect(permit?.launch).toMatchObject({ argv: ['rm', '-rf', 'x'], cwd: '/w' });
  });

  it('without the capability there is no permit', () => {
    const decision = decideLaunch({ ...builtInPolicy(), capabilities: [] }, request);
    expect(decision).toEqual({ decision: 'deny', rule: 'capability: execute' });
  });

  it('what is denied gets no permit', () => {
    const policy: Policy = { ...builtInPolicy(), commands: { default: 'deny', rules: [] } };
    expect(decideLaunch(policy, request)).toEqual({ decision: 'deny', rule: 'default' });
  });

  it('a permit keeps what was asked for, whatever happens to the request', () => {
    const argv: [string, ...string[]] = ['true', 'x'];
    const { permit } = decideLaunch(builtInPolicy(), { ...request, argv });
    argv[0] = 'false';
    expect(permit?.launch.argv).toEqual(['true', 'x']);
    expect(Object.isFrozen(permit?.launch) && Object.isFrozen(permit?.launch.argv)).toBe(true);
  });

  it('no other permit is made by way of one', () => {
    const { permit } = decideLaunch(builtInPolicy(), request);
    const other = () => Reflect.construct(permit?.constructor ?? Object, [Symbol('launch permit'), request]);
    expect(other).toThrowError(expect.objectContaining({ code: 'INTERNAL' }));
  });

  it('the digest is that of argv, directory, workspace and policy', () => {
    const digest = (policy: Policy, changed: object): string | undefined =>
      decideLaunch(policy, { ...request, ...changed }).permit?.launch.requestDigest;
    const policy = builtInPolicy();
    const digests = [
      digest(policy, {}),
      digest(policy, { argv: ['rm', '-rf x'] }),
      digest(policy, { cwd: '/v' }),
      digest(policy, { cwd: '\0/w\xff' }),
      digest(policy, { cwd: '\0/w\xfe' }),
      digest(policy, { workspaceId: 'other' }),
      digest(builtInPolicy([{ glob: 'a', level: 'none' }]), {}),
    ];
    expect(new Set(digests).size).toBe(digests.length);
    expect(digest(policy, {})).toBe(digests[0]);
  });
});
