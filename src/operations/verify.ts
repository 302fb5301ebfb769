import { CapsuleReader, type ChangeRecord } from '../capsule/index.ts';
import {
  AgentdiffError,
  type ByteString,
  type Digest,
  type ErrorCode,
  errnoOf,
  lossyText,
  type Name,
  type RunId,
} from '../core/index.ts';
import { Dir, realPath } from '../fs/index.ts';
import { parsePolicy } from '../policy/parse.ts';
import { capsulePath, Store, storeOfCapsule, type WorkspaceStore } from '../store/index.ts';
import {
  checkChain,
  checkConsistency,
  checkExpected,
  checkFilesIntact,
  checkObjects,
  checkSchema,
  notSigned,
} from './verify/claims.ts';
import type { Claim, StoreAtHand } from './verify/claim.ts';
import { SnapshotComparison } from './verify/comparison.ts';
import { ContentCheck } from './verify/contents.ts';
import type { Context, Place } from './workspace/context.ts';
import { openForReading, type Opened } from './workspace/open.ts';
import { findSealedRun } from './workspace/find-run.ts';
import { absolute } from './workspace/root.ts';

export type { Claim, ClaimName, ClaimStatus, Finding } from './verify/claim.ts';

export interface CapsuleVerdict {
  /** As the user named it. */
  readonly ref: string;
  readonly location: ByteString;
  readonly runId?: RunId;
  /** SHA-256 of the manifest, where it could be read. */
  readonly digest?: Digest;
  /** `holds` when no claim fails and files, schema and documents were really checked. */
  readonly verdict: 'holds' | 'fails' | 'unsupported';
  /** Empty when the version is not supported. */
  readonly claims: readonly Claim[];
  /** With verdict `unsupported`. */
  readonly problem?: string;
}

/** What a user named, and no capsule could be judged for. */
export interface Unjudged {
  readonly ref: string;
  readonly verdict: 'not-judged';
  readonly error: AgentdiffError;
}

/**
 * Checks capsules; changes nothing, and takes no lock. Each claim stands on its own: intact is not authentic, and neither says complete.
 * @param refs run ids, unique prefixes, `last`, or paths of capsule directories
 * @param expect the digest that the one capsule must have, kept elsewhere
 * @returns one for each of `refs`: none keeps the others from being judged
 * @throws USAGE
 */
export function verifyCapsules(
  context: Context,
  place: Place,
  refs: readonly string[],
  expect?: Digest,
): (CapsuleVerdict | Unjudged)[] {
  if (refs.length === 0)
    throw new AgentdiffError('USAGE', 'nothing to verify', { hint: 'name a run, or `last`' });
  if (expect !== undefined && refs.length > 1)
    throw new AgentdiffError('USAGE', '--expect goes with one capsule');
  return refs.map((ref) => {
    try {
      return verifyCapsule(context, place, ref, expect);
    } catch (error) {
      if (!(error instanceof AgentdiffError) || error.code === 'INTERNAL') throw error;
      return { ref, verdict: 'not-judged', error };
    }
  });
}

/**
 * As {@link verifyCapsules}, for one.
 * @throws RUN_UNKNOWN, RUN_AMBIGUOUS, RUN_UNSEALED, CAPSULE_NOT_FOUND, and for a run, which only its store can name, what opening that throws
 */
export function verifyCapsule(context: Context, place: Place, ref: string, expect?: Digest): CapsuleVerdict {
  const located = locate(context, place, ref);
  try {
    return judge(ref, located, expect);
  } finally {
    located.close();
  }
}

interface Located {
  readonly dir: Dir;
  readonly location: ByteString;
  /** Known when a run was named, not a directory. */
  readonly runId?: RunId;
  readonly store: StoreAtHand;
  readonly close: () => void;
}

function judge(ref: string, located: Located, expect: Digest | undefined): CapsuleVerdict {
  const { dir, location, store } = located;
  let reader: CapsuleReader;
  try {
    reader = CapsuleReader.open(dir);
  } catch (error) {
    if (!(error instanceof AgentdiffError) || error.code !== 'CAPSULE_VERSION') throw error;
    return { ref, location, verdict: 'unsupported', claims: [], problem: error.message };
  }
  const intact = checkFilesIntact(reader);
  const onTheWay = intact.status === 'holds' && !('why' in store) ? checksOnTheWay(reader, store) : undefined;
  const problems = reader.checkDocuments(onTheWay?.add);
  const schema = checkSchema(reader, problems);
  const isReadable = intact.status === 'holds' && schema.status === 'holds';
  const claims: Claim[] = [
    intact,
    schema,
    checkConsistency(reader, store, problems, isReadable, onTheWay?.comparison),
    checkObjects(reader, store, isReadable, onTheWay?.contents),
    notSigned(),
    checkChain(reader, store, isReadable),
    ...(expect === undefined ? [] : [checkExpected(reader, expect, isReadable)]),
  ];
  const verdict = claims.some(({ status }) => status === 'fails') ? 'fails' : 'holds';
  return {
    ref,
    location,
    verdict,
    claims,
    // Who named the run knows its id, whatever the documents say.
    ...(located.runId && { runId: located.runId }),
    ...(isReadable && { runId: reader.document().runId, digest: reader.digest() }),
  };
}

interface ChecksOnTheWay {
  readonly comparison: SnapshotComparison;
  readonly contents: ContentCheck;
  readonly add: (change: ChangeRecord) => void;
}

/**
 * What is compared with the store while the documents are judged, so that a long list is read once. It counts only if they turn out to be valid:
 * then every change was added.
 * @returns undefined when the comparison cannot even begin
 */
function checksOnTheWay(reader: CapsuleReader, store: WorkspaceStore): ChecksOnTheWay | undefined {
  try {
    const comparison = new SnapshotComparison(store, reader.document(), parsePolicy(reader.policy()));
    const contents = new ContentCheck(store);
    const add = (change: ChangeRecord): void => {
      comparison.add(change);
      contents.add(change);
    };
    return { comparison, contents, add };
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
    return undefined;
  }
}

function locate(context: Context, place: Place, ref: string): Located {
  const path =
    ref.includes('/') || ref === '.' || ref === '..' ? realPath(absolute(ref, context.cwd)) : undefined;
  if (path !== undefined) return locateDirectory(place, ref, path);
  if (ref.includes('/')) throw notFound(ref);
  return locateRun(openForReading(context, place), place, ref);
}

function locateRun(opened: Opened, place: Place, ref: string): Located {
  const { store, close } = opened;
  try {
    const runId = findSealedRun(store, ref);
    const dir = store.openCapsule(runId);
    if (dir === undefined) throw notFound(ref);
    const closeAll = (): void => {
      dir.close();
      close();
    };
    return { dir, location: capsulePath(place.store, store.id, runId), runId, store, close: closeAll };
  } catch (error) {
    close();
    throw error;
  }
}

/** A capsule by its directory. Its objects are in the store it lies in, or else in the one that this call names. */
function locateDirectory(place: Place, ref: string, location: ByteString): Located {
  const dir = openDirectory(ref, location);
  try {
    if (!isLikeCapsule(dir)) throw notFound(ref);
    const home = storeOfCapsule(location);
    const { store, close } = openStore(home?.base ?? place.store, home?.workspaceId ?? workspaceNamedIn(dir));
    const closeAll = (): void => {
      close();
      dir.close();
    };
    return { dir, location, store, close: closeAll };
  } catch (error) {
    dir.close();
    throw error;
  }
}

/** Any directory can be named; one without either of these was never a capsule, and its files are nobody's findings. */
function isLikeCapsule(dir: Dir): boolean {
  return ['capsule.json', 'SHA256SUMS'].some((name) => dir.tryLstat(name as Name) !== undefined);
}

/** A store that may not be trusted, or cannot be read, is not used; the capsule's own files can be judged without it. */
function openStore(base: ByteString, workspaceId: string | undefined): Pick<Located, 'store' | 'close'> {
  const none = (why: string): Pick<Located, 'store' | 'close'> => ({ store: { why }, close() {} });
  if (workspaceId === undefined) return none(NOT_AT_HAND);
  const opened: { close(): void }[] = [];
  const close = (): void => opened.reverse().forEach((one) => one.close());
  try {
    const whole = Store.open(base);
    opened.push(whole);
    const store = whole.workspace(workspaceId);
    opened.push(store);
    if (store.identity() !== undefined) return { store, close };
    close();
    return none(NOT_AT_HAND);
  } catch (error) {
    close();
    if (!(error instanceof AgentdiffError) || !UNUSABLE.has(error.code)) throw error;
    return none(`the store it lies in is not used: ${error.message} [${error.code}]`);
  }
}

const NOT_AT_HAND = 'its store is not at hand';
const UNUSABLE: ReadonlySet<ErrorCode> = new Set(['STORE_NOT_OWNED', 'STORE_VERSION', 'STORE_DAMAGED']);

function openDirectory(ref: string, path: ByteString): Dir {
  try {
    return Dir.open(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw notFound(ref);
  }
}

/** Only looks for a store; what the store then gives is checked by digest, so a wrong answer can hide objects and never forge them. */
function workspaceNamedIn(dir: Dir): string | undefined {
  try {
    return CapsuleReader.open(dir).document().workspace.id;
  } catch (error) {
    if (error instanceof AgentdiffError) return undefined;
    throw error;
  }
}

function notFound(ref: string): AgentdiffError {
  return new AgentdiffError('CAPSULE_NOT_FOUND', `no capsule at ${lossyText(ref)}`, {
    hint: 'give a run id, `last`, or the path of a capsule directory',
    data: { ref },
  });
}
