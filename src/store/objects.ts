import type { Digest } from '../core/index.ts';

/** Objects by their digest. Every read checks size and digest; what does not match is never handed out as content. */
export interface ObjectReader {
  /** @throws STORE_DAMAGED when it is not found and a damaged pack index could be the one that lists it */
  has(digest: Digest): boolean;
  /** Bytes; undefined when it is not there. @throws STORE_DAMAGED as {@link has} */
  size(digest: Digest): number | undefined;
  /**
   * The whole object.
   * @param maxBytes a longer object is refused before it is read, as OBJECT_DAMAGED: the caller knows that it cannot be what it should be
   * @throws OBJECT_MISSING, OBJECT_DAMAGED, STORE_DAMAGED
   */
  get(digest: Digest, maxBytes?: number): Buffer;
  /**
   * The object piece by piece; a piece is only valid until `sink` returns. The digest is known at the end, so callers must not publish what
   * they made of the pieces before this returned.
   * @throws OBJECT_MISSING, OBJECT_DAMAGED, STORE_DAMAGED
   */
  stream(digest: Digest, sink: (piece: Uint8Array) => void): void;
  /** Reads and hashes it again. */
  check(digest: Digest): 'present' | 'missing' | 'damaged';
}
