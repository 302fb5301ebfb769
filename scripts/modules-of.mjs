import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

export const project = fileURLToPath(new URL('..', import.meta.url));

/**
 * The modules that are loaded with `entry`, without those of an `import()`, and without those of which nothing is used.
 * @param {string} entry relative to the project
 * @returns {Promise<ReadonlySet<string>>} their files
 */
export async function modulesOf(entry) {
  const bundle = await rolldown({ input: entry, platform: 'node', cwd: project });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]));
  const loaded = new Set(output.filter(({ isEntry }) => isEntry));
  for (const { imports } of loaded) {
    for (const name of imports) if (chunks.has(name)) loaded.add(chunks.get(name));
  }
  return new Set([...loaded].flatMap(({ moduleIds }) => moduleIds));
}
