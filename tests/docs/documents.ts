import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

export const project = fileURLToPath(new URL('../..', import.meta.url));

const SKIPPED = new Set(['node_modules', 'dist', 'coverage', '.git']);

export interface Document {
  /** Relative to the project. */
  readonly path: string;
  readonly text: string;
}

/** Every Markdown file of the project. */
export function documents(): Document[] {
  return markdownBelow('').map((name) => ({
    path: name,
    text: fs.readFileSync(path.join(project, name), 'utf8'),
  }));
}

function markdownBelow(folder: string): string[] {
  return fs.readdirSync(path.join(project, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : markdownBelow(name);
    return entry.name.endsWith('.md') ? [name] : [];
  });
}

/** Without fenced blocks, so that what stands in examples and output is not taken for our own words. */
export function prose(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, '');
}
