import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const used = (name: string, from: string) =>
  `import { ${name} } from '${from}';\nexport const a = ${name};\n`;

/** One file per rule of the linter that guards the layers. */
const planted = [
  ['upward', 'core/upward.ts', used('read', '../fs/index.ts'), 'no-restricted-imports'],
  ['nested upward', 'fs/deep/nested.ts', used('get', '../../store/index.ts'), 'no-restricted-imports'],
  [
    'value of a type-only module',
    'policy/value.ts',
    used('get', '../snapshot/index.ts'),
    'no-restricted-imports',
  ],
  ['inner file', 'store/inner.ts', used('read', '../fs/read.ts'), 'no-restricted-imports'],
  ['foreign package', 'store/foreign.ts', used('readFileSync', 'node:fs'), 'no-restricted-imports'],
  ['environment', 'store/environment.ts', 'export const e = process.env;\n', 'no-restricted-properties'],
  ['exit', 'operations/exit.ts', 'export const f = () => process.exit(1);\n', 'no-restricted-properties'],
  ['printing', 'operations/print.ts', "console.log('');\n", 'no-console'],
  ['floating promise', 'core/floating.ts', 'export const f = async () => 1;\nf();\n', 'no-floating-promises'],
  [
    'open switch',
    'core/switch.ts',
    "export function f(a: 'x' | 'y'): void {\n  switch (a) {\n    case 'x':\n      f(a);\n  }\n}\n",
    'switch-exhaustiveness-check',
  ],
  [
    'cycle',
    'core/cycle.ts',
    "import { b } from './cycle-other.ts';\nexport const a = () => b;\n",
    'no-cycle',
  ],
  [
    'cycle',
    'core/cycle-other.ts',
    "import { a } from './cycle.ts';\nexport const b = () => a;\n",
    'no-cycle',
  ],
  ['any', 'core/any.ts', 'export const f = (a: any) => a;\n', 'no-explicit-any'],
  ['assertion', 'core/assert.ts', 'export const f = (a?: string) => a!;\n', 'no-non-null-assertion'],
  [
    'long function',
    'core/long.ts',
    `export function f() {\n${'f();\n'.repeat(61)}}\n`,
    'max-lines-per-function',
  ],
  ['long file', 'core/file.ts', 'export {};\n'.repeat(401), 'max-lines'],
] as const;

/** What the layer table allows must stay silent, or the rules above would prove nothing. */
const sound = [
  ['core/index.ts', "import { createHash } from 'node:crypto';\nexport const digest = createHash;\n"],
  ['fs/index.ts', used('digest', '../core/index.ts')],
  ['fs/deep/part.ts', used('digest', '../../core/index.ts')],
  ['fs/deep/sibling.ts', used('read', '../read.ts')],
  ['fs/beside.ts', used('read', './read.ts')],
  ['fs/promises.ts', used('open', 'node:fs/promises')],
  ['store/index.ts', used('move', '../fs/write.ts')],
  ['policy/types.ts', "import type { Change } from '../snapshot/index.ts';\nexport type C = Change;\n"],
  ['cli/main.ts', "import process from 'node:process';\nconsole.log(process.argv);\n"],
] as const;

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
}

let found: Diagnostic[] = [];
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentdiff-lint-'));
  for (const [path, text] of [...sound, ...planted.map(([, path, text]) => [path, text] as const)]) {
    const file = join(folder, 'src', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const options = { compilerOptions: { strict: true, module: 'nodenext', types: [] }, include: ['src'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
  // The folder patterns of the config are relative to the file itself.
  copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
  const oxlint = join(root, 'node_modules/.bin/oxlint');
  const run = spawnSync(oxlint, ['--type-aware', '--format', 'json', 'src'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(run.status).toBe(1);
  found = (JSON.parse(run.stdout) as { diagnostics: Diagnostic[] }).diagnostics;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the linter', () => {
  test.each(planted)('reports %s in %s', (_, path, __, rule) => {
    const codes = found.filter((item) => item.filename.endsWith(path)).map((item) => item.code);
    expect(codes.some((code) => code.endsWith(`(${rule})`))).toBe(true);
  });

  test.each(sound)('accepts %s', (path) => {
    expect(found.filter((item) => item.filename.endsWith(path))).toEqual([]);
  });
});
