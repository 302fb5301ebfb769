import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Context } from './bench-context.ts';
import { BenchError } from './commands.ts';
import { countFiles, makeTree, sourceSizes } from './trees.ts';

/** What a web project of some size depends on, tests and tools included. */
const PACKAGES = [
  'next@14',
  'react@18',
  'react-dom@18',
  '@mui/material@5',
  'antd@5',
  'date-fns@3',
  'lodash@4',
  'rxjs@7',
  'core-js@3',
  '@reduxjs/toolkit@2',
  'typescript@5',
  'eslint@8',
  'jest@29',
  'webpack@5',
  '@babel/preset-env@7',
  'tailwindcss@3',
  'prettier@3',
  'vite@5',
  'storybook@8',
];

export interface WebProject {
  /** Files in `node_modules`. */
  readonly files: number;
  /** How it came about, for people. */
  readonly made: string;
}

/**
 * Makes a project as web developers have it: some hundred sources in a real repository, and `node_modules`, which it ignores. Packages that npm
 * cannot fetch are replaced by generated files; when there are too few, copies of the packages under other names fill up.
 * @param least files that `node_modules` must have
 */
export async function makeWebProject(context: Context, root: string, least: number): Promise<WebProject> {
  const { commands, pause } = context;
  await makeTree(path.join(root, 'src'), { files: 400, seed: 3, sizes: sourceSizes }, pause);
  fs.writeFileSync(path.join(root, '.gitignore'), 'node_modules/\n');
  fs.writeFileSync(path.join(root, 'package.json'), '{ "name": "web-project", "private": true }\n');
  const made = await makeModules(context, root, least);
  const author = ['-c', 'user.name=bench', '-c', 'user.email=bench@example.invalid'];
  for (const args of [
    ['init', '--quiet'],
    ['add', '-A'],
    [...author, 'commit', '--quiet', '-m', 'Sources'],
  ])
    await commands.ms(['git', ...args], { cwd: root });
  return made;
}

async function makeModules(context: Context, root: string, least: number): Promise<WebProject> {
  const modules = path.join(root, 'node_modules');
  const why = await install(context, root);
  if (why !== undefined) {
    fs.rmSync(modules, { recursive: true, force: true });
    const shape = { files: least, seed: 4, sizes: sourceSizes };
    await makeTree(modules, shape, context.pause);
    return { files: least, made: `node_modules of ${least} generated files: ${why}` };
  }
  const installed = countFiles(modules);
  const files = fillUp(modules, installed, least, context.pause);
  const copied =
    files === installed ? '' : `, ${files - installed} of them in copies of packages under other names`;
  return { files, made: `node_modules of ${files} files from npm${copied}` };
}

/** @returns why the packages are not there, or nothing */
async function install(context: Context, root: string): Promise<string | undefined> {
  if (context.quick || context.offline) return 'no package was to be fetched';
  context.say(`npm install of ${PACKAGES.length} packages and what they depend on`);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps'];
  try {
    await context.commands.ms(['npm', 'install', ...flags, ...PACKAGES], {
      cwd: root,
      env: context.place.network,
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    return `npm could not install (${error.message.split('\n').at(-1)?.slice(0, 200)})`;
  }
}

function fillUp(modules: string, installed: number, least: number, pause: () => void): number {
  const packages = fs
    .readdirSync(modules, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^[.@]/.test(entry.name))
    .map(({ name }) => name);
  let files = installed;
  for (let round = 1; files < least && packages.length > 0; round += 1) {
    for (const name of packages) {
      if (files >= least) break;
      pause();
      const copy = path.join(modules, `${name}-copy-${round}`);
      fs.cpSync(path.join(modules, name), copy, { recursive: true, verbatimSymlinks: true });
      files += countFiles(copy);
    }
  }
  return files;
}
