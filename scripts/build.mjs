/**
 * Makes dist/ from src/: CommonJS, because Node loads that sooner than ES modules, in as few files as a run needs. `start.cjs` is what bin/ loads;
 * `main.cjs` holds all that a run loads, and the other files what single commands add to it. Why: docs/decisions/0014-two-files-for-a-run.md.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rolldown } from 'rolldown';
import { modulesOf, project } from './modules-of.mjs';

const dist = `${project}dist`;

/** What the licences of the packages in the bundle ask for: that they come with it. */
function licences(moduleIds) {
  const packages = new Set(
    [...moduleIds].flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
  );
  return [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : `\n${readFileSync(`${folder}/${file}`, 'utf8')}`;
    return `${name} ${version} (${license})\n${text}`;
  });
}

/** Bundles what `entry` loads into dist/. */
async function write(entry, name, options) {
  const bundle = await rolldown({
    input: entry,
    platform: 'node',
    cwd: project,
    optimization: { inlineConst: true },
  });
  const { output } = await bundle.write({
    dir: dist,
    format: 'cjs',
    entryFileNames: `${name}.cjs`,
    chunkFileNames: '[name].cjs',
    // Names stay as they are: a stack names functions.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    ...options,
  });
  await bundle.close();
  return output;
}

if (existsSync(dist)) rmSync(dist, { recursive: true });
const main = await modulesOf('src/cli/main.ts');
const output = await write('src/cli/start.ts', '[name]', {
  codeSplitting: { groups: [{ name: 'main', test: (id) => main.has(id) }] },
});
// What runs in a thread of the scan is a file by itself: it must not load a whole run.
if (existsSync(`${project}src/snapshot/thread.ts`)) {
  output.push(...(await write('src/snapshot/thread.ts', 'scan-thread', { codeSplitting: false })));
}
const moduleIds = new Set(output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : [])));
writeFileSync(
  `${dist}/LICENSES.txt`,
  licences(moduleIds).join('\n----------------------------------------\n\n'),
);
