import { type ByteString, Hasher, invariant, type RelPath } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { createFile, removeFile, rename, temporaryName } from '../fs/write.ts';
import { writing } from './failures.ts';
import { FILE, MODE } from './layout.ts';
import { encodeRecord, headerOf, type IndexRecord, trailerOf } from './stat-index.ts';

/** Collects a new stat index and replaces the old one at the commit. Records are best added in the order of the next scan. */
export interface IndexWriter {
  add(path: RelPath, record: IndexRecord): void;
  /** Atomic, not durable: after a crash of the machine the index may be empty, which costs one full reading. */
  commit(): void;
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

  commit(): void {
    invariant(!this.#ended, 'an index is written once');
    this.#endPiece();
    this.#ended = true;
    const pieces = [Buffer.from(headerOf(this.#startedAtNs, this.#size)), ...this.#pieces];
    const hasher = new Hasher();
    for (const piece of pieces) hasher.update(piece);
    pieces.push(Buffer.from(trailerOf(hasher.digest())));
    writing(this.#base, () => replaceFile(this.#workspace, pieces));
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

function replaceFile(dir: Dir, pieces: readonly Buffer[]): void {
  const temporary = temporaryName();
  const file = createFile(dir, temporary, MODE.file);
  try {
    try {
      for (const piece of pieces) file.write(piece);
    } finally {
      file.close();
    }
    rename(dir, temporary, dir, FILE.index);
  } catch (error) {
    removeFile(dir, temporary);
    throw error;
  }
}
