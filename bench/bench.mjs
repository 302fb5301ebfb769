// Starts the benchmark. Node 20 does not run TypeScript, so the bundler that builds the program reads it; nothing of it is written to the disk.
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const project = fileURLToPath(new URL('..', import.meta.url));
const { outputFiles } = buildSync({
  absWorkingDir: project,
  entryPoints: ['bench/main.ts'],
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  write: false,
});
const code = Buffer.from(outputFiles[0].contents).toString('base64');
const { main } = await import(`data:text/javascript;base64,${code}`);
process.exitCode = await main(process.argv.slice(2), project);
