import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fromBytes, isMarked, type Name, toBytes } from '../../../src/core/index.ts';
import {
  type Anchoring,
  Dir,
  defaultAnchoring,
  FileMoved,
  FileTooLong,
  readFile,
  readSmallFile,
} from '../../../src/fs/index.ts';
import { temporaryDir } from '../../support/temporary.ts';

const ANCHORINGS: readonly Anchoring[] = process.platform === 'linux' ? ['handle', 'path'] : ['path'];

function open(dir: string | Buffer, anchoring?: Anchoring): Dir {
  const opened = Dir.open(typeof dir === 'string' ? dir : fromBytes(dir), anchoring);
  onTestFinished(() => opened.close());
  return opened;
}

function name(text: string | Buffer): Name {
  return (typeof text === 'string' ? text : fromBytes(text)) as Name;
}

function read(dir: Dir, file: Name): string {
  const pieces: Buffer[] = [];
  readFile(dir, file, dir.lstat(file), (piece) => pieces.push(Buffer.from(piece)));
  return Buffer.concat(pieces).toString();
}

function throwsErrno(...codes: string[]): unknown {
  return expect.objectContaining({ code: expect.stringMatching(new RegExp(`^(${codes.join('|')})$`)) });
}

it('anchors by handle on Linux', () => {
  expect(defaultAnchoring()).toBe(process.platform === 'linux' ? 'handle' : 'path');
});

describe.each(ANCHORINGS)('a directory, anchored by %s', (anchoring) => {
  it('lists names in the order of their bytes, whatever they are', () => {
    const root = temporaryDir();
    const names = [
      'a',
      'A',
      'a\nb',
      ' ',
      '-rf',
      '\x1b[2K',
      '\u{1f600}',
      '\uffff',
      'é',
      '__proto__',
      'n'.repeat(255),
      'x\ufffd',
    ];
    const bytes = [
      ...names.map((each) => Buffer.from(each)),
      Buffer.from([0xff]),
      Buffer.from([0xfe, 0x0a]),
      Buffer.from([0x61, 0xff]),
    ];
    for (const each of bytes) fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), each]), each);
    const dir = open(root, anchoring);
    expect(dir.names().map((each) => toBytes(each))).toEqual([...bytes].sort(Buffer.compare));
    for (const each of dir.names()) expect(readSmallFile(dir, each, 1000)).toEqual(toBytes(each));
    expect(dir.names().filter(isMarked)).toHaveLength(3);
  });

  it('opens subdirectories, one whose name is not UTF-8 included', () => {
    const root = temporaryDir();
    const odd = Buffer.from([0x64, 0xff]);
    const below = Buffer.concat([Buffer.from(`${root}/`), odd]);
    fs.mkdirSync(below);
    fs.writeFileSync(Buffer.concat([below, Buffer.from('/f')]), 'x');
    const dir = open(root, anchoring).openDir(name(odd));
    expect(read(dir, name('f'))).toBe('x');
    dir.close();
    expect(read(open(below, anchoring), name('f'))).toBe('x');
  });

  it('follows a link only in the path that it is opened by', () => {
    const root = temporaryDir();
    fs.mkdirSync(path.join(root, 'real'));
    fs.writeFileSync(path.join(root, 'real/f'), 'x');
    fs.symlinkSync('real', path.join(root, 'link'));
    expect(open(path.join(root, 'link'), anchoring).names()).toEqual(['f']);
    const dir = open(root, anchoring);
    expect(() => dir.openDir(name('link'))).toThrow(throwsErrno('ELOOP', 'ENOTDIR'));
    expect(dir.lstat(name('link')).kind).toBe('symlink');
    expect(dir.readlink(name('link'))).toBe('real');
  });

  it('opens no link as a file, and reads a target byte for byte', () => {
    const root = temporaryDir();
    fs.writeFileSync(path.join(root, 'f'), 'x');
    fs.symlinkSync('f', path.join(root, 'l'));
    fs.symlinkSync(Buffer.from([0x74, 0xff]), path.join(root, 'odd'));
    const dir = open(root, anchoring);
    expect(() => dir.openFile(name('l'))).toThrow(throwsErrno('ELOOP'));
    expect(() => readFile(dir, name('l'), dir.lstat(name('f')), () => {})).toThrow(FileMoved);
    expect(toBytes(dir.readlink(name('odd')))).toEqual(Buffer.from([0x74, 0xff]));
  });

  it('does not wait for a writer of a FIFO', () => {
    const root = temporaryDir();
    execFileSync('mkfifo', [path.join(root, 'p')]);
    const dir = open(root, anchoring);
    const file = dir.openFile(name('p'));
    expect([file.stat().kind, dir.lstat(name('p')).kind]).toEqual(['fifo', 'fifo']);
    file.close();
    expect(() => readSmallFile(dir, name('p'), 10)).toThrow(FileMoved);
  });

  it('tells a socket and does not read it', async () => {
    const root = temporaryDir();
    const server = net.createServer().listen(path.join(root, 's'));
    await new Promise((resolve) => server.once('listening', resolve));
    const dir = open(root, anchoring);
    expect(dir.lstat(name('s')).kind).toBe('socket');
    expect(() => readFile(dir, name('s'), dir.lstat(name('s')), () => {})).toThrow(FileMoved);
    server.close();
  });

  it('tells what is not there', () => {
    const dir = open(temporaryDir(), anchoring);
    expect(dir.tryLstat(name('x'))).toBeUndefined();
    for (const call of [
      () => dir.lstat(name('x')),
      () => dir.openDir(name('x')),
      () => dir.openFile(name('x')),
    ]) {
      expect(call).toThrow(throwsErrno('ENOENT'));
    }
  });

  it('is not used after it was closed: its number may be another directory by then', () => {
    const root = temporaryDir();
    const dir = Dir.open(root, anchoring);
    dir.close();
    dir.close();
    const other = open(temporaryDir(), anchoring);
    expect(other.names()).toEqual([]);
    for (const call of [
      () => dir.names(),
      () => dir.lstat(name('x')),
      () => dir.openFile(name('x')),
      () => dir.reopen(),
    ]) {
      expect(call).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    }
  });

  it('can be opened again, to be closed on its own', () => {
    const root = temporaryDir();
    fs.writeFileSync(path.join(root, 'f'), '');
    const dir = Dir.open(root, anchoring);
    const again = dir.reopen();
    dir.close();
    expect(again.names()).toEqual(['f']);
    again.close();
  });

  it('closes a file once: its number may be another file by then', () => {
    const root = temporaryDir();
    for (const each of ['a', 'b']) fs.writeFileSync(path.join(root, each), each);
    const dir = open(root, anchoring);
    const first = dir.openFile(name('a'));
    first.close();
    const second = dir.openFile(name('b'));
    first.close();
    expect(second.read(Buffer.alloc(1), 0)).toBe(1);
    second.close();
  });
});

describe('a parent that is swapped for a link', () => {
  /** `d/f` was opened as a directory; then `d` became a link to `outside`. */
  function swapped(anchoring: Anchoring): { dir: Dir; outside: string } {
    const root = temporaryDir();
    const outside = temporaryDir();
    fs.mkdirSync(path.join(root, 'd'));
    fs.writeFileSync(path.join(root, 'd/f'), 'inside');
    fs.writeFileSync(path.join(outside, 'f'), 'outside');
    const dir = open(root, anchoring).openDir(name('d'));
    onTestFinished(() => dir.close());
    fs.renameSync(path.join(root, 'd'), path.join(root, 'moved'));
    fs.symlinkSync(outside, path.join(root, 'd'));
    return { dir, outside };
  }

  it.runIf(ANCHORINGS.includes('handle'))('makes no difference to a handle', () => {
    const { dir } = swapped('handle');
    expect(read(dir, name('f'))).toBe('inside');
    expect(dir.names()).toEqual(['f']);
  });

  it('is noticed with path anchoring, by every call', () => {
    const { dir } = swapped('path');
    const calls = [
      () => dir.names(),
      () => dir.lstat(name('f')),
      () => dir.tryLstat(name('f')),
      () => dir.readlink(name('f')),
      () => dir.openFile(name('f')),
      () => dir.openDir(name('f')),
      () => dir.openEntry(name('f')),
    ];
    for (const call of calls) expect(call).toThrow(expect.objectContaining({ code: 'ROOT_REPLACED' }));
  });
});

it.runIf(ANCHORINGS.includes('handle'))(
  'reaches entries deeper than the longest path the system takes',
  () => {
    const dirs = [Dir.open(temporaryDir())];
    onTestFinished(() => {
      for (const dir of dirs) dir.close();
    });
    const long = name('x'.repeat(250));
    for (let depth = 0; depth < 40; depth++) {
      const last = dirs.at(-1);
      if (last === undefined) throw new Error('never empty');
      fs.mkdirSync(last.at(long));
      dirs.push(last.openDir(long));
    }
    const deepest = dirs.at(-1);
    if (deepest === undefined) throw new Error('never empty');
    fs.writeFileSync(deepest.at(name('leaf')), 'hi');
    expect(deepest.names()).toEqual(['leaf']);
    expect(read(deepest, name('leaf'))).toBe('hi');
    // The test's own tidying goes by path; the parts must be short again.
    fs.unlinkSync(deepest.at(name('leaf')));
    for (let depth = 39; depth >= 0; depth--) fs.rmdirSync(dirs[depth]?.at(long) ?? '');
  },
);

describe('reading a file that moves', () => {
  function file(content: string | Buffer): { dir: Dir; path: string; f: Name } {
    const root = temporaryDir();
    fs.writeFileSync(path.join(root, 'f'), content);
    return { dir: open(root), path: path.join(root, 'f'), f: name('f') };
  }

  it.each<[string, (file: string) => void]>([
    ['grew', (each) => fs.appendFileSync(each, 'more')],
    ['was cut off', (each) => fs.truncateSync(each, 1)],
    [
      'was written with the same size and mtime',
      (each) => {
        const { mtime } = fs.statSync(each);
        fs.writeFileSync(each, 'CONTENT');
        fs.utimesSync(each, mtime, mtime);
      },
    ],
    ['got another mode', (each) => fs.chmodSync(each, 0o600)],
    [
      'was replaced',
      (each) => {
        fs.writeFileSync(`${each}.new`, 'content');
        fs.renameSync(`${each}.new`, each);
      },
    ],
    ['is gone', (each) => fs.unlinkSync(each)],
    [
      'is a directory',
      (each) => {
        fs.unlinkSync(each);
        fs.mkdirSync(each);
      },
    ],
    [
      'is a link',
      (each) => {
        fs.renameSync(each, `${each}.old`);
        fs.symlinkSync('f.old', each);
      },
    ],
  ])('is noticed when it %s before it was opened', async (_, change) => {
    const { dir, path: at, f } = file('content');
    const seen = dir.lstat(f);
    // Past the granularity of the kernel's time stamps.
    await new Promise((resolve) => setTimeout(resolve, 20));
    change(at);
    expect(() => readFile(dir, f, seen, () => {})).toThrow(FileMoved);
  });

  it.each<[string, (file: string) => void]>([
    ['grows', (each) => fs.appendFileSync(each, 'more')],
    ['is cut off', (each) => fs.truncateSync(each, 1)],
    ['is written in place', (each) => fs.writeSync(fs.openSync(each, 'r+'), 'X', 0)],
  ])('is noticed when it %s meanwhile', async (_, change) => {
    const { dir, path: at, f } = file(Buffer.alloc(3 << 20));
    const seen = dir.lstat(f);
    await new Promise((resolve) => setTimeout(resolve, 20));
    let pieces = 0;
    expect(() =>
      readFile(dir, f, seen, () => {
        if (pieces++ === 0) change(at);
      }),
    ).toThrow(FileMoved);
  });

  it('does not hang on one that became a FIFO', () => {
    const { dir, path: at, f } = file('content');
    const seen = dir.lstat(f);
    fs.unlinkSync(at);
    execFileSync('mkfifo', [at]);
    expect(() => readFile(dir, f, seen, () => {})).toThrow(FileMoved);
  });

  it('hands out pieces of the scratch space it was given', () => {
    const { dir, f } = file('0123456789');
    const pieces: string[] = [];
    readFile(dir, f, dir.lstat(f), (piece) => pieces.push(Buffer.from(piece).toString()), Buffer.alloc(4));
    expect(pieces).toEqual(['0123', '4567', '89']);
  });

  it('reads the empty file', () => {
    const { dir, f } = file('');
    readFile(dir, f, dir.lstat(f), () => expect.unreachable());
    expect(readSmallFile(dir, f, 0)).toHaveLength(0);
  });

  it('refuses a file longer than allowed', () => {
    const { dir, f } = file('12345');
    expect(() => readSmallFile(dir, f, 4)).toThrow(FileTooLong);
    expect(readSmallFile(dir, f, 5).toString()).toBe('12345');
  });
});
