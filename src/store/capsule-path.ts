import { type ByteString, fromBytes, isRunId, type RunId, toBytes } from '../core/index.ts';
import { FILE, isWorkspaceId } from './layout.ts';

/** Where the capsule of a run lies, for people and for tools that are given a path. */
export function capsulePath(base: ByteString, workspaceId: string, run: RunId): ByteString {
  const below = ['', FILE.workspaces, workspaceId, FILE.capsules, run].join('/');
  return fromBytes(Buffer.concat([toBytes(base), Buffer.from(below)]));
}

/** The store and the workspace that a capsule's directory lies in; undefined when the path is not one that {@link capsulePath} gives. */
export function storeOfCapsule(path: ByteString): { base: ByteString; workspaceId: string } | undefined {
  const parts = toBytes(path).toString('latin1').split('/');
  const [workspaces, workspaceId, capsules, run] = parts.slice(-4);
  if (workspaces !== FILE.workspaces || capsules !== FILE.capsules) return undefined;
  if (workspaceId === undefined || run === undefined || !isWorkspaceId(workspaceId) || !isRunId(run))
    return undefined;
  return { base: fromBytes(Buffer.from(parts.slice(0, -4).join('/'), 'latin1')), workspaceId };
}
