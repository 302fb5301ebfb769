import {
  type CapsuleDocument,
  CapsuleReader,
  type ChangeRecord,
  type EventDocument,
  type FileProblem,
} from '../capsule/index.ts';
import type { Digest, RunId } from '../core/index.ts';
import type { Context, Place } from './workspace/context.ts';
import { openForReading, withCapsule } from './workspace/open.ts';

export interface ShowReport {
  readonly runId: RunId;
  /** Empty when the files are intact; otherwise what is shown may not be what was sealed. */
  readonly problems: readonly FileProblem[];
  readonly capsule: CapsuleDocument;
  /** SHA-256 of the manifest. */
  readonly digest: Digest;
  readonly changes: readonly ChangeRecord[];
  readonly events: readonly EventDocument[];
}

/** One run in full; a damaged capsule is shown as far as it can be read, with its problems. */
export function showRun(context: Context, place: Place, ref: string): ShowReport {
  const { store, close } = openForReading(context, place);
  try {
    return withCapsule(store, ref, (dir, runId) => {
      const reader = CapsuleReader.open(dir, { unchecked: true });
      const problems = reader.checkFiles();
      const capsule = reader.document();
      const changes = [...reader.changes()];
      return { runId, problems, capsule, digest: reader.digest(), changes, events: [...reader.events()] };
    });
  } finally {
    close();
  }
}
