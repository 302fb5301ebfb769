import * as fs from 'node:fs';
import { type ByteString, errnoOf, fromBytes, isMarked, toBytes } from '../core/index.ts';
import { toPath } from './dir.ts';
import { isSameInode, type Stat, toStat } from './stat.ts';

/** Who a process is: pids are used again, so the start time and the boot belong to it. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, as in `/proc/<pid>/stat`; empty where there is no /proc. */
  readonly startTime: string;
  readonly bootId: string;
}

export function processIdentity(pid: number): ProcessIdentity {
  return { pid, startTime: startTimeOf(pid) ?? '', bootId: bootId() };
}

/** False only when the process is surely gone; where that cannot be told it counts as alive. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.bootId !== bootId()) return false;
  if (process.platform !== 'linux') return isRunning(identity.pid);
  const startTime = startTimeOf(identity.pid);
  return startTime !== undefined && startTime === identity.startTime;
}

/**
 * Does a process of another pid namespace live, as far as /proc shows it here? A namespace sees the processes of those inside it, by other
 * pids: it is known by its start time and its namespace. What is outside of ours is not seen.
 */
export function isAliveIn(namespace: string, { startTime, bootId: boot }: ProcessIdentity): boolean {
  if (boot !== bootId() || namespace === '') return false;
  return processIds().some((pid) => startTimeOf(pid) === startTime && namespaceOf(pid) === namespace);
}

function processIds(): number[] {
  try {
    return fs.readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Names the pid namespace of this process: a pid means something only inside it. Empty where there is no /proc to ask. */
export function pidNamespace(): string {
  return namespaceOf('self');
}

function namespaceOf(pid: number | 'self'): string {
  try {
    return fs.readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return '';
  }
}

/** The user whose rights this process has; undefined where the system has no such numbers. */
export function effectiveUser(): number | undefined {
  return process.geteuid?.();
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ESRCH';
  }
}

function startTimeOf(pid: number): string | undefined {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name is in parentheses and may hold anything; fields are counted from behind it. Field 22 is the start time.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

/** Has this process a controlling terminal? */
export function hasTerminal(): boolean {
  try {
    fs.closeSync(fs.openSync('/dev/tty', fs.constants.O_RDWR | fs.constants.O_NOCTTY));
    return true;
  } catch {
    return false;
  }
}

/** The path without links, or undefined when it does not lead anywhere. */
export function realPath(path: ByteString): ByteString | undefined {
  try {
    return fromBytes(fs.realpathSync.native(toPath(path), { encoding: 'buffer' }));
  } catch {
    return undefined;
  }
}

/** What a path leads to, links followed; undefined when nothing is there or it may not be asked. */
export function statPath(path: ByteString): Stat | undefined {
  try {
    return toStat(fs.statSync(toPath(path), { bigint: true }));
  } catch {
    return undefined;
  }
}

/** May the caller execute what the path leads to? */
export function isExecutable(path: ByteString): boolean {
  try {
    fs.accessSync(toPath(path), fs.constants.X_OK);
    return statPath(path)?.kind === 'file';
  } catch {
    return false;
  }
}

/**
 * The arguments and the environment of this process as the kernel has them. Node replaces bytes that are not UTF-8 and a child would get others.
 * @returns undefined where there is no /proc to ask
 */
export function ownArgumentBytes(): { argv: Buffer; environment: Buffer } | undefined {
  try {
    return {
      argv: fs.readFileSync('/proc/self/cmdline'),
      environment: fs.readFileSync('/proc/self/environ'),
    };
  } catch {
    return undefined;
  }
}

/** The kernel's name of the working directory, byte for byte; undefined when it was removed or there is no /proc to ask. */
export function ownWorkingDirectory(): ByteString | undefined {
  try {
    const target = fromBytes(fs.readlinkSync('/proc/self/cwd', { encoding: 'buffer' }));
    const here = statPath('/proc/self/cwd');
    const there = statPath(target);
    return here !== undefined && there !== undefined && isSameInode(here, there) ? target : undefined;
  } catch {
    return undefined;
  }
}

/** Absolute paths of all mount points. A bind mount has its parent's device number, so devices do not tell. Empty where there is no mountinfo. */
export function mountPoints(): ByteString[] {
  let table: Buffer;
  try {
    table = fs.readFileSync('/proc/self/mountinfo');
  } catch {
    return [];
  }
  const lines = table.toString('latin1').split('\n');
  return lines.flatMap((line) => {
    const field = line.split(' ')[4];
    return field === undefined ? [] : [fromBytes(Buffer.from(unescapeOctal(field), 'latin1'))];
  });
}

/** mountinfo writes blank, tab, newline and backslash as `\040` and so on. */
function unescapeOctal(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** The part of an absolute path below another, or undefined when it is not below it. Both without links. */
export function pathBelow(path: ByteString, ancestor: ByteString): ByteString | undefined {
  const bytes = toBytes(path);
  const prefix = toBytes(ancestor === '/' ? '/' : withSlash(ancestor));
  if (bytes.length <= prefix.length || !bytes.subarray(0, prefix.length).equals(prefix)) return undefined;
  return fromBytes(bytes.subarray(prefix.length));
}

function withSlash(path: ByteString): ByteString {
  return isMarked(path) ? fromBytes(Buffer.concat([toBytes(path), Buffer.from('/')])) : `${path}/`;
}

/** Bytes that an ordinary user may still write to the file system that holds `path`, and its size. */
export function freeSpace(path: ByteString): { free: number; total: number } {
  const { bavail, blocks, bsize } = fs.statfsSync(toPath(path));
  return { free: bavail * bsize, total: blocks * bsize };
}

/** `f_type` of file systems that are known to move a directory's times with each name that comes or goes (statfs(2)). */
const WITH_DIRECTORY_TIMES: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x01021994, // tmpfs
  0x858458f6, // ramfs
  0x2fc12fc1, // zfs
  0xf2f52010, // f2fs
  0xca451a4e, // bcachefs
  0x794c7630, // overlayfs
]);

/** `f_type` of file systems on which a write through a shared mapping moves no times: they live in memory, and have nothing to write back. */
const WITHOUT_WRITE_TIMES: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** Does every write to a file move its times, as far as is known of the file system? */
export function hasWriteTimes(path: ByteString): boolean {
  try {
    return !WITHOUT_WRITE_TIMES.has(fs.statfsSync(toPath(path)).type);
  } catch {
    return false;
  }
}

/** Does the file system move a directory's times when a name in it comes or goes? False also where that is not known, as on networks and FUSE. */
export function hasDirectoryTimes(path: ByteString): boolean {
  try {
    return process.platform === 'linux' && WITH_DIRECTORY_TIMES.has(fs.statfsSync(toPath(path)).type);
  } catch {
    return false;
  }
}
