import { AgentdiffError, type Digest } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import type { FileProblem } from './files.ts';
import type { CapsuleDocument, ChangeRecord, EventDocument, ListedMember } from './format.ts';

/** A document that is not what the format says. */
export interface DocumentProblem {
  readonly member: ListedMember;
  readonly problem: 'invalid' | 'broken-chain' | 'inconsistent';
  /** One line; foreign text in it must be escaped when it is printed. */
  readonly detail: string;
}

/**
 * Reads one capsule as hostile input: sizes are checked before anything is read, links and other kinds are refused, documents are strict.
 * Every method throws CAPSULE_DAMAGED (a file is missing, changed, cut short) or CAPSULE_INVALID or PATH_INVALID (it is not what the format
 * says), with `data: {member, problem, line?, path?}`; the two `check…` methods gather instead.
 */
export class CapsuleReader {
  private constructor() {}

  /**
   * @param dir stays the caller's, and open while the reader is used
   * @param options.unchecked take files whose digest is not the manifest's, for a caller that shows {@link checkFiles} beside them
   * @throws CAPSULE_VERSION when a newer format is named, with `data: {format, supported}`; whatever else is wrong shows later
   */
  static open(_dir: Dir, _options: { unchecked?: boolean } = {}): CapsuleReader {
    return new CapsuleReader();
  }

  /** Compares the directory with the manifest; empty when the files are intact. */
  checkFiles(): FileProblem[] {
    return todo();
  }

  /** Holds the documents to the schema and to each other (not to the object store); empty when all is well. Reads everything, in flat memory. */
  checkDocuments(): DocumentProblem[] {
    return todo();
  }

  /** SHA-256 of the manifest: names the capsule's whole content. */
  digest(): Digest {
    return todo();
  }

  document(): CapsuleDocument {
    return todo();
  }

  /** The resolved policy; its digest is the one that the document names. Its schema belongs to `policy`. */
  policy(): unknown {
    return todo();
  }

  /** In the order of a walk. That the file was intact is known only when the generator ended. */
  changes(): Generator<ChangeRecord> {
    return todo();
  }

  /** In order; see {@link changes}. */
  events(): Generator<EventDocument> {
    return todo();
  }
}

function todo(): never {
  throw new AgentdiffError('INTERNAL', 'not written yet');
}
