export {
  type ByteString,
  compareBytes,
  fromBytes,
  isMarked,
  lossyText,
  type Name,
  type RelPath,
  toBytes,
} from './bytes.ts';
export { type Digest, digestOf, Hasher, isDigest, randomHex } from './digest.ts';
export { AgentdiffError, type ErrorCode, errnoOf, invariant } from './errors.ts';
export { displayArgv, escapeText } from './escape.ts';
export { EXIT, exitStatusOf, RUN_EXIT } from './exit-codes.ts';
export { isRunId, newRunId, type RunId, timeOfRun } from './ids.ts';
export { canonicalJson, parseJson } from './json.ts';
export {
  compareInWalk,
  fromJsonPath,
  isName,
  isWithin,
  type JsonPath,
  joinPath,
  namesOf,
  parseRelPath,
  ROOT_PATH,
  splitPath,
  toJsonBytes,
  toJsonPath,
} from './rel-path.ts';
export { parseSize, showBytes, showNumber, SIZE_FORM } from './size.ts';
