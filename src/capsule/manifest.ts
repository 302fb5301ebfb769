import { type Digest, isDigest } from '../core/index.ts';
import { LISTED_MEMBERS, type ListedMember } from './format.ts';

export type Digests = ReadonlyMap<ListedMember, Digest>;

/** What can be wrong with the manifest itself. */
export type ManifestProblem = 'cut-short' | 'nothing-listed' | 'malformed';

/** The text of `SHA256SUMS`, which `sha256sum -c` reads: one line a member, in the order of their names. */
export function encodeManifest(digests: Digests): string {
  const listed = LISTED_MEMBERS.filter((member) => digests.has(member));
  return listed.map((member) => `${digests.get(member) ?? ''}  ${member}\n`).join('');
}

/** Reads what `encodeManifest` can have written, nothing else; a member may be absent from the answer. */
export function parseManifest(text: string): Digests | ManifestProblem {
  if (text.trim() === '') return 'nothing-listed';
  if (!text.endsWith('\n')) return 'cut-short';
  const digests = new Map<ListedMember, Digest>();
  for (const line of text.slice(0, -1).split('\n')) {
    const digest = line.slice(0, 64);
    const member = LISTED_MEMBERS.find((name) => name === line.slice(66));
    if (!isDigest(digest) || member === undefined) return 'malformed';
    digests.set(member, digest);
  }
  return encodeManifest(digests) === text ? digests : 'malformed';
}
