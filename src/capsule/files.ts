import type { ByteString } from '../core/index.ts';

/** What can be wrong with one file of a capsule; `docs/capsule-format.md` explains each. */
export type FileProblemWord =
  | 'missing'
  | 'extra'
  | 'not-a-file'
  | 'unreadable'
  | 'too-large'
  | 'cut-short'
  | 'changed'
  | 'nothing-listed'
  | 'malformed'
  | 'not-listed';

export interface FileProblem {
  /** The member's name as it stands in the directory: foreign text unless the problem is about a known member. */
  readonly member: ByteString;
  readonly problem: FileProblemWord;
}
