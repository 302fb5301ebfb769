/** Conversions between what the rest of the tool works with and what the documents hold; each pair is exactly inverse. */
import {
  AgentdiffError,
  type ByteString,
  canonicalJson,
  fromBytes,
  fromJsonPath,
  type JsonPath,
  type RelPath,
  toBytes,
  toJsonBytes,
  toJsonPath,
} from '../core/index.ts';
import type { Content, Observed, Particulars, Snapshot, State, StatIdentity } from '../snapshot/index.ts';
import type {
  AbsolutePathDocument,
  ChangeDocument,
  ChangeRecord,
  SnapshotDocument,
  StateDocument,
} from './format.ts';

/**
 * Here and below, members stand in the order of RFC 8785 and all numbers are integers, so that plain `JSON.stringify` gives the canonical
 * bytes: canonicalising each of a hundred thousand lines is most of the time that a seal takes. A property test compares the two.
 */
export function toChangeDocument(record: ChangeRecord): ChangeDocument {
  const { path, before, after, level, decision, rule, recoverable, reason } = record;
  return {
    ...(after && { after: toStateDocument(after) }),
    ...(before && { before: toStateDocument(before) }),
    decision,
    level,
    ...toJsonPath(path),
    ...(reason && { reason }),
    recoverable,
    rule,
  };
}

/** One line of `changes.jsonl`, without its newline. */
export function toChangeLine(record: ChangeRecord): string {
  return JSON.stringify(toChangeDocument(record));
}

/**
 * @param document has passed the schema
 * @throws PATH_INVALID or CAPSULE_INVALID, naming the entry
 */
export function fromChangeDocument(document: ChangeDocument): ChangeRecord {
  const { before, after, level, decision, rule, recoverable, reason } = document;
  const path = pathOfDocument(document);
  if (before === undefined && after === undefined)
    refuse(document, 'has neither a before-state nor an after-state');
  if (recoverable !== (reason === undefined)) refuse(document, 'is either recoverable or names a reason');
  return {
    path,
    ...(before && { before: fromStateDocument(document, before) }),
    ...(after && { after: fromStateDocument(document, after) }),
    level,
    decision,
    rule,
    recoverable,
    ...(reason && { reason }),
  };
}

/**
 * The path of an entry, in its only form: `fromJsonPath`, and also no text that has two in-memory forms (a leading NUL, lone surrogates).
 * @throws PATH_INVALID, naming the entry as it stands in the document
 */
export function pathOfDocument(json: JsonPath): RelPath {
  const path = tryPath(json);
  if (path !== undefined) return path;
  throw new AgentdiffError(
    'PATH_INVALID',
    `not a plain relative path in its only form: ${JSON.stringify(json.path)}`,
    {
      data: { path: json.path },
    },
  );
}

function tryPath(json: JsonPath): RelPath | undefined {
  try {
    const path = fromJsonPath(json);
    const back = toJsonPath(path);
    const isOnlyForm = back.path === json.path && back.pathBytes === json.pathBytes;
    return isOnlyForm && fromBytes(toBytes(path)) === path ? path : undefined;
  } catch (error) {
    if (error instanceof AgentdiffError) return undefined;
    throw error;
  }
}

function toStateDocument({ state, particulars }: Observed): StateDocument {
  const { kind, mode, uid, gid, size, content } = state;
  return {
    ...(content.is === 'device' && { device: content.number }),
    ...(content.is === 'digest' && { digest: content.digest }),
    gid,
    ...(content.is === 'identity' && { identity: content.identity }),
    ...(particulars && { info: toInfo(particulars) }),
    kind,
    mode: toOctal(mode),
    size,
    uid,
    ...(content.is === 'unknown' && { unknown: toUnknown(content) }),
  };
}

function toInfo({ mtimeNs, nlink, inode }: Particulars): NonNullable<StateDocument['info']> {
  return { inode, mtimeNs: mtimeNs.toString(), nlink };
}

function toUnknown({ reason, identity }: Content & { is: 'unknown' }): NonNullable<StateDocument['unknown']> {
  return identity === undefined ? { reason } : { identity, reason };
}

function fromStateDocument(entry: JsonPath, document: StateDocument): Observed {
  const { kind, mode, uid, gid, size, info } = document;
  const content = contentOf(entry, document);
  if (!CONTENT_OF_KIND[kind].includes(content.is))
    refuse(entry, `a ${kind} has no content of the form "${content.is}"`);
  if (size !== 0 && kind !== 'file' && kind !== 'symlink') refuse(entry, `a ${kind} has no size`);
  const state: State = { kind, mode: Number.parseInt(mode, 8), uid, gid, size, content };
  return { state, ...(info && { particulars: toParticulars(info) }) };
}

/** What can be known of each kind's content; everything can be unknown. */
const CONTENT_OF_KIND: Readonly<Record<StateDocument['kind'], readonly Content['is'][]>> = {
  file: ['digest', 'identity', 'unknown'],
  directory: ['digest', 'unknown'],
  symlink: ['digest', 'unknown'],
  fifo: ['nothing', 'unknown'],
  socket: ['nothing', 'unknown'],
  'character-device': ['device', 'unknown'],
  'block-device': ['device', 'unknown'],
};

function contentOf(entry: JsonPath, document: StateDocument): Content {
  const { digest, identity, device, unknown } = document;
  const given: Content[] = [];
  if (digest !== undefined) given.push({ is: 'digest', digest });
  if (identity !== undefined) given.push({ is: 'identity', identity: asIdentity(identity) });
  if (device !== undefined) given.push({ is: 'device', number: device });
  if (unknown !== undefined) {
    const known = unknown.identity === undefined ? {} : { identity: asIdentity(unknown.identity) };
    given.push({ is: 'unknown', reason: unknown.reason, ...known });
  }
  if (given.length > 1) refuse(entry, 'has more than one content');
  return given[0] ?? { is: 'nothing' };
}

/** The schema has checked the form. */
function asIdentity(text: string): StatIdentity {
  return text as StatIdentity;
}

function toParticulars(info: NonNullable<StateDocument['info']>): Particulars {
  return { mtimeNs: BigInt(info.mtimeNs), nlink: info.nlink, inode: info.inode };
}

function toOctal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

export function toSnapshotDocument(
  snapshot: Pick<Snapshot, 'tree' | 'root' | 'entries' | 'files' | 'bytes'>,
): SnapshotDocument {
  const { mode, uid, gid } = snapshot.root.state;
  const { tree, entries, files, bytes } = snapshot;
  return { tree, root: { mode: toOctal(mode), uid, gid }, entries, files, bytes };
}

/** The root's tree and state as the differ takes them. */
export function fromSnapshotDocument(document: SnapshotDocument): Pick<Snapshot, 'tree' | 'root'> {
  const { mode, uid, gid } = document.root;
  const state: State = {
    kind: 'directory',
    mode: Number.parseInt(mode, 8),
    uid,
    gid,
    size: 0,
    content: { is: 'digest', digest: document.tree },
  };
  return { tree: document.tree, root: { state } };
}

export function toAbsolutePathDocument(path: ByteString): AbsolutePathDocument {
  return toJsonBytes(path);
}

/** @throws CAPSULE_INVALID when it is not absolute or not in its only form */
export function fromAbsolutePathDocument(document: AbsolutePathDocument): ByteString {
  const path =
    document.pathBytes === undefined ? document.path : fromBytes(Buffer.from(document.pathBytes, 'base64'));
  const bytes = toBytes(path);
  const isOnlyForm =
    fromBytes(bytes) === path &&
    canonicalJson(toAbsolutePathDocument(path)) === canonicalJson({ ...document });
  if (bytes[0] === 0x2f && !bytes.includes(0) && isOnlyForm) return path;
  throw new AgentdiffError('CAPSULE_INVALID', `not an absolute path: ${JSON.stringify(document.path)}`, {
    data: { path: document.path },
  });
}

/** Milliseconds since the epoch as the documents write a time of day. */
export function toTimeDocument(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function refuse(entry: JsonPath, why: string): never {
  throw new AgentdiffError('CAPSULE_INVALID', `entry ${JSON.stringify(entry.path)} ${why}`, {
    data: { path: entry.path },
  });
}
