import * as fs from 'node:fs';
import * as fc from 'fast-check';

/** One thing that somebody does to a tree. What is not possible where it is tried does nothing. */
export type Edit =
  | {
      readonly do: 'write' | 'replace';
      readonly path: readonly string[];
      readonly content: string;
      readonly mode: number;
    }
  | { readonly do: 'append'; readonly path: readonly string[]; readonly content: string }
  | { readonly do: 'mkdir' | 'chmod'; readonly path: readonly string[]; readonly mode: number }
  | { readonly do: 'remove'; readonly path: readonly string[] }
  | { readonly do: 'rename' | 'link'; readonly path: readonly string[]; readonly to: readonly string[] }
  | { readonly do: 'symlink'; readonly path: readonly string[]; readonly target: string };

/** Bytes as latin1 text; few, so that edits meet. */
const NAMES = [
  'a',
  'b',
  'c',
  '.hidden',
  '__proto__',
  'with space',
  'new\nline',
  'caf\xc3\xa9',
  '\xff\xfe',
  '-rf',
];
const FILE_MODES = [0o644, 0o600, 0o755, 0o444, 0o4755, 0o000];
const DIRECTORY_MODES = [0o755, 0o700, 0o2750, 0o1777, 0o555, 0o000];
/** Without privilege a test would lock itself out. */
const isPrivileged = process.getuid?.() === 0;
const fileModes = FILE_MODES.filter((mode) => isPrivileged || (mode & 0o400) !== 0);
const directoryModes = DIRECTORY_MODES.filter((mode) => isPrivileged || (mode & 0o700) === 0o700);

const path = (names: readonly string[]): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
const content = fc.oneof(
  fc.constantFrom('', 'one', 'two', 'a line\n', 'x'.repeat(5000)),
  fc.string({ unit: 'binary', maxLength: 30 }),
);

/** @param more names beside the usual ones */
export function edits(
  size: { minLength?: number; maxLength: number },
  more: readonly string[] = [],
): fc.Arbitrary<Edit[]> {
  const anywhere = path([...NAMES, ...more]);
  const mode = fc.constantFrom(...fileModes);
  const edit: fc.Arbitrary<Edit> = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('write' as const, 'replace' as const),
        path: anywhere,
        content,
        mode,
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('append' as const), path: anywhere, content }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('mkdir' as const),
        path: anywhere,
        mode: fc.constantFrom(...directoryModes),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), path: anywhere }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), path: anywhere, to: anywhere }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('link' as const), path: anywhere, to: anywhere }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('symlink' as const),
        path: anywhere,
        target: fc.constantFrom('a', '../b', '/nowhere', '.'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('chmod' as const),
        path: anywhere,
        mode: fc.constantFrom(...fileModes, ...directoryModes),
      }),
    },
  );
  return fc.array(edit, size);
}

/** Does all of them in a directory. Never leaves it: a path that leads through a link is not possible. */
export function perform(root: string, list: readonly Edit[]): void {
  for (const edit of list) {
    try {
      performOne(root, edit);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  }
}

function performOne(root: string, edit: Edit): void {
  const at = locate(root, edit.path);
  const seen = fs.lstatSync(at, { throwIfNoEntry: false });
  switch (edit.do) {
    case 'replace':
      fs.rmSync(at, { recursive: true, force: true });
      fs.writeFileSync(at, Buffer.from(edit.content, 'latin1'));
      return fs.chmodSync(at, edit.mode);
    case 'write':
      if (seen !== undefined && !seen.isFile()) return;
      fs.mkdirSync(locate(root, edit.path.slice(0, -1)), { recursive: true });
      fs.writeFileSync(at, Buffer.from(edit.content, 'latin1'));
      return fs.chmodSync(at, edit.mode);
    case 'append':
      if (seen?.isFile()) fs.appendFileSync(at, Buffer.from(edit.content, 'latin1'));
      return;
    case 'mkdir':
      if (seen?.isFile() || seen?.isSymbolicLink()) fs.unlinkSync(at);
      fs.mkdirSync(at, { recursive: true });
      return fs.chmodSync(at, edit.mode);
    case 'chmod':
      if (seen === undefined || seen.isSymbolicLink()) return;
      return fs.chmodSync(at, seen.isDirectory() && !isPrivileged ? edit.mode | 0o700 : edit.mode);
    case 'remove':
      return fs.rmSync(at, { recursive: true, force: true });
    case 'rename':
      return fs.renameSync(at, locate(root, edit.to));
    case 'link':
      if (seen?.isFile()) fs.linkSync(at, locate(root, edit.to));
      return;
    case 'symlink':
      if (seen?.isFile() || seen?.isSymbolicLink()) fs.unlinkSync(at);
      return fs.symlinkSync(edit.target, at);
  }
}

function locate(root: string, names: readonly string[]): Buffer {
  let at = Buffer.from(root);
  names.forEach((name, i) => {
    at = Buffer.concat([at, Buffer.from('/'), Buffer.from(name, 'latin1')]);
    const isLast = i === names.length - 1;
    if (!isLast && fs.lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink())
      throw Object.assign(new Error('leads through a link'), { code: 'ELOOP' });
  });
  return at;
}
