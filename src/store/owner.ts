import { type Name, parseJson } from '../core/index.ts';
import {
  type Dir,
  isAlive,
  isAliveIn,
  pidNamespace,
  type ProcessIdentity,
  processIdentity,
  readSmallFile,
} from '../fs/index.ts';
import { FILE } from './layout.ts';

/** What is known of a process that began something. A pid says nothing outside its pid namespace and boot. */
export interface Owner extends ProcessIdentity {
  readonly namespace: string;
}

const MAX_OWNER_BYTES = 4096;

/** Whether a process still lives; see {@link ownerState}. */
export type OwnerState = 'alive' | 'dead' | 'unknown';

/** This very process. */
export function ownIdentity(): Owner {
  return { ...processIdentity(process.pid), namespace: pidNamespace() };
}

/** As {@link ownerState}, of the run in `pending/<id>`. */
export function runOwnerState(run: Dir): OwnerState {
  return ownerState(readOwner(run, FILE.owner));
}

/**
 * Whether a process still lives. One of another pid namespace is looked for where /proc shows it; `unknown` when it is not seen there, or
 * began in another boot or on another machine.
 */
export function ownerState(owner: Owner | undefined): OwnerState {
  const here = processIdentity(process.pid);
  if (owner === undefined || owner.bootId !== here.bootId) return 'unknown';
  if (owner.namespace !== pidNamespace()) return isAliveIn(owner.namespace, owner) ? 'alive' : 'unknown';
  return isAlive(owner) ? 'alive' : 'dead';
}

/** The owner that a small file of ours names; undefined when it cannot be read. */
export function readOwner(dir: Dir, name: Name): (Owner & Readonly<Record<string, unknown>>) | undefined {
  try {
    const value = parseJson(readSmallFile(dir, name, MAX_OWNER_BYTES).toString('utf8'), name);
    return isOwner(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function isOwner(value: unknown): value is Owner {
  if (typeof value !== 'object' || value === null) return false;
  if (!('pid' in value && 'startTime' in value && 'bootId' in value && 'namespace' in value)) return false;
  const { pid, startTime, bootId, namespace } = value;
  return (
    typeof pid === 'number' && [startTime, bootId, namespace].every((field) => typeof field === 'string')
  );
}
