/** Reading the file system. Everything that changes it is in `write.ts`. */
export {
  type Anchoring,
  Dir,
  defaultAnchoring,
  FileMoved,
  FileTooLong,
  openSeen,
  OpenFile,
  quickLook,
  readFile,
  readSmallFile,
  readWhole,
} from './dir.ts';
export { inside } from './inside.ts';
export {
  effectiveUser,
  freeSpace,
  hasDirectoryTimes,
  hasWriteTimes,
  hasTerminal,
  isAlive,
  isAliveIn,
  isExecutable,
  mountPoints,
  ownArgumentBytes,
  ownWorkingDirectory,
  pathBelow,
  pidNamespace,
  type ProcessIdentity,
  processIdentity,
  realPath,
  statPath,
} from './machine.ts';
export { isTemporaryName } from './temporary.ts';
export {
  type EntryKind,
  type Fingerprint,
  isSameInode,
  isUnmoved,
  kindOfMode,
  modeWithKind,
  type Stat,
} from './stat.ts';
