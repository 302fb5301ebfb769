import { describe, expect, it } from 'vitest';
import { parseCapture } from '../../../src/cli/policy-options.ts';

describe('parseCapture', () => {
  it('splits at the last equals sign', () => {
    expect(parseCapture('**/*.log=stat')).toEqual({ glob: '**/*.log', level: 'stat' });
    expect(parseCapture('a=b=none')).toEqual({ glob: 'a=b', level: 'none' });
  });

  it('takes a level alone for everything', () => {
    expect(parseCapture('digest')).toEqual({ glob: '**', level: 'digest' });
  });

  it.each(['', '=', '=content', 'node_modules', 'a=full', 'a='])('refuses %j', (text) => {
    expect(() => parseCapture(text)).toThrowError(expect.objectContaining({ code: 'USAGE' }));
  });
});
