import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { checkArchitecture, type Rule, valueClosure } from './check-architecture.ts';
import { readSourceFiles } from './source-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A small tree that keeps every rule; each planted violation changes only what it names. */
const soundTree: Readonly<Record<string, string>> = {
  'core/index.ts': "export * from './errors.ts';\nexport { digest } from './digest.ts';",
  'core/errors.ts': 'export class CodedError extends Error {}\nexport const wrap = () => new Error("");',
  'core/digest.ts': "import { createHash } from 'node:crypto';\nexport const digest = createHash;",
  'fs/index.ts': "import '../core/index.ts';\nexport { read } from './read.ts';",
  'fs/read.ts': "import * as files from 'node:fs';\nexport const read = files.readFileSync;",
  'fs/write.ts': "import { renameSync } from 'node:fs';\nexport const move = renameSync;",
  'store/index.ts': "import { read } from '../fs/index.ts';\nexport const get = read;",
  'store/write.ts': "import { move } from '../fs/write.ts';\nexport const put = move;",
  'snapshot/index.ts':
    "import { get } from '../store/index.ts';\nexport interface Change { a: 1 }\nexport { get };",
  'policy/index.ts': "import type { Change } from '../snapshot/index.ts';\nexport type Permit = Change;",
  'supervisor/index.ts': "import { spawn } from 'node:child_process';\nexport const launch = spawn;",
  'capsule/index.ts': "import { get } from '../store/index.ts';\nexport const open = get;",
  'capsule/write.ts': "import { put } from '../store/write.ts';\nexport const seal = put;",
  'operations/index.ts': "export { verify } from './verify.ts';\nexport { run } from './run.ts';",
  'operations/verify.ts': "import { open } from '../capsule/index.ts';\nexport const verify = open;",
  'operations/run.ts':
    "import { seal } from '../capsule/write.ts';\nimport { launch } from '../supervisor/index.ts';\nexport const run = [seal, launch];",
  'cli/main.ts':
    "const { verify } = await import('../operations/index.ts');\nconsole.log(process.argv, verify);",
};

interface Planted {
  readonly rule: Rule;
  readonly what: string;
  readonly path: string;
  readonly text: string | undefined;
}

const planted: readonly Planted[] = [
  { rule: 'layer', what: 'an upward import', path: 'core/new.ts', text: "import '../fs/index.ts';" },
  { rule: 'layer', what: 'a package that is not ours to use', path: 'store/new.ts', text: "import 'zod';" },
  {
    rule: 'layer',
    what: 'a dynamic import upward',
    path: 'fs/new.ts',
    text: "await import('../store/index.ts');",
  },
  {
    rule: 'layer',
    what: 'an export from above',
    path: 'fs/new.ts',
    text: "export * from '../store/index.ts';",
  },
  {
    rule: 'layer',
    what: 'a value where only types are allowed',
    path: 'policy/new.ts',
    text: "import { get } from '../snapshot/index.ts';",
  },
  {
    rule: 'layer',
    what: 'inline types, which leave an import at run time',
    path: 'policy/new.ts',
    text: "import { type Change } from '../snapshot/index.ts';",
  },
  {
    rule: 'layer',
    what: 'a type from above',
    path: 'snapshot/new.ts',
    text: "export type P = import('../policy/index.ts').Permit;",
  },
  {
    rule: 'layer',
    what: 'the cli reaching below operations',
    path: 'cli/new.ts',
    text: "import { get } from '../store/index.ts';",
  },
  {
    rule: 'owner',
    what: 'node:fs outside fs',
    path: 'store/new.ts',
    text: "import type { Stats } from 'node:fs';",
  },
  {
    rule: 'owner',
    what: 'node:fs/promises outside fs',
    path: 'cli/new.ts',
    text: "import 'node:fs/promises';",
  },
  {
    rule: 'owner',
    what: 'child_process outside supervisor',
    path: 'operations/new.ts',
    text: "import 'child_process';",
  },
  {
    rule: 'owner',
    what: 'child_process in the cli',
    path: 'cli/new.ts',
    text: "import 'node:child_process';",
  },
  { rule: 'owner', what: 'commander outside cli', path: 'operations/new.ts', text: "import 'commander';" },
  {
    rule: 'owner',
    what: 'pino outside cli',
    path: 'core/new.ts',
    text: "import type { Logger } from 'pino';",
  },
  { rule: 'owner', what: 'node:crypto outside core', path: 'capsule/new.ts', text: "import 'node:crypto';" },
  { rule: 'entrance', what: 'an inner file', path: 'store/new.ts', text: "import '../fs/read.ts';" },
  {
    rule: 'entrance',
    what: 'an inner file, for its types',
    path: 'store/new.ts',
    text: "import type { X } from '../fs/read.ts';",
  },
  {
    rule: 'cli-is-top',
    what: 'an import of cli',
    path: 'operations/new.ts',
    text: "import '../cli/main.ts';",
  },
  { rule: 'unresolved', what: 'a missing target', path: 'core/new.ts', text: "import './nowhere.ts';" },
  { rule: 'unknown-import', what: 'a computed target', path: 'core/new.ts', text: 'await import(name);' },
  { rule: 'folder-name', what: 'a helpers folder', path: 'core/helpers/new.ts', text: '' },
  { rule: 'unknown-module', what: 'a tenth module', path: 'extra/new.ts', text: '' },
  { rule: 'unknown-module', what: 'a file beside the modules', path: 'new.ts', text: '' },
  { rule: 'missing-file', what: 'a module without index.ts', path: 'policy/index.ts', text: undefined },
  { rule: 'missing-file', what: 'a store without write.ts', path: 'store/write.ts', text: undefined },
  { rule: 'missing-file', what: 'no verify', path: 'operations/verify.ts', text: undefined },
  {
    rule: 'module-cycle',
    what: 'a cycle of modules',
    path: 'core/new.ts',
    text: "import type { read } from '../fs/index.ts';\n",
  },
  {
    rule: 'read-only',
    what: 'verify reaching a writing interface',
    path: 'operations/verify.ts',
    text: "import { put } from '../store/write.ts';\nexport const verify = put;",
  },
  {
    rule: 'read-only',
    what: 'verify reaching the supervisor',
    path: 'operations/verify.ts',
    text: "export { launch as verify } from '../supervisor/index.ts';",
  },
  {
    rule: 'read-only',
    what: 'verify reaching the run',
    path: 'operations/verify.ts',
    text: "export const verify = async () => import('./run.ts');",
  },
  {
    rule: 'read-only',
    what: 'the capsule reader reaching its writer',
    path: 'capsule/index.ts',
    text: "export { seal as open } from './write.ts';",
  },
  {
    rule: 'read-only',
    what: 'a writing call behind a reading interface',
    path: 'fs/read.ts',
    text: "import * as files from 'node:fs';\nexport const read = () => files.unlinkSync('a');",
  },
  { rule: 'outer-world', what: 'process.env', path: 'store/new.ts', text: 'export const e = process.env;' },
  { rule: 'outer-world', what: 'process["exit"]', path: 'store/new.ts', text: "process['exit'](1);" },
  {
    rule: 'outer-world',
    what: 'process taken apart',
    path: 'store/new.ts',
    text: 'const { cwd } = process;',
  },
  { rule: 'outer-world', what: 'console', path: 'operations/new.ts', text: "console.log('');" },
  {
    rule: 'outer-world',
    what: 'argv by name',
    path: 'supervisor/new.ts',
    text: "import { argv } from 'node:process';",
  },
  { rule: 'plain-error', what: 'an error without code', path: 'fs/new.ts', text: "throw new Error('no');" },
];

const temporary: string[] = [];
afterEach(() => {
  for (const folder of temporary.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function plant(changes: Readonly<Record<string, string | undefined>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'agentdiff-architecture-'));
  temporary.push(folder);
  for (const [path, text] of Object.entries({ ...soundTree, ...changes })) {
    if (text === undefined) continue;
    const file = join(folder, 'src', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return folder;
}

describe('the sources', () => {
  test('keep every rule', () => {
    expect(checkArchitecture(root)).toEqual([]);
  });

  test('were all seen', () => {
    const names = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
    const expected = names.filter((name) => name.endsWith('.ts'));
    expect(readSourceFiles(root)).toHaveLength(expected.length);
    expect(expected.length).toBeGreaterThan(30);
  });

  test('verify reaches more than itself, so its closure shows something', () => {
    const files = readSourceFiles(root);
    const byPath = new Map(files.map((file) => [file.path, file]));
    const modules = new Set(valueClosure('operations/verify.ts', byPath).map((file) => file.module));
    expect(modules).toContain('capsule');
    expect(modules).toContain('core');
  });
});

describe('the check itself', () => {
  test('finds nothing in a sound tree', () => {
    expect(checkArchitecture(plant({}))).toEqual([]);
  });

  test.each(planted)('reports $what ($rule)', ({ rule, path, text }) => {
    const found = checkArchitecture(plant({ [path]: text }));
    expect(found.map((violation) => violation.rule)).toContain(rule);
  });

  test('has a planted violation for every rule', () => {
    const rules: Record<Rule, true> = {
      layer: true,
      owner: true,
      entrance: true,
      'cli-is-top': true,
      unresolved: true,
      'unknown-import': true,
      'folder-name': true,
      'missing-file': true,
      'unknown-module': true,
      'module-cycle': true,
      'read-only': true,
      'outer-world': true,
      'plain-error': true,
    };
    expect(new Set(planted.map((item) => item.rule))).toEqual(new Set(Object.keys(rules)));
  });
});
