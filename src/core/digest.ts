import * as crypto from 'node:crypto';
import { invariant } from './errors.ts';

/** A SHA-256 as 64 lower-case hex digits, the same text that `sha256sum` prints. */
export type Digest = string & { readonly __digest: unique symbol };

const DIGEST = /^[0-9a-f]{64}$/;
const HEX_LENGTH = 64;

export function isDigest(text: string): text is Digest {
  return DIGEST.test(text);
}

/** The digest of bytes that are all in memory. */
export function digestOf(bytes: Uint8Array | string): Digest {
  // In one call, where Node has it (20.12): for small objects, making a hasher costs as much as hashing.
  if (typeof crypto.hash === 'function') return asDigest(crypto.hash('sha256', bytes, 'hex'));
  return asDigest(crypto.createHash('sha256').update(bytes).digest('hex'));
}

/** Hashes bytes that arrive in pieces. */
export class Hasher {
  readonly #hash = crypto.createHash('sha256');

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
  return crypto.randomBytes(bytes).toString('hex');
}

function asDigest(hex: string): Digest {
  invariant(hex.length === HEX_LENGTH, 'a SHA-256 has 64 hex digits');
  return hex as Digest;
}
