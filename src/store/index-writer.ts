import { type ByteString, digestOf, invariant, type RelPath } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { createFile, removeQuietly, rename, temporaryName } from '../fs/write.ts';
import { FILE, MODE } from './layout.ts';
import { writing } from './failures.ts';
import { encodeRecord, headerOf, type IndexRecord, StatIndex, trailerOf } from './stat-index.ts';

/** Collects a new stat index and replaces the old one at the commit. Records are best added in the order of the next scan. */
export interface IndexWriter {
  add(path: RelPath, record: IndexRecord): void;
  /**
   * Replaces the index in the store and gives it back as it was gathered. Atomic, not durable: after a crash of the machine the index may be
   * empty. It is a cache: that it could not be written costs one full reading and no more.
   * @param onFailure hears why it could not be written; without it that is thrown
   */
  commit(onFailure?: (error: unknown) => void): StatIndex;
  abort(): void;
}

const PIECE_CHARACTERS = 1 << 20;

/** Keeps the records in memory, some 150 bytes each, until the commit: nothing has to be tidied up before. */
export class StatIndexWriter implements IndexWriter {
  readonly #base: ByteString;
  readonly #workspace: Dir;
  readonly #startedAtNs: bigint;
  readonly #pieces: Buffer[] = [];
  #text = '';
  #size = 0;
  #ended = false;

  constructor(base: ByteString, workspace: Dir, startedAtNs: bigint) {
    this.#base = base;
    this.#workspace = workspace;
    this.#startedAtNs = startedAtNs;
  }

  add(path: RelPath, record: IndexRecord): void {
    const encoded = encodeRecord(path, record);
    this.#size++;
    if (typeof encoded === 'string') this.#text += encoded;
    if (typeof encoded !== 'string' || this.#text.length > PIECE_CHARACTERS) this.#endPiece();
    if (typeof encoded !== 'string') this.#pieces.push(encoded);
  }

  commit(onFailure?: (error: unknown) => void): StatIndex {
    invariant(!this.#ended, 'an index is written once');
    this.#endPiece();
    this.#ended = true;
    const body = Buffer.concat([Buffer.from(headerOf(this.#startedAtNs, this.#size)), ...this.#pieces]);
    const bytes = Buffer.concat([body, Buffer.from(trailerOf(digestOf(body)))]);
    try {
      writing(this.#base, () => replaceFile(this.#workspace, bytes));
    } catch (error) {
      if (onFailure === undefined) throw error;
      onFailure(error);
    }
    return StatIndex.of(bytes);
  }

  abort(): void {
    this.#ended = true;
    this.#pieces.length = 0;
    this.#text = '';
  }

  #endPiece(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

function replaceFile(dir: Dir, bytes: Buffer): void {
  const temporary = temporaryName();
  const file = createFile(dir, temporary, MODE.file);
  try {
    try {
      file.write(bytes);
    } finally {
      file.close();
    }
    rename(dir, temporary, dir, FILE.index);
  } catch (error) {
    removeQuietly(dir, temporary);
    throw error;
  }
}
