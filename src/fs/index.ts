/** Reading the file system. Everything that changes it is in `write.ts`. */
export { type Anchoring, Dir, defaultAnchoring, FileMoved, openSeen, OpenFile, readFile, readSmallFile } from './dir.ts';
export {
  freeSpace,
  isAlive,
  isExecutable,
  mountPoints,
  ownArgumentBytes,
  ownWorkingDirectory,
  pathBelow,
  type ProcessIdentity,
  processIdentity,
  realPath,
  statPath,
} from './machine.ts';
export { type EntryKind, isSameInode, isUnmoved, type Stat } from './stat.ts';
