import { describe, expect, it } from 'vitest';
import { openSession, placeOf, refusePlatform } from '../../../src/cli/context.ts';
import { Output } from '../../../src/cli/output.ts';

const cwd = '/home/u/here';

function storeOf(environment: Record<string, string>, home?: string, store?: string): string {
  return placeOf(store === undefined ? {} : { store }, { environment, cwd, home }).store;
}

describe('the platform', () => {
  it('is refused where there are no POSIX permissions, before anything is read', () => {
    expect(() => refusePlatform('win32')).toThrowError(
      expect.objectContaining({ code: 'PLATFORM_UNSUPPORTED' }),
    );
    for (const platform of ['linux', 'darwin']) expect(() => refusePlatform(platform)).not.toThrow();
  });
});

describe('placeOf', () => {
  it('prefers the option, then AGENTDIFF_STORE, then XDG_STATE_HOME, then the home directory', () => {
    const environment = { AGENTDIFF_STORE: '/env', XDG_STATE_HOME: '/state' };
    expect(storeOf(environment, '/home/x', '/option')).toBe('/option');
    expect(storeOf(environment, '/home/x')).toBe('/env');
    expect(storeOf({ XDG_STATE_HOME: '/state' }, '/home/x')).toBe('/state/agentdiff');
    expect(storeOf({}, '/home/x')).toBe('/home/x/.local/state/agentdiff');
    expect(storeOf({}, '/')).toBe('/.local/state/agentdiff');
  });

  it('takes empty variables for unset ones', () => {
    expect(storeOf({ AGENTDIFF_STORE: '', XDG_STATE_HOME: '' }, '/home/x')).toBe(
      '/home/x/.local/state/agentdiff',
    );
  });

  it('ignores a state directory and a home that are relative', () => {
    expect(storeOf({ XDG_STATE_HOME: 'state' }, '/home/x')).toBe('/home/x/.local/state/agentdiff');
    expect(() => storeOf({}, 'home')).toThrowError(expect.objectContaining({ code: 'STORE_UNWRITABLE' }));
  });

  it('says so when there is no place for a store', () => {
    expect(() => storeOf({})).toThrowError(expect.objectContaining({ code: 'STORE_UNWRITABLE' }));
  });

  it('takes relative paths from the working directory', () => {
    expect(storeOf({}, '/home/x', 'below')).toBe('/home/u/here/below');
    const place = placeOf({ root: '../other' }, { environment: {}, cwd, home: '/home/x' });
    expect(place.root).toBe('/home/u/here/../other');
  });

  it('tells a chosen store from the default one', () => {
    const context = { environment: {}, cwd, home: '/home/x' };
    expect(placeOf({}, context)).toMatchObject({ storeChosen: false, allowAnyRoot: false });
    expect(placeOf({ store: '/s', allowRoot: true }, context)).toMatchObject({
      storeChosen: true,
      allowAnyRoot: true,
    });
  });

  it('refuses an empty option', () => {
    expect(() => storeOf({}, '/home/x', '')).toThrowError(expect.objectContaining({ code: 'USAGE' }));
  });
});

describe('openSession', () => {
  it('keeps no log unless it is asked to', async () => {
    const { context } = await openSession('show', {}, new Output({}, false));
    expect(context.log.debug({ a: 1 }, 'nothing')).toBeUndefined();
    expect(context.cwd).toBe(process.cwd());
    expect(context.monotonic()).toBeTypeOf('bigint');
  });
});
