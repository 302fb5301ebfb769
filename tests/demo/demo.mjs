// The main job, shown on a throwaway workspace: a command that does useful work and destroys some, and the way back.
// Everything is made below one temporary directory and removed at the end. `npm run demo` builds and runs it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../..', import.meta.url));
const bin = path.join(project, 'bin/agentdiff.js');
const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'agentdiff-demo-')));
const ws = path.join(base, 'workspace');
const env = {
  ...process.env,
  HOME: path.join(base, 'home'),
  AGENTDIFF_STORE: path.join(base, 'store'),
  AGENTDIFF_ROOT: undefined,
  AGENTDIFF_RUN_ID: undefined,
  GIT_CONFIG_GLOBAL: os.devNull,
  GIT_CONFIG_NOSYSTEM: '1',
};

// What a careless agent might do: it writes a report, and then wants a clean tree.
const careless = [
  'wc -l src/*/*.ts > report.txt',
  'git reset --quiet --hard',
  'git clean -fdxq --exclude=report.txt',
  'rm -rf docs',
].join(' && ');

const destroyed = ['.env', 'docs', 'drafts', 'latest', 'src'];

try {
  makeWorkspace();
  const before = fingerprint(ws);
  step('A workspace with work in progress that git does not hold', ['git', 'status', '--short', '--ignored']);
  step('A command runs under agentdiff; it does its work, and more than that', [
    'agentdiff',
    'run',
    '--task',
    'count lines',
    '--',
    'sh',
    '-c',
    careless,
  ]);
  const damaged = fingerprint(ws);
  step('What the run changed', ['agentdiff', 'show', 'last']);
  step('Its capsule, checked', ['agentdiff', 'verify', 'last']);
  step('The same without any tool of ours', ['sha256sum', '-c', 'SHA256SUMS'], newestCapsule());
  step('What a recover of everything would do', ['agentdiff', 'recover', 'last', '--dry-run']);
  step('Only what was destroyed; the report stays', ['agentdiff', 'recover', 'last', ...destroyed, '--yes']);
  const after = fingerprint(ws);
  check('the command did destroy something', damaged.join('\n') !== before.join('\n'));
  check('the edit in progress is back', read('src/core/index.ts').endsWith('// an edit in progress\n'));
  check('the ignored .env is back', read('.env') === 'API_KEY=not-a-real-one\n');
  check('the symlink is back', fs.readlinkSync(path.join(ws, 'latest')) === 'docs');
  check('the empty directory is back', fs.readdirSync(path.join(ws, 'drafts')).length === 0);
  check('the report that the command made is still there', fs.existsSync(path.join(ws, 'report.txt')));
  const others = after.filter((line) => !line.endsWith(' report.txt'));
  check(
    `all ${before.length} entries outside .git are what they were, byte for byte and mode for mode`,
    same(before, others),
  );
  step('git still works', ['git', 'status', '--short', '--ignored']);
  process.stdout.write('\nAll came back.\n');
} finally {
  fs.rmSync(base, { recursive: true, force: true });
}

function makeWorkspace() {
  fs.mkdirSync(env.HOME, { recursive: true });
  fs.mkdirSync(ws);
  for (const name of ['src', 'docs', 'README.md', 'package.json', 'LICENSE']) {
    if (fs.existsSync(path.join(project, name)))
      fs.cpSync(path.join(project, name), path.join(ws, name), { recursive: true });
  }
  fs.writeFileSync(path.join(ws, '.gitignore'), '.env\n');
  quietly('git', 'init', '--quiet', '.');
  quietly('git', 'add', '.');
  quietly(
    'git',
    '-c',
    'user.name=demo',
    '-c',
    'user.email=demo@example.invalid',
    'commit',
    '--quiet',
    '-m',
    'start',
  );
  fs.appendFileSync(path.join(ws, 'src/core/index.ts'), '// an edit in progress\n');
  fs.writeFileSync(path.join(ws, '.env'), 'API_KEY=not-a-real-one\n', { mode: 0o600 });
  fs.symlinkSync('docs', path.join(ws, 'latest'));
  fs.mkdirSync(path.join(ws, 'drafts'), { mode: 0o750 });
}

function step(title, argv, cwd = ws) {
  process.stdout.write(`\n## ${title}\n$ ${argv.map(quote).join(' ')}\n`);
  const [name, ...args] = argv[0] === 'agentdiff' ? [process.execPath, bin, ...argv.slice(1)] : argv;
  const { status, error } = spawnSync(name, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw error;
  check(`${argv[0]} ended with 0`, status === 0, `ended with ${status}`);
}

function quietly(name, ...args) {
  const { status, stderr } = spawnSync(name, args, { cwd: ws, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} ${args.join(' ')}: ${stderr}`);
}

function check(what, holds, found = '') {
  if (!holds) throw new Error(`demo failed: ${what}${found && `: ${found}`}`);
  if (!what.endsWith('ended with 0')) process.stdout.write(`   ok: ${what}\n`);
}

/** Kind, mode and content of every entry but git's own data. */
function fingerprint(dir, relative = '') {
  return fs
    .readdirSync(dir)
    .sort()
    .flatMap((name) => {
      const file = path.join(dir, name);
      const shown = relative + name;
      if (shown === '.git') return [];
      const stat = fs.lstatSync(file);
      const mode = (stat.mode & 0o7777).toString(8);
      if (stat.isDirectory()) return [`d ${mode} ${shown}`, ...fingerprint(file, `${shown}/`)];
      if (stat.isSymbolicLink()) return [`l ${fs.readlinkSync(file)} ${shown}`];
      return [`f ${mode} ${createHash('sha256').update(fs.readFileSync(file)).digest('hex')} ${shown}`];
    });
}

function same(before, after) {
  return before.join('\n') === after.join('\n');
}

function newestCapsule() {
  const [workspace] = fs.readdirSync(path.join(env.AGENTDIFF_STORE, 'workspaces'));
  const capsules = path.join(env.AGENTDIFF_STORE, 'workspaces', workspace, 'capsules');
  return path.join(capsules, fs.readdirSync(capsules).sort().at(-1));
}

function read(name) {
  return fs.readFileSync(path.join(ws, name), 'utf8');
}

function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;
}
