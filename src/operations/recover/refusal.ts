import { errnoOf } from '../../core/index.ts';
import { FileMoved } from '../../fs/index.ts';

/** Why one path is left alone by a recover. Closed and stable; `docs/exit-codes.md` says what to do about each. */
export type RefusalCode =
  /** The path is in neither its after-state nor its before-state: somebody changed it after the run. */
  | 'changed-since'
  /** It was in its after-state when the plan was made, and no longer when its turn came. */
  | 'changed-during'
  /** The directory that should hold it is a symlink now. */
  | 'parent-is-link'
  /** The directory that should hold it is something else, or gone, or may not be entered. */
  | 'parent-changed'
  /** The directory that should hold it had to be refused itself. */
  | 'parent-refused'
  /** A directory that the run created holds something that the run did not. */
  | 'directory-not-empty'
  /** It came about during the run's first scan, before its command: not the run's to take back. */
  | 'before-command'
  /** The before-content was not kept (capture level or limit). */
  | 'content-not-kept'
  /** The before-content was kept, and is now missing from the store. */
  | 'content-missing'
  /** The before-content in the store is not what was kept. */
  | 'content-damaged'
  /** One of the two states could not be observed. */
  | 'not-observed'
  /** A fifo, socket or device would have to be made. */
  | 'unsupported-kind'
  /** The file has names that the run did not change, here or outside the workspace. */
  | 'hard-linked'
  /** Another file system is mounted there. */
  | 'mount-in-the-way'
  /** The system refused: permissions, a read-only file system. */
  | 'not-permitted'
  /** The system refused for another reason (no space, no hard links on this file system, I/O error). */
  | 'failed';

/** Ends the work on one path; nothing unproven has been destroyed when it is thrown. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly detail: string;

  constructor(code: RefusalCode, detail: string) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.detail = detail;
  }
}

/** What a failure while working on one path means for it. Anything that is no system error and no refusal is a bug and goes on up. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof FileMoved)
    return new Refusal('changed-during', 'it was replaced while it was being handled');
  const errno = errnoOf(error);
  if (errno === undefined || !/^E[A-Z0-9]+$/.test(errno)) throw error;
  if (['EACCES', 'EPERM', 'EROFS'].includes(errno))
    return new Refusal('not-permitted', `the system refused (${errno})`);
  if (errno === 'ELOOP') return new Refusal('parent-is-link', 'a directory on the way is a symlink now');
  if (errno === 'ENOTDIR' || errno === 'ENOENT')
    return new Refusal('parent-changed', `a directory on the way is gone or no directory (${errno})`);
  if (errno === 'EEXIST')
    return new Refusal('changed-during', 'somebody made an entry of this name meanwhile');
  if (errno === 'ENOTEMPTY')
    return new Refusal('directory-not-empty', 'it holds something that the run did not make');
  return new Refusal('failed', `the system failed (${errno})`);
}
