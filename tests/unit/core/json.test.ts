import { describe, expect, it } from 'vitest';
import { canonicalJson, parseJson } from '../../../src/core/index.ts';

const invalid = expect.objectContaining({ code: 'CAPSULE_INVALID' });

describe('JSON of unknown origin', () => {
  it('is not parsed when it nests too deep', () => {
    expect(() => parseJson('['.repeat(2_000_000), 'x')).toThrow(invalid);
    expect(() => parseJson(`${'['.repeat(65)}${']'.repeat(65)}`, 'x')).toThrow(invalid);
    expect(parseJson(`${'['.repeat(64)}${']'.repeat(64)}`, 'x')).toBeDefined();
  });

  it('does not count brackets inside strings', () => {
    const text = JSON.stringify(`\\"${'['.repeat(1000)}`);
    expect(parseJson(text, 'x')).toBe(JSON.parse(text));
  });

  it('has its own error when it is cut short', () => {
    expect(() => parseJson('{"a":', 'x')).toThrow(invalid);
  });
});

it('canonical JSON sorts keys and has no blanks', () => {
  expect(canonicalJson({ b: [1, { d: 1e21, c: 'ä' }], a: null })).toBe(
    '{"a":null,"b":[1,{"c":"ä","d":1e+21}]}',
  );
});
