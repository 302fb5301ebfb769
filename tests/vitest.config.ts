import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// One config, two kinds of tests: those that start whole processes get more time than the rest. The limits are far above what a slow machine needs: they end what hangs.
const slowFolders = ['tests/e2e/**/*.test.ts', 'tests/faults/**/*.test.ts'];
const root = fileURLToPath(new URL('..', import.meta.url));
const defaultExclude = ['**/node_modules/**', '**/dist/**'];

const common = {
  root,
  globals: false,
  environment: 'node',
  exclude: defaultExclude,
} as const;

export default defineConfig({
  test: {
    root,
    watch: false,
    reporters: ['default'],
    pool: 'forks',
    fileParallelism: true,
    maxWorkers: 2,
    // A run that finds nothing has shown nothing.
    passWithNoTests: false,
    projects: [
      {
        test: {
          ...common,
          name: 'fast',
          pool: 'forks',
          include: ['tests/**/*.test.ts'],
          exclude: [...defaultExclude, ...slowFolders],
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
      {
        test: {
          ...common,
          name: 'slow',
          pool: 'forks',
          include: slowFolders,
          testTimeout: 600_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
