import { type Digest, isDigest } from '../core/index.ts';
import { LISTED_MEMBERS, type ListedMember } from './format.ts';

/** The text of `SHA256SUMS`. */
export function encodeManifest(digests: ReadonlyMap<ListedMember, Digest>): string {
  return LISTED_MEMBERS.map((member) => `${digests.get(member) ?? ''}  ${member}\n`).join('');
}
