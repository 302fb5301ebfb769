/** The layer table: what each module of `src` may import. It is the same table as in the linter's config. */
export interface ModuleRule {
  /** Modules whose values it may use. */
  readonly values: readonly string[];
  /** Modules of which it may use the types only. */
  readonly types: readonly string[];
  /** Packages and Node's own modules. */
  readonly packages: readonly string[];
}

export const moduleRules: ReadonlyMap<string, ModuleRule> = new Map([
  ['core', { values: [], types: [], packages: ['zod', 'canonicalize', 'node:crypto', 'node:buffer'] }],
  [
    'fs',
    {
      values: ['core'],
      types: [],
      packages: ['node:fs', 'node:fs/promises', 'node:path', 'node:buffer', 'node:os'],
    },
  ],
  ['store', { values: ['core', 'fs'], types: [], packages: ['node:buffer'] }],
  [
    'snapshot',
    { values: ['core', 'fs', 'store'], types: [], packages: ['node:buffer', 'node:worker_threads'] },
  ],
  [
    'policy',
    { values: ['core'], types: ['snapshot'], packages: ['picomatch', 'yaml', 'zod', 'node:buffer'] },
  ],
  [
    'supervisor',
    {
      values: ['core'],
      types: ['policy'],
      packages: [
        'node:child_process',
        'node:process',
        'node:os',
        'node:buffer',
        'node:stream',
        'node:timers/promises',
      ],
    },
  ],
  [
    'capsule',
    {
      values: ['core', 'fs', 'store'],
      types: ['snapshot', 'policy', 'supervisor'],
      packages: ['zod', 'node:buffer'],
    },
  ],
  [
    'operations',
    {
      values: ['core', 'fs', 'store', 'snapshot', 'policy', 'supervisor', 'capsule'],
      types: [],
      packages: ['diff', 'zod', 'node:buffer'],
    },
  ],
  [
    'cli',
    {
      values: ['core', 'operations'],
      types: ['fs', 'store', 'snapshot', 'policy', 'supervisor', 'capsule'],
      packages: [
        'commander',
        'pino',
        'node:buffer',
        'node:os',
        'node:path',
        'node:process',
        'node:readline/promises',
        'node:tty',
        'node:url',
        'node:util',
      ],
    },
  ],
]);

/** Packages with exactly one owner; not even their types may be named elsewhere. */
export const ownedPackages: ReadonlyMap<string, string> = new Map([
  ['node:fs', 'fs'],
  ['node:fs/promises', 'fs'],
  ['fs', 'fs'],
  ['fs/promises', 'fs'],
  ['node:child_process', 'supervisor'],
  ['child_process', 'supervisor'],
  ['commander', 'cli'],
  ['pino', 'cli'],
  ['node:crypto', 'core'],
  ['crypto', 'core'],
]);

/** A module is entered through its reading interface or its writing interface, by no other file; see {@link isEntrance} for the two exceptions. */
const entrances: readonly string[] = ['index.ts', 'write.ts'];

/**
 * May another module import this file? Of `operations` every file that stands directly in its folder is a use case and an entrance, so that a
 * command loads only its own; `policy/parse.ts` and `policy/file.ts` stand apart because they alone load the schema library, and yaml.
 * @param path below `src`
 */
export function isEntrance(path: string): boolean {
  const [module, file, ...deeper] = path.split('/');
  if (module === undefined || file === undefined || deeper.length > 0) return false;
  return (
    entrances.includes(file) ||
    module === 'operations' ||
    path === 'policy/parse.ts' ||
    path === 'policy/file.ts'
  );
}

/** Modules whose writing interface is a file of its own, so that "cannot write" shows in the import graph. */
export const modulesWithWriteEntrance: readonly string[] = ['fs', 'store', 'capsule'];

/** Files that must never reach a writing interface, the supervisor or the run. */
export const readOnlyRoots: readonly string[] = [
  'operations/verify.ts',
  'capsule/index.ts',
  'store/index.ts',
  'fs/index.ts',
];

/** Folder names that say nothing about what is inside. */
export const emptyFolderNames: readonly string[] = ['util', 'utils', 'helpers', 'common', 'lib'];

/** Parts of `process` that belong to the cli alone. */
export const outerWorld: readonly string[] = [
  'exit',
  'exitCode',
  'env',
  'argv',
  'cwd',
  'stdin',
  'stdout',
  'stderr',
];

/** The error classes of the language; ours carries a code, these do not. */
export const plainErrors: readonly string[] = [
  'Error',
  'TypeError',
  'RangeError',
  'SyntaxError',
  'AggregateError',
];

/** Calls of `node:fs` that change something; a file that only reads has no use for them. */
export const writingCall =
  /^(write|writev|writeFile|appendFile|rename|unlink|rm|rmdir|mkdir|mkdtemp|link|symlink|copyFile|cp|f?truncate|[fl]?chmod|[fl]?chown|[fl]?utimes|createWriteStream)(Sync)?$/;
