import { describe, expect, it } from 'vitest';
import type { Name, RelPath } from '../../../src/core/index.ts';
import { captureLevels, resolvePolicy } from '../../../src/policy/index.ts';
import { looksSecret } from '../../../src/policy/secret-names.ts';

describe('looksSecret', () => {
  it.each([
    '.env',
    'a/.env.local',
    'x/ID_RSA',
    'certs/server.pem',
    '.npmrc',
    'deploy.tfvars',
    'a/b/credentials.json',
  ])('%s does', (path) => {
    expect(looksSecret(path)).toBe(true);
  });

  it.each(['env', '.environment', 'id_rsa.pub', 'a.pem/readme', 'keys', 'x.envrc', ''])(
    '%s does not',
    (path) => {
      expect(looksSecret(path)).toBe(false);
    },
  );
});

describe('capture by default', () => {
  it('hashes what looks secret in a directory that a tool can make again, and leaves what a user says as it is', () => {
    const parent = { level: 'content', rule: 'default' } as const;
    const level = (capture: { glob: string; level: 'structure' }[]) => {
      const levels = captureLevels(resolvePolicy({ capture, limits: {} }));
      const above = levels('node_modules' as RelPath, 'directory', ['node_modules' as Name], parent);
      return levels('node_modules/.env' as RelPath, 'file', ['.env' as Name], above);
    };
    expect(level([])).toEqual({ level: 'digest', rule: 'regenerable: node_modules, looks secret' });
    expect(level([{ glob: '**', level: 'structure' }])).toMatchObject({ level: 'structure' });
  });
});
