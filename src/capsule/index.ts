/** Reading a capsule, and the format itself. Writing one is in `write.ts`. */
export {
  fromAbsolutePathDocument,
  fromChangeDocument,
  fromSnapshotDocument,
  pathOfDocument,
  toAbsolutePathDocument,
  toChangeDocument,
  toSnapshotDocument,
} from './documents.ts';
export type { FileProblem, FileProblemWord } from './files.ts';
export type * from './format.ts';
export { CAPSULE_MEMBERS, MAX_NAMED_PATHS } from './format.ts';
export { CapsuleReader } from './reader.ts';
export { type DocumentProblem } from './consistency.ts';
export { type Reversibility, reversibilityOf } from './reversibility.ts';
