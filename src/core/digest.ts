import { createHash, randomBytes } from 'node:crypto';
import { invariant } from './errors.ts';

/** A SHA-256 as 64 lower-case hex digits, the same text that `sha256sum` prints. */
export type Digest = string & { readonly __digest: unique symbol };

const DIGEST = /^[0-9a-f]{64}$/;

export function isDigest(text: string): text is Digest {
  return DIGEST.test(text);
}

/** The digest of bytes that are all in memory. */
export function digestOf(bytes: Uint8Array | string): Digest {
  return asDigest(createHash('sha256').update(bytes).digest('hex'));
}

/** Hashes bytes that arrive in pieces. */
export class Hasher {
  readonly #hash = createHash('sha256');

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  /** Ends the hasher; it cannot be used afterwards. */
  digest(): Digest {
    return asDigest(this.#hash.digest('hex'));
  }
}

/** `bytes` random bytes as lower-case hex, from the system's generator. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

function asDigest(hex: string): Digest {
  invariant(isDigest(hex), 'a SHA-256 has 64 hex digits');
  return hex;
}
