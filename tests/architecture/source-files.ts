import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { parseSync } from 'vite';
import { outerWorld, plainErrors, writingCall } from './rules.ts';

/** One import of a source file; `type` means that nothing of it is left at run time. */
export interface Import {
  readonly specifier: string;
  readonly kind: 'value' | 'type';
  /** Imported names, for packages that are only forbidden in part. */
  readonly names: readonly string[];
}

/** What the architecture rules need to know of one file. Paths are relative to `src`, with `/`. */
export interface SourceFile {
  readonly path: string;
  readonly module: string;
  readonly imports: readonly Import[];
  /** Imports whose target is computed, so that nobody can check it. */
  readonly unknownImports: number;
  readonly outerWorldUses: readonly string[];
  readonly plainErrors: readonly string[];
  readonly fileSystemWrites: readonly string[];
}

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

interface Facts {
  imports: Import[];
  unknownImports: number;
  outerWorldUses: string[];
  plainErrors: string[];
  fileSystemWrites: string[];
  fileSystemNames: Set<string>;
}

/** All TypeScript files below `src`, parsed. */
export function readSourceFiles(root: string): SourceFile[] {
  const source = join(root, 'src');
  return listFiles(source).map((file) =>
    readSourceFile(relative(source, file).split(sep).join('/'), readFileSync(file, 'utf8')),
  );
}

/** The path an import leads to, relative to `src`; undefined for a package. */
export function resolveImport(from: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? posix.normalize(posix.join(dirname(from), specifier)) : undefined;
}

function listFiles(folder: string): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...listFiles(path));
    else if (entry.name.endsWith('.ts')) found.push(path);
  }
  return found.sort();
}

function readSourceFile(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  const problem = parsed.errors[0];
  if (problem !== undefined) throw new Error(`${path}: ${problem.message}`);
  const facts: Facts = {
    imports: [],
    unknownImports: 0,
    outerWorldUses: [],
    plainErrors: [],
    fileSystemWrites: [],
    fileSystemNames: new Set(),
  };
  visit(parsed.program, (node) => {
    collectImport(node, facts);
    collectUse(node, facts);
  });
  const module = path.includes('/') ? path.slice(0, path.indexOf('/')) : '';
  const { fileSystemNames: _, ...rest } = facts;
  return { path, module, ...rest };
}

function visit(value: unknown, action: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, action);
  } else if (isNode(value)) {
    action(value);
    for (const key of Object.keys(value)) visit(value[key], action);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function collectImport(node: Node, facts: Facts): void {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration': {
      const specifier = literal(node['source']);
      if (specifier === undefined) return;
      // `import { type A }` stays as a bare import at run time, so only `import type` is a type import.
      const kind = node['importKind'] === 'type' || node['exportKind'] === 'type' ? 'type' : 'value';
      const names = children(node['specifiers']).flatMap((item) => nameOf(item['imported']) ?? []);
      facts.imports.push({ specifier, kind, names });
      if (/^(node:)?fs(\/promises)?$/.test(specifier)) {
        for (const item of children(node['specifiers'])) {
          if (item.type !== 'ImportSpecifier') facts.fileSystemNames.add(nameOf(item['local']) ?? '');
        }
        facts.fileSystemWrites.push(...names.filter((name) => writingCall.test(name)));
      }
      return;
    }
    case 'ImportExpression': {
      const specifier = literal(node['source']);
      if (specifier === undefined) facts.unknownImports += 1;
      else facts.imports.push({ specifier, kind: 'value', names: [] });
      return;
    }
    case 'TSImportType': {
      const specifier = literal(node['source']) ?? literal(node['argument']);
      if (specifier !== undefined) facts.imports.push({ specifier, kind: 'type', names: [] });
    }
  }
}

function collectUse(node: Node, facts: Facts): void {
  if (node.type === 'MemberExpression') {
    const object = nameOf(node['object']) ?? '';
    const property = nameOf(node['property']) ?? literal(node['property']) ?? '';
    if (object === 'console') facts.outerWorldUses.push(`console.${property}`);
    if (object === 'process' && outerWorld.includes(property)) {
      facts.outerWorldUses.push(`process.${property}`);
    }
    if (facts.fileSystemNames.has(object) && writingCall.test(property)) {
      facts.fileSystemWrites.push(property);
    }
  } else if (node.type === 'VariableDeclarator' && nameOf(node['init']) === 'process') {
    facts.outerWorldUses.push('process');
  } else if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    const callee = nameOf(node['callee']) ?? '';
    if (plainErrors.includes(callee)) facts.plainErrors.push(callee);
  }
}

function children(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function nameOf(value: unknown): string | undefined {
  return isNode(value) && value.type === 'Identifier' ? String(value['name']) : undefined;
}

function literal(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  if (value.type === 'TSLiteralType') return literal(value['literal']);
  return value.type === 'Literal' && typeof value['value'] === 'string' ? value['value'] : undefined;
}
