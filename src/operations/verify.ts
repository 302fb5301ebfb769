import { CapsuleReader } from '../capsule/index.ts';
import {
  AgentdiffError,
  type ByteString,
  type Digest,
  errnoOf,
  lossyText,
  type RunId,
} from '../core/index.ts';
import { Dir, realPath } from '../fs/index.ts';
import { capsulePath, Store, storeOfCapsule, type WorkspaceStore } from '../store/index.ts';
import {
  checkChain,
  checkConsistency,
  checkExpected,
  checkFilesIntact,
  checkObjects,
  checkSchema,
  type Claim,
  notSigned,
} from './verify/claims.ts';
import type { Context, Place } from './workspace/context.ts';
import { openForReading, type Opened } from './workspace/open.ts';
import { findSealedRun } from './workspace/find-run.ts';
import { absolute } from './workspace/root.ts';

export type { Claim, ClaimName, ClaimStatus, Finding } from './verify/claims.ts';

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

/**
 * Checks capsules; changes nothing, and takes no lock. Each claim stands on its own: intact is not authentic, and neither says complete.
 * @param refs run ids, unique prefixes, `last`, or paths of capsule directories
 * @param expect the digest that the one capsule must have, kept elsewhere
 */
export function verifyCapsules(
  context: Context,
  place: Place,
  refs: readonly string[],
  expect?: Digest,
): CapsuleVerdict[] {
  if (refs.length === 0)
    throw new AgentdiffError('USAGE', 'nothing to verify', { hint: 'name a run, or `last`' });
  if (expect !== undefined && refs.length > 1)
    throw new AgentdiffError('USAGE', '--expect goes with one capsule');
  return refs.map((ref) => verifyOne(context, place, ref, expect));
}

function verifyOne(context: Context, place: Place, ref: string, expect: Digest | undefined): CapsuleVerdict {
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
  /** The store that holds the capsule's objects; undefined when there is none at hand. */
  readonly store: WorkspaceStore | undefined;
  readonly close: () => void;
}

function judge(ref: string, { dir, location, store }: Located, expect: Digest | undefined): CapsuleVerdict {
  let reader: CapsuleReader;
  try {
    reader = CapsuleReader.open(dir);
  } catch (error) {
    if (!(error instanceof AgentdiffError) || error.code !== 'CAPSULE_VERSION') throw error;
    return { ref, location, verdict: 'unsupported', claims: [], problem: error.message };
  }
  const intact = checkFilesIntact(reader);
  const problems = reader.checkDocuments();
  const schema = checkSchema(reader, problems);
  const isReadable = intact.status === 'holds' && schema.status === 'holds';
  const claims: Claim[] = [
    intact,
    schema,
    checkConsistency(reader, store, problems, isReadable),
    checkObjects(reader, store, isReadable),
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
    ...(isReadable && { runId: reader.document().runId, digest: reader.digest() }),
  };
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
    return { dir, location: capsulePath(place.store, store.id, runId), store, close: closeAll };
  } catch (error) {
    close();
    throw error;
  }
}

/** A capsule by its directory. Its objects are in the store it lies in, or else in the one that this call names. */
function locateDirectory(place: Place, ref: string, location: ByteString): Located {
  const dir = openDirectory(ref, location);
  const home = storeOfCapsule(location);
  const base = home?.base ?? place.store;
  const workspaceId = home?.workspaceId ?? workspaceNamedIn(dir);
  if (workspaceId === undefined) return { dir, location, store: undefined, close: () => dir.close() };
  const whole = Store.open(base);
  const store = whole.workspace(workspaceId);
  const close = (): void => {
    store.close();
    whole.close();
    dir.close();
  };
  return { dir, location, store: store.identity() === undefined ? undefined : store, close };
}

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
