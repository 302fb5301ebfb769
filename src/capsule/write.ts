/** Writing a capsule. Also hands out what a run needs of the format, so that a run does not load the schemas. */
import {
  AgentdiffError,
  canonicalJson,
  type Digest,
  digestOf,
  errnoOf,
  Hasher,
  invariant,
  type Name,
  type RunId,
} from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { createFile, type NewFile } from '../fs/write.ts';
import { ChangeListCheck, ChangeTally } from './change-list.ts';
import { toChangeLine, toTimeDocument } from './documents.ts';
import {
  type CapsuleDocument,
  type ChangeRecord,
  type ChangeTotals,
  type EventBody,
  type EventDocument,
  type ListedMember,
  MANIFEST,
  type MemberName,
  NO_PREVIOUS_LINE,
} from './format.ts';
import { encodeManifest } from './manifest.ts';

export { toAbsolutePathDocument, toSnapshotDocument, toTimeDocument } from './documents.ts';
export { FORMAT, MAX_NAMED_LINKS, MAX_NAMED_PATHS } from './format.ts';
export { reversibilityOf, wordReversibility, wordUnseen } from './reversibility.ts';

/** Sealed files are read-only, so that nothing alters them by accident; the reader does not judge permission bits. */
const SEALED_MODE = 0o400;

/** Bytes of text gathered before they are written. */
const BATCH = 256 * 1024;

type Event = Exclude<EventBody, { type: 'run-started' | 'sealing' }>;

/**
 * Writes one capsule into an empty directory: events as they happen, then all changes, then the seal. The capsule counts only after its directory
 * was published; until then a reader finds no manifest.
 *
 * Its calls throw STORE_FULL when there is no space, SEAL_FAILED for another failure of the system.
 */
export class CapsuleWriter {
  readonly #dir: Dir;
  readonly #events: MemberFile;
  readonly #digests = new Map<ListedMember, Digest>();
  #sequence = 0;
  #previous: string = NO_PREVIOUS_LINE;
  #isOpen = true;

  private constructor(dir: Dir) {
    this.#dir = dir;
    this.#events = new MemberFile(dir, 'events.jsonl');
  }

  /**
   * Begins the capsule with its first event.
   * @param dir stays the caller's, and open until after the seal
   * @param at milliseconds since the epoch, here and below
   */
  static open(dir: Dir, begin: { runId: RunId; pid: number; at: number }): CapsuleWriter {
    const writer = guarded(() => new CapsuleWriter(dir));
    writer.#append(begin.at, { type: 'run-started', runId: begin.runId, pid: begin.pid });
    return writer;
  }

  /** Appends to the chain; in the file (not yet durable) when this returns. */
  addEvent(at: number, body: Event): void {
    this.#append(at, body);
  }

  /**
   * Writes all changes, once, held to the rules that a reader holds them to (CAPSULE_INVALID, a bug of the caller).
   * Errors of the iterable itself pass through.
   */
  writeChanges(records: Iterable<ChangeRecord>): ChangeTotals {
    invariant(
      this.#isOpen && !this.#digests.has('changes.jsonl'),
      'changes are written once, before the seal',
    );
    const check = new ChangeListCheck();
    const tally = new ChangeTally();
    const file = guarded(() => new MemberFile(this.#dir, 'changes.jsonl'));
    try {
      for (const record of records) {
        check.add(record);
        tally.add(record);
        file.append(`${toChangeLine(record)}\n`);
      }
      this.#digests.set('changes.jsonl', file.finish());
    } finally {
      file.close();
    }
    return tally.totals();
  }

  /**
   * Writes the last event and the other files, the manifest last. Nothing can be written afterwards. The files are whole, not yet durable: that is
   * for whoever publishes the directory, once for all of them.
   * @param policy the resolved policy: JSON values only
   * @returns the SHA-256 of the manifest, which names the capsule's whole content
   */
  seal(at: number, by: 'run' | 'seal', document: CapsuleDocument, policy: object): Digest {
    invariant(this.#digests.has('changes.jsonl'), 'changes are written before the seal');
    const policyText = canonicalJson(policy);
    invariant(document.policyDigest === digestOf(policyText), 'the document names the policy');
    this.#append(at, { type: 'sealing', by });
    this.#isOpen = false;
    return guarded(() => {
      this.#digests.set('events.jsonl', this.#events.finish());
      this.#digests.set('policy.json', this.#writeMember('policy.json', `${policyText}\n`));
      this.#digests.set('capsule.json', this.#writeMember('capsule.json', `${canonicalJson(document)}\n`));
      return this.#writeMember(MANIFEST, encodeManifest(this.#digests));
    });
  }

  /** Ends the writer without a seal; what was written stays for the caller to remove. */
  abandon(): void {
    this.#isOpen = false;
    this.#events.close();
  }

  #append(at: number, body: EventBody): void {
    invariant(this.#isOpen, 'a sealed capsule is never written to');
    const event: EventDocument = {
      ...body,
      seq: ++this.#sequence,
      at: toTimeDocument(at),
      prev: this.#previous,
    };
    const line = canonicalJson(event);
    this.#previous = digestOf(line);
    guarded(() => {
      this.#events.append(`${line}\n`);
      this.#events.flush();
    });
  }

  #writeMember(member: MemberName, text: string): Digest {
    const file = new MemberFile(this.#dir, member);
    try {
      file.append(text);
      return file.finish();
    } finally {
      file.close();
    }
  }
}

/** A file of the capsule while it is written: batched and hashed. */
class MemberFile {
  readonly #file: NewFile;
  readonly #hasher = new Hasher();
  #batch: string[] = [];
  #length = 0;
  #isOpen = true;

  constructor(dir: Dir, member: MemberName) {
    this.#file = createFile(dir, memberName(member), 0o600);
  }

  append(text: string): void {
    this.#batch.push(text);
    this.#length += text.length;
    if (this.#length >= BATCH) guarded(() => this.flush());
  }

  flush(): void {
    const bytes = Buffer.from(this.#batch.join(''));
    this.#batch = [];
    this.#length = 0;
    this.#hasher.update(bytes);
    this.#file.write(bytes);
  }

  /** The file is whole and read-only when this returns. */
  finish(): Digest {
    return guarded(() => {
      this.flush();
      this.#file.chmod(SEALED_MODE);
      this.close();
      return this.#hasher.digest();
    });
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#file.close();
  }
}

/** The names of the members are fixed and plain. */
function memberName(member: MemberName): Name {
  return member as string as Name;
}

function guarded<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined || error instanceof AgentdiffError) throw error;
    const isFull = errno === 'ENOSPC' || errno === 'EDQUOT';
    throw new AgentdiffError(
      isFull ? 'STORE_FULL' : 'SEAL_FAILED',
      `the capsule could not be written (${errno})`,
      {
        ...(isFull && { hint: 'free some space, or choose another place with --store or AGENTDIFF_STORE' }),
        cause: error,
      },
    );
  }
}
