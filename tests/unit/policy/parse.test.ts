import { describe, expect, it } from 'vitest';
import { builtInPolicy, policyDigest } from '../../../src/policy/index.ts';
import { parsePolicy } from '../../../src/policy/parse.ts';

const policy = builtInPolicy([{ glob: 'build/**', level: 'digest' }]);
const json = JSON.stringify(policy);

describe('the policy document', () => {
  it.each([{ flags: [] }, { flags: [{ glob: 'build/**', level: 'digest' as const }] }])(
    'comes back from JSON as it was: $flags',
    ({ flags }) => {
      const written = builtInPolicy(flags);
      const read = parsePolicy(JSON.parse(JSON.stringify(written)));
      expect(read).toEqual(written);
      expect(policyDigest(read)).toBe(policyDigest(written));
    },
  );

  it('another policy has another digest', () => {
    expect(policyDigest(policy)).not.toBe(policyDigest(builtInPolicy()));
  });

  it.each<[string, string, string]>([
    ['another version', '"version":1', '"version":2'],
    ['an unknown key', '"version":1', '"version":1,"more":0'],
    ['an unknown key in a rule', '"rule":"flag: build/**"', '"rule":"flag: build/**","more":0'],
    ['an unknown key in a condition', '"kind":"directory"', '"kind":"directory","more":0'],
    ['a __proto__ key', '"version":1', '"version":1,"__proto__":{"name":"x"}'],
    ['another name', '"built-in"', '"mine"'],
    ['a file without its digest', '"name":"built-in"', '"name":"file","file":{"path":"x"}'],
    [
      'a further path rule that is a glob',
      '"decision":"deny"}',
      '"decision":"deny"},{"rule":"policy-file","glob":"*","decision":"deny"}',
    ],
    ['a share over all', '"freePercent":5', '"freePercent":101'],
    ['an unknown capability', '"execute"', '"destroy"'],
    ['another decision about the policy file', '"deny"', '"allow"'],
    ['a path rule of a stranger', '"agentdiff.yaml"', '"*a*a*a*a*b"'],
    [
      'no path rules',
      '"rules":[{"rule":"policy-file","glob":"agentdiff.yaml","decision":"deny"}]',
      '"rules":[]',
    ],
    ['a default that denies', '"default":"allow"', '"default":"deny"'],
    ['a rule for commands', '"rules":[]', '"rules":[{}]'],
    ['an unknown level', '"level":"digest"', '"level":"all"'],
    ['an empty glob', '"glob":"build/**"', '"glob":""'],
    ['a long glob', '"glob":"build/**"', `"glob":"${'a'.repeat(2000)}"`],
    ['a negative limit', '"maxDepth":1000', '"maxDepth":-1'],
    ['a fractional limit', '"maxDepth":1000', '"maxDepth":0.5'],
    ['a missing limit', '"maxDepth":1000', '"newBytesPerRun":1'],
  ])('%s is refused', (_what, from, to) => {
    const text = json.replace(from, () => to);
    expect(text).not.toBe(json);
    expect(() => parsePolicy(JSON.parse(text))).toThrowError(
      expect.objectContaining({ code: 'POLICY_UNSUPPORTED' }),
    );
  });

  it.each([undefined, null, [], 'built-in', 1])('%j is refused', (value) => {
    expect(() => parsePolicy(value)).toThrowError(expect.objectContaining({ code: 'POLICY_UNSUPPORTED' }));
  });
});
