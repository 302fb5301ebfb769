import { createHash } from 'node:crypto';
import * as fs from 'node:fs';

/**
 * Everything that a recover must put back, one line an entry in byte order: kind, permission bits, content (SHA-256 of a file, target of a
 * link), and the name byte for byte. Two trees with equal fingerprints are the same tree.
 * @param options.times also modification times of files and links, to the millisecond
 */
export function fingerprint(
  root: string,
  options: { skip?: (path: string) => boolean; times?: boolean } = {},
): string[] {
  const lines: string[] = [];
  const visit = (dir: Buffer, relative: string): void => {
    const names = fs.readdirSync(dir, { encoding: 'buffer' }).sort(Buffer.compare);
    for (const name of names) {
      const file = Buffer.concat([dir, Buffer.from('/'), name]);
      const shown = `${relative}${name.toString('latin1')}`;
      if (options.skip?.(shown)) continue;
      const stat = fs.lstatSync(file);
      const mode = (stat.mode & 0o7777).toString(8).padStart(4, '0');
      const time = options.times && !stat.isDirectory() ? ` ${Math.floor(stat.mtimeMs)}` : '';
      lines.push(`${kindOf(stat)} ${mode} ${contentOf(file, stat)}${time} ${JSON.stringify(shown)}`);
      if (stat.isDirectory()) visit(file, `${shown}/`);
    }
  };
  visit(Buffer.from(root), '');
  return lines;
}

/** The same by path, its bytes as latin1; the line without the path's own name. */
export function entries(root: string): Map<string, string> {
  return new Map(
    fingerprint(root).map((line): [string, string] => {
      const at = line.indexOf('"');
      return [JSON.parse(line.slice(at)) as string, line.slice(0, at)];
    }),
  );
}

function kindOf(stat: fs.Stats): string {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  return stat.isFIFO() ? 'fifo' : stat.isSocket() ? 'socket' : 'device';
}

function contentOf(file: Buffer, stat: fs.Stats): string {
  if (stat.isFile()) return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  if (stat.isSymbolicLink()) return fs.readlinkSync(file, { encoding: 'buffer' }).toString('hex');
  return '-';
}
