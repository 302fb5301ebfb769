/**
 * The plain lines of `changes.jsonl`, read at once. One expression holds the bytes, the canonical form and the schema of what nearly every line
 * is; whatever it does not know is not refused here, but left to the full reading, which judges every line in the same way.
 */
import { type Digest, fromBytes, isMarked, type RelPath, ROOT_PATH } from '../core/index.ts';
import type { EntryKind } from '../fs/index.ts';
import type { Content, Observed, StatIdentity } from '../snapshot/index.ts';
import type { ChangeRecord } from './format.ts';
import { DECISIONS, LEVELS, NOT_RECOVERABLE_REASONS } from './schema.ts';

const TEXT = String.raw`[^"\\\x00-\x1f]*`;
const NUMBER = String.raw`0|[1-9]\d{0,14}`;
const NANOSECONDS = String.raw`0|-?[1-9]\d{0,29}`;
const IDENTITY = String.raw`-?\d{1,20}:-?\d{1,20}:\d{1,20}:-?\d{1,30}:-?\d{1,30}`;
const INODE = String.raw`-?\d{1,20}:-?\d{1,20}`;

/** Ten groups: digest, gid, identity, inode, mtime, nlink, kind, mode, size, uid. */
const STATE =
  `\\{(?:"digest":"([0-9a-f]{64})",)?"gid":(${NUMBER}),(?:"identity":"(${IDENTITY})",)?` +
  `(?:"info":\\{"inode":"(${INODE})","mtimeNs":"(${NANOSECONDS})","nlink":(${NUMBER})\\},)?` +
  `"kind":"(file|directory|symlink)","mode":"([0-7]{4})","size":(${NUMBER}),"uid":(${NUMBER})\\}`;
const STATE_GROUPS = 10;

const LINE = new RegExp(
  `^\\{(?:"after":${STATE},)?(?:"before":${STATE},)?"decision":"(${DECISIONS.join('|')})","level":"(${LEVELS.join('|')})",` +
    `"path":"(${TEXT})",(?:"reason":"(${NOT_RECOVERABLE_REASONS.join('|')})",)?"recoverable":(true|false),"rule":"(${TEXT})"\\}$`,
);
const AFTER = 1;
const BEFORE = AFTER + STATE_GROUPS;
const REST = BEFORE + STATE_GROUPS;

/** A part of a path that is no name: empty, `.` or `..`. */
const NO_NAME = /(?:^|\/)\.{0,2}(?:\/|$)/;
const BEYOND_ASCII = /[\x80-\xff]/;
const MAX_ID = 0xffff_ffff;

/**
 * The record of one line, without its newline.
 * @returns undefined when the line has to be read in full
 */
export function readPlainLine(bytes: Buffer): ChangeRecord | undefined {
  // One character a byte: what the expression lets through is ASCII but for the two texts, which are decoded when they have to be.
  const groups = LINE.exec(bytes.toString('latin1'));
  if (groups === null) return undefined;
  const path = pathOf(groups[REST + 2]);
  const rule = textOf(groups[REST + 5]);
  if (path === undefined || rule === undefined) return undefined;
  const isRecoverable = groups[REST + 4] === 'true';
  const reason = groups[REST + 3];
  const before = sideOf(groups, BEFORE);
  const after = sideOf(groups, AFTER);
  if (before === null || after === null || (before === undefined && after === undefined)) return undefined;
  if (isRecoverable !== (reason === undefined)) return undefined;
  const record: { -readonly [K in keyof ChangeRecord]: ChangeRecord[K] } = {
    path,
    level: groups[REST + 1] as ChangeRecord['level'],
    decision: groups[REST] as ChangeRecord['decision'],
    rule,
    recoverable: isRecoverable,
  };
  if (before !== undefined) record.before = before;
  if (after !== undefined) record.after = after;
  if (reason !== undefined) record.reason = reason as NonNullable<ChangeRecord['reason']>;
  return record;
}

/** The side of a change whose groups begin at `first`; undefined when there is none, null when it has to be read in full. */
function sideOf(groups: RegExpExecArray, first: number): Observed | undefined | null {
  const kind = groups[first + 6];
  if (kind === undefined) return undefined;
  const content = contentOf(groups[first], groups[first + 2], kind);
  const size = Number(groups[first + 8]);
  const uid = Number(groups[first + 9]);
  const gid = Number(groups[first + 1]);
  if (content === undefined || uid > MAX_ID || gid > MAX_ID) return null;
  if (kind === 'directory' && size !== 0) return null;
  const mode = Number.parseInt(groups[first + 7] ?? '', 8);
  const state = { kind: kind as EntryKind, mode, uid, gid, size, content };
  const inode = groups[first + 3];
  if (inode === undefined) return { state };
  return {
    state,
    particulars: { mtimeNs: BigInt(groups[first + 4] ?? ''), nlink: Number(groups[first + 5]), inode },
  };
}

function contentOf(
  digest: string | undefined,
  identity: string | undefined,
  kind: string,
): Content | undefined {
  if (digest !== undefined)
    return identity === undefined ? { is: 'digest', digest: digest as Digest } : undefined;
  if (identity === undefined || kind !== 'file') return undefined;
  return { is: 'identity', identity: identity as StatIdentity };
}

/** Only a path that is plain as it stands; its one other form of text, for what is not UTF-8, has a member of its own. */
function pathOf(latin1: string | undefined): RelPath | undefined {
  if (latin1 === '.') return ROOT_PATH;
  const path = textOf(latin1);
  return path === undefined || NO_NAME.test(path) ? undefined : (path as RelPath);
}

function textOf(latin1: string | undefined): string | undefined {
  if (latin1 === undefined || !BEYOND_ASCII.test(latin1)) return latin1;
  const text = fromBytes(Buffer.from(latin1, 'latin1'));
  return isMarked(text) ? undefined : text;
}
