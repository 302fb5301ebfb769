/** Reading a capsule, and the format itself. Writing one is in `write.ts`. */
export {
  fromAbsolutePathDocument,
  fromChangeDocument,
  fromSnapshotDocument,
  toAbsolutePathDocument,
  toChangeDocument,
  toSnapshotDocument,
  toTimeDocument,
} from './documents.ts';
export type * from './format.ts';
export { FORMAT, MAX_NAMED_PATHS } from './format.ts';
export { type FileProblem, type FileProblemWord } from './files.ts';
export type { DocumentProblem, DocumentProblemWord } from './consistency.ts';
export { CapsuleReader } from './reader.ts';
export {
  type CoverageFacts,
  type Reversibility,
  type ReversibilityFacts,
  reversibilityOf,
  wordLimits,
  wordReversibility,
} from './reversibility.ts';
