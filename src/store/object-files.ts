import type { OpenFile } from '../fs/index.ts';
import type { Name } from '../core/index.ts';
import type { Place } from './place.ts';

/** Objects up to this size are read through the window; longer ones piece by piece. */
const WINDOW = 512 << 10;
/** Objects not further apart than this are neighbours: what lies between them is read along. */
const GAP = 64 << 10;
const PIECE = 1 << 20;

/** Why one copy of an object could not be read; without a cause when there are fewer bytes than there should be. */
export class Failed {
  readonly cause: unknown;

  constructor(cause?: unknown) {
    this.cause = cause;
  }
}

/**
 * Reads what lies at places of the store. The last file stays open, and where one object comes right behind the last one, as they do when many
 * are read in order, the next half mebibyte is read at once.
 */
export class ObjectFiles {
  #open: { readonly name: Name; readonly file: OpenFile } | undefined;
  #window: Buffer | undefined;
  #start = 0;
  #filled = 0;

  /** All bytes of a place of at most {@link WINDOW} bytes, valid until the next call; undefined for a longer one. */
  whole(place: Place): Buffer | Failed | undefined {
    if (place.length > WINDOW) return undefined;
    try {
      return this.#view(place) ?? new Failed();
    } catch (cause) {
      return new Failed(cause);
    }
  }

  /** Hands out `place.length` bytes, each piece valid until `sink` returns. What `sink` throws comes through. */
  read(place: Place, sink: (piece: Uint8Array) => void): Failed | undefined {
    const whole = this.whole(place);
    if (whole !== undefined && !Buffer.isBuffer(whole)) return whole;
    if (whole !== undefined) {
      if (whole.length > 0) sink(whole);
      return undefined;
    }
    const buffer = Buffer.allocUnsafe(Math.min(place.length, PIECE));
    for (let done = 0; done < place.length; ) {
      const piece = buffer.subarray(0, Math.min(buffer.length, place.length - done));
      const read = this.#readPiece(place, piece, place.offset + done);
      if (typeof read !== 'number') return read;
      if (read === 0) return new Failed();
      sink(piece.subarray(0, read));
      done += read;
    }
    return undefined;
  }

  /** Forgets the file that is open, and what was read of it. */
  close(): void {
    this.#open?.file.close();
    this.#open = undefined;
    this.#filled = 0;
  }

  #view({ name, offset, length, open }: Place): Buffer | undefined {
    if (length === 0) return Buffer.alloc(0);
    const isSameFile = this.#open?.name === name;
    const end = this.#start + this.#filled;
    if (isSameFile && offset >= this.#start && offset + length <= end)
      return this.#window?.subarray(offset - this.#start, offset - this.#start + length);
    const isNeighbour = isSameFile && this.#filled > 0 && offset >= this.#start && offset <= end + GAP;
    const file = this.#file(name, open);
    this.#window ??= Buffer.allocUnsafeSlow(WINDOW);
    const wanted = this.#window.subarray(0, isNeighbour ? WINDOW : length);
    this.#start = offset;
    this.#filled = 0;
    while (this.#filled < length) {
      const read = file?.read(wanted.subarray(this.#filled), offset + this.#filled) ?? 0;
      if (read === 0) return undefined;
      this.#filled += read;
    }
    return this.#window.subarray(0, length);
  }

  #readPiece(place: Place, piece: Buffer, position: number): number | Failed {
    try {
      return this.#file(place.name, place.open)?.read(piece, position) ?? 0;
    } catch (cause) {
      return new Failed(cause);
    }
  }

  #file(name: Name, open: () => OpenFile | undefined): OpenFile | undefined {
    if (this.#open?.name === name) return this.#open.file;
    this.close();
    const file = open();
    if (file !== undefined) this.#open = { name, file };
    return file;
  }
}
