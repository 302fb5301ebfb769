import { compareBytes, type RelPath } from '../core/index.ts';
import type { CaptureLevel, Lowering, Snapshot, Unobserved, UnobservedReason } from './state.ts';

/** How far a tally had got. */
export interface Mark {
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  readonly unobserved: number;
  readonly lowered: number;
  readonly outward: number;
}

/** What one scan counts beside its trees. */
export class Tally {
  #entries = 0;
  #files = 0;
  #bytes = 0;
  readonly #unobserved: Unobserved[] = [];
  readonly #lowered: Lowering[] = [];
  readonly #outward: RelPath[] = [];

  entry(): void {
    this.#entries++;
  }

  file(size: number): void {
    this.#files++;
    this.#bytes += size;
  }

  unobserved(path: RelPath, reason: UnobservedReason): void {
    this.#unobserved.push({ path, reason });
  }

  /** A link that leads out of the workspace. */
  outward(path: RelPath): void {
    this.#outward.push(path);
  }

  /** One file, or a directory with all that was counted since `since`. */
  lowered(
    path: RelPath,
    level: CaptureLevel,
    rule: string,
    concerned: { files: number; bytes: number },
  ): void {
    this.#lowered.push({ path, level, rule, ...concerned });
  }

  since(mark: Mark): { files: number; bytes: number } {
    return { files: this.#files - mark.files, bytes: this.#bytes - mark.bytes };
  }

  mark(): Mark {
    return {
      entries: this.#entries,
      files: this.#files,
      bytes: this.#bytes,
      unobserved: this.#unobserved.length,
      lowered: this.#lowered.length,
      outward: this.#outward.length,
    };
  }

  /** Forgets what was counted since. */
  rewind(mark: Mark): void {
    this.#entries = mark.entries;
    this.#files = mark.files;
    this.#bytes = mark.bytes;
    this.#unobserved.length = mark.unobserved;
    this.#lowered.length = mark.lowered;
    this.#outward.length = mark.outward;
  }

  /** Lists in byte order of their paths. */
  result(): Pick<Snapshot, 'entries' | 'files' | 'bytes' | 'unobserved' | 'lowered' | 'outward'> {
    const byPath = (a: { path: RelPath }, b: { path: RelPath }): number => compareBytes(a.path, b.path);
    return {
      entries: this.#entries,
      files: this.#files,
      bytes: this.#bytes,
      unobserved: this.#unobserved.toSorted(byPath),
      lowered: this.#lowered.toSorted(byPath),
      outward: this.#outward,
    };
  }
}
