import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  emptyFolderNames,
  isEntrance,
  moduleRules,
  modulesWithWriteEntrance,
  outerWorld,
  ownedPackages,
  readOnlyRoots,
} from './rules.ts';
import { type Import, readSourceFiles, resolveImport, type SourceFile } from './source-files.ts';

/** The rules that can be broken; each has a planted violation in the tests. */
export type Rule =
  | 'layer'
  | 'owner'
  | 'entrance'
  | 'cli-is-top'
  | 'unresolved'
  | 'unknown-import'
  | 'folder-name'
  | 'missing-file'
  | 'unknown-module'
  | 'module-cycle'
  | 'read-only'
  | 'outer-world'
  | 'plain-error';

export interface Violation {
  readonly rule: Rule;
  /** Relative to `src`. */
  readonly file: string;
  readonly message: string;
}

/** Checks the sources below `<root>/src` against the layer table and the rules of the architecture. */
export function checkArchitecture(root: string): Violation[] {
  const files = readSourceFiles(root);
  const byPath = new Map(files.map((file) => [file.path, file]));
  return [
    ...files.flatMap((file) => [...checkPlace(file), ...checkUses(file)]),
    ...files.flatMap((file) => file.imports.flatMap((item) => checkImport(file, item, byPath))),
    ...checkRequiredFiles(root),
    ...checkModuleCycles(files),
    ...readOnlyRoots.flatMap((path) => checkReadOnly(path, byPath)),
  ];
}

/** Every file that is loaded, at run time, when the given file is. */
export function valueClosure(start: string, byPath: ReadonlyMap<string, SourceFile>): SourceFile[] {
  const reached = new Map<string, SourceFile>();
  const open = [start];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const file = byPath.get(path);
    if (file === undefined || reached.has(path)) continue;
    reached.set(path, file);
    for (const item of file.imports) {
      const target = item.kind === 'value' ? resolveImport(path, item.specifier) : undefined;
      if (target !== undefined) open.push(target);
    }
  }
  return [...reached.values()];
}

function checkPlace(file: SourceFile): Violation[] {
  const found: Violation[] = [];
  const folders = file.path.split('/').slice(0, -1);
  const empty = folders.find((name) => emptyFolderNames.includes(name));
  if (empty !== undefined)
    found.push(violation('folder-name', file, `a folder named "${empty}" says nothing`));
  if (!moduleRules.has(file.module)) found.push(violation('unknown-module', file, 'not in a known module'));
  return found;
}

function checkUses(file: SourceFile): Violation[] {
  const found: Violation[] = [];
  if (file.unknownImports > 0) {
    found.push(violation('unknown-import', file, 'a computed import cannot be checked'));
  }
  if (file.module !== 'cli') {
    for (const use of file.outerWorldUses) {
      found.push(violation('outer-world', file, `${use} belongs to the cli`));
    }
  }
  if (file.path !== 'core/errors.ts') {
    for (const name of file.plainErrors) found.push(violation('plain-error', file, `${name} has no code`));
  }
  return found;
}

function checkImport(file: SourceFile, item: Import, byPath: ReadonlyMap<string, SourceFile>): Violation[] {
  const target = resolveImport(file.path, item.specifier);
  return target === undefined
    ? checkPackageImport(file, item)
    : checkModuleImport(file, item, target, byPath.get(target));
}

function checkPackageImport(file: SourceFile, item: Import): Violation[] {
  const found: Violation[] = [];
  const name = item.specifier;
  const owner = ownedPackages.get(name);
  if (owner !== undefined && owner !== file.module) {
    found.push(violation('owner', file, `only ${owner} imports ${name}`));
  }
  if (!(moduleRules.get(file.module)?.packages.includes(name) ?? false)) {
    found.push(violation('layer', file, `${file.module} may not import ${name}`));
  }
  if (name === 'node:process' && file.module !== 'cli') {
    for (const used of item.names.filter((part) => outerWorld.includes(part))) {
      found.push(violation('outer-world', file, `process.${used} belongs to the cli`));
    }
  }
  return found;
}

function checkModuleImport(
  file: SourceFile,
  item: Import,
  path: string,
  target: SourceFile | undefined,
): Violation[] {
  if (target === undefined) return [violation('unresolved', file, `${item.specifier} leads nowhere`)];
  if (target.module === file.module) return [];
  const found: Violation[] = [];
  if (target.module === 'cli') found.push(violation('cli-is-top', file, 'nothing imports the cli'));
  if (!isEntrance(path)) {
    found.push(violation('entrance', file, `${path} is inside ${target.module}; use its entrance`));
  }
  const rule = moduleRules.get(file.module);
  const allowed =
    rule?.values.includes(target.module) || (item.kind === 'type' && rule?.types.includes(target.module));
  if (allowed !== true) {
    found.push(violation('layer', file, `${file.module} may not import ${item.kind}s of ${target.module}`));
  }
  return found;
}

function checkRequiredFiles(root: string): Violation[] {
  const required = [
    ...[...moduleRules.keys()].filter((name) => name !== 'cli').map((name) => `${name}/index.ts`),
    ...modulesWithWriteEntrance.map((name) => `${name}/write.ts`),
    'cli/main.ts',
    'operations/verify.ts',
    'operations/run.ts',
  ];
  return required
    .filter((path) => !existsSync(join(root, 'src', path)))
    .map((path) => ({ rule: 'missing-file', file: path, message: 'this file must exist' }));
}

function checkModuleCycles(files: readonly SourceFile[]): Violation[] {
  const edges = new Map<string, Set<string>>();
  for (const file of files) {
    const targets = edges.get(file.module) ?? new Set<string>();
    edges.set(file.module, targets);
    for (const item of file.imports) {
      const module = resolveImport(file.path, item.specifier)?.split('/')[0];
      if (module !== undefined && module !== file.module) targets.add(module);
    }
  }
  return [...edges.keys()]
    .filter((module) => reaches(module, module, edges))
    .map((module) => ({
      rule: 'module-cycle',
      file: module,
      message: 'this module imports itself by way of others',
    }));
}

function reaches(from: string, to: string, edges: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const seen = new Set<string>();
  const open = [...(edges.get(from) ?? [])];
  for (let module = open.pop(); module !== undefined; module = open.pop()) {
    if (module === to) return true;
    if (seen.has(module)) continue;
    seen.add(module);
    open.push(...(edges.get(module) ?? []));
  }
  return false;
}

function checkReadOnly(start: string, byPath: ReadonlyMap<string, SourceFile>): Violation[] {
  const found: Violation[] = [];
  for (const file of valueClosure(start, byPath)) {
    const reason = writes(file);
    if (reason !== undefined) found.push(violation('read-only', file, `${start} reaches it, but ${reason}`));
  }
  return found;
}

function writes(file: SourceFile): string | undefined {
  if (basename(file.path) === 'write.ts') return 'it is a writing interface';
  if (file.module === 'supervisor') return 'it is part of the supervisor';
  if (file.path === 'operations/run.ts') return 'it is the run';
  if (file.fileSystemWrites.length > 0) return `it calls ${file.fileSystemWrites.join(', ')}`;
  return undefined;
}

function violation(rule: Rule, file: SourceFile, message: string): Violation {
  return { rule, file: file.path, message };
}
