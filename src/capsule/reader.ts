import { AgentdiffError, type Digest, digestOf, parseJson } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { readPlainLine } from './change-line.ts';
import { ChangeListCheck } from './change-list.ts';
import { EventChain } from './event-chain.ts';
import {
  checkFiles,
  type FileProblem,
  type FileProblemWord,
  isCutShort,
  isProblem,
  readLines,
  readManifest,
  readMember,
} from './files.ts';
import {
  type CapsuleDocument,
  type ChangeRecord,
  type EventDocument,
  FORMAT,
  type ListedMember,
  MANIFEST,
  type MemberName,
} from './format.ts';
import type { Digests } from './manifest.ts';
import { locate, parseCanonical, readChangeLine } from './lines.ts';
import { capsuleSchema, eventSchema, parseWith, policySchema } from './schema.ts';
import { checkDocuments, checkPaths, type DocumentProblem } from './consistency.ts';

/**
 * Reads one capsule as hostile input: sizes are checked before anything is read, links and other kinds are refused, documents are strict.
 * Every read compares the file's digest with the manifest's. Methods throw CAPSULE_DAMAGED (a file is missing, changed, cut short), or
 * CAPSULE_INVALID or PATH_INVALID (it is not what the format says), with `data: {member, problem, line?, path?}`; `checkFiles` gathers instead.
 */
export class CapsuleReader {
  readonly #dir: Dir;
  readonly #isUnchecked: boolean;
  #manifest: { digests: Digests; digest: Digest } | undefined;

  private constructor(dir: Dir, isUnchecked: boolean) {
    this.#dir = dir;
    this.#isUnchecked = isUnchecked;
  }

  /**
   * @param dir stays the caller's, and open while the reader is used
   * @param options.unchecked take files whose digest is not the manifest's, for a caller that shows {@link checkFiles} beside them
   * @throws CAPSULE_VERSION when a newer format is named, with `data: {format, supported}`; whatever else is wrong shows later
   */
  static open(dir: Dir, options: { unchecked?: boolean } = {}): CapsuleReader {
    refuseNewerFormat(dir);
    return new CapsuleReader(dir, options.unchecked ?? false);
  }

  /** Compares the directory with the manifest; empty when the files are intact. */
  checkFiles(): FileProblem[] {
    return checkFiles(this.#dir);
  }

  /**
   * Holds the documents to the format and to each other, not to the stored objects, whatever {@link checkFiles} says; empty when all is well.
   * Reads everything, in flat memory.
   * @param onChange is told of every change that is valid by itself. With it, what is read is compared with the manifest too: for files that
   * {@link checkFiles} found intact
   */
  checkDocuments(onChange?: (change: ChangeRecord) => void): DocumentProblem[] {
    return checkDocuments(onChange === undefined ? new CapsuleReader(this.#dir, true) : this, onChange);
  }

  /** SHA-256 of the manifest: names the capsule's whole content. */
  digest(): Digest {
    return this.#manifestOrThrow().digest;
  }

  document(): CapsuleDocument {
    const document = parseWith(capsuleSchema, this.#readDocument('capsule.json'), 'capsule.json');
    locate('capsule.json', undefined, () => checkPaths(document));
    return document;
  }

  /** The resolved policy: an object, whose schema belongs to `policy`. */
  policy(): object {
    return parseWith(policySchema, this.#readDocument('policy.json'), 'policy.json');
  }

  /** In the order of a walk, each held to the rules of the list. Only when the generator ended is it known that the file was intact. */
  *changes(): Generator<ChangeRecord> {
    const check = new ChangeListCheck();
    for (const { bytes, line } of this.#readList('changes.jsonl')) {
      const record = readPlainLine(bytes) ?? readChangeLine(bytes, line);
      locate('changes.jsonl', line, () => check.add(record));
      yield record;
    }
  }

  /** In order, the chain checked; see {@link changes}. */
  *events(): Generator<EventDocument> {
    const chain = new EventChain();
    for (const { bytes, line } of this.#readList('events.jsonl')) {
      const { value, text } = parseCanonical(bytes, 'events.jsonl', line);
      const event = parseWith(eventSchema, value, 'events.jsonl', line);
      locate('events.jsonl', line, () => chain.add(event, text));
      yield event;
    }
    locate('events.jsonl', undefined, () => chain.end());
  }

  #readDocument(member: 'capsule.json' | 'policy.json'): unknown {
    const bytes = readMember(this.#dir, member);
    if (isProblem(bytes)) throw damaged(member, bytes);
    this.#compare(member, digestOf(bytes), isCutShort(bytes.at(-1)));
    if (isCutShort(bytes.at(-1))) throw damaged(member, 'cut-short');
    return parseCanonical(bytes.subarray(0, -1), member).value;
  }

  *#readList(member: 'changes.jsonl' | 'events.jsonl'): Generator<{ bytes: Buffer; line: number }> {
    let line = 0;
    const end = yield* readLines(this.#dir, member, ({ bytes, isWhole }) => {
      line++;
      if (!isWhole) throw damaged(member, 'cut-short', line);
      return { bytes, line };
    });
    if (isProblem(end)) throw damaged(member, end, line + 1);
    this.#compare(member, end.digest, false);
  }

  #compare(member: ListedMember, found: Digest, cutShort: boolean): void {
    if (this.#isUnchecked) return;
    const expected = this.#manifestOrThrow().digests.get(member);
    if (expected === undefined) throw damaged(member, 'not-listed');
    if (expected !== found) throw damaged(member, cutShort ? 'cut-short' : 'changed');
  }

  #manifestOrThrow(): { digests: Digests; digest: Digest } {
    if (this.#manifest === undefined) {
      const manifest = readManifest(this.#dir);
      if (isProblem(manifest)) throw damaged(MANIFEST, manifest);
      this.#manifest = manifest;
    }
    return this.#manifest;
  }
}

/** Looks at the version before anything else is judged: what a newer tool made is not damage. */
function refuseNewerFormat(dir: Dir): void {
  const bytes = readMember(dir, 'capsule.json');
  if (isProblem(bytes)) return;
  let value: unknown;
  try {
    value = parseJson(bytes.toString('utf8'), 'capsule.json');
  } catch {
    return;
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'format') || !('format' in value))
    return;
  const { format } = value;
  if (typeof format !== 'number' || !Number.isInteger(format) || format <= FORMAT) return;
  throw new AgentdiffError('CAPSULE_VERSION', `made by format ${format}, this tool reads up to ${FORMAT}`, {
    hint: 'update agentdiff to read this capsule',
    data: { format, supported: FORMAT },
  });
}

function damaged(member: MemberName, problem: FileProblemWord, line?: number): AgentdiffError {
  return new AgentdiffError('CAPSULE_DAMAGED', `${member}: ${problem}`, {
    hint: 'agentdiff verify names everything that is wrong with this capsule',
    data: { member, problem, ...(line !== undefined && { line }) },
  });
}
