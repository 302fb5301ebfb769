import type { ScanOptions } from './options.ts';

const ENTRIES_BETWEEN = 256;
const BYTES_BETWEEN = 1 << 20;

/** Counts what a scan does and tells it, often enough for a display and seldom enough to cost nothing. */
export class ProgressCounter {
  readonly #tell: ScanOptions['onProgress'];
  #entries = 0;
  #files = 0;
  #bytes = 0;
  #nextEntries = ENTRIES_BETWEEN;
  #nextBytes = BYTES_BETWEEN;

  constructor({ onProgress }: Pick<ScanOptions, 'onProgress'>) {
    this.#tell = onProgress;
  }

  entry(isFile: boolean): void {
    this.#entries++;
    if (isFile) this.#files++;
    if (this.#entries >= this.#nextEntries) this.#report();
  }

  /** Entries that were compared with the index, so many of them directories. */
  looked(entries: number, directories: number): void {
    this.#entries += entries;
    this.#files += entries - directories;
    if (this.#entries >= this.#nextEntries) this.#report();
  }

  read(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= this.#nextBytes) this.#report();
  }

  #report(): void {
    this.#nextEntries = this.#entries + ENTRIES_BETWEEN;
    this.#nextBytes = this.#bytes + BYTES_BETWEEN;
    this.#tell?.({ entries: this.#entries, files: this.#files, bytes: this.#bytes });
  }
}
