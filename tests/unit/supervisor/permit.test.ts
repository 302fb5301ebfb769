import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  builtInPolicy,
  decideLaunch,
  isLaunchPermit,
  type LaunchPermit,
  type PermittedLaunch,
} from '../../../src/policy/index.ts';
import { launch } from '../../../src/supervisor/index.ts';
import { temporaryDir } from '../../support/temporary.ts';

function permitFor(marker: string): LaunchPermit {
  const request = { argv: ['touch', marker], cwd: '/', workspaceId: 'test' } as const;
  const { permit } = decideLaunch(builtInPolicy(), request);
  if (permit === undefined) throw new Error('the built-in policy allows every command');
  return permit;
}

async function tryLaunch(permit: unknown): Promise<string> {
  const events: string[] = [];
  const options = {
    isPermit: isLaunchPermit,
    env: { PATH: '/usr/bin:/bin' },
    terminal: false,
    now: () => 0n,
    onEvent: ({ type }: { type: string }) => events.push(type),
  };
  const { ended, release } = launch(permit as LaunchPermit, options);
  await ended;
  release();
  return events.join(' ');
}

/** What a real permit would say, so that only its origin is wrong. */
const looks: readonly [string, (real: LaunchPermit) => unknown][] = [
  ['nothing', () => undefined],
  ['a plain object', ({ launch: permitted }) => ({ launch: permitted })],
  ['an object whose prototype is plain', ({ launch: permitted }) => Object.create({ launch: permitted })],
  [
    'an object whose prototype is that of permits',
    (real) => Object.create(Object.getPrototypeOf(real) as object),
  ],
  ['an object whose prototype is a permit', (real) => Object.create(real)],
  ['a copy', (real) => Object.assign({}, real)],
  ['a clone', (real) => structuredClone(real)],
  ['JSON', (real) => JSON.parse(JSON.stringify(real))],
  ['a proxy', (real) => new Proxy(real, {})],
  [
    'an instance of a class that looks the same',
    ({ launch: permitted }) =>
      new (class LaunchPermit {
        get launch(): PermittedLaunch {
          return permitted;
        }
      })(),
  ],
];

describe('launch', () => {
  it.each(looks)('refuses %s', async (_what, forge) => {
    const marker = join(temporaryDir(), 'marker');
    const before = process.listenerCount('SIGTERM');
    await expect(tryLaunch(forge(permitFor(marker)))).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(existsSync(marker)).toBe(false);
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });

  it('takes a permit of the policy, and leaves no signal handler behind after the release', async () => {
    const marker = join(temporaryDir(), 'marker');
    const before = process.listenerCount('SIGTERM');
    expect(await tryLaunch(permitFor(marker))).toBe('child-started child-ended');
    expect(existsSync(marker)).toBe(true);
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });

  it('refuses a working directory that cannot be handed over byte for byte', async () => {
    const request = { argv: ['true'], cwd: '\0/d\xff', workspaceId: 'test' } as const;
    const { permit } = decideLaunch(builtInPolicy(), request);
    await expect(tryLaunch(permit)).rejects.toMatchObject({ code: 'INPUT_NOT_UTF8' });
  });
});
