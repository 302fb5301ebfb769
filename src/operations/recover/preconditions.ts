import {
  type CapsuleDocument,
  CapsuleReader,
  type ChangeRecord,
  fromAbsolutePathDocument,
  fromSnapshotDocument,
} from '../../capsule/index.ts';
import {
  AgentdiffError,
  type Digest,
  isWithin,
  lossyText,
  type RelPath,
  ROOT_PATH,
  type RunId,
} from '../../core/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import { checkConsistency, checkSchema } from '../verify/claims.ts';
import { findSealedRun } from '../workspace/find-run.ts';
import { pendingRuns } from '../workspace/intent.ts';
import type { Root } from '../workspace/root.ts';

/**
 * What `recover` without a run means. A recover is no run of a command here: taking back the newest command twice must find the same command.
 * A run that ended while the one it names as its parent lasted, in this workspace, is a part of that one, which has its changes too. An
 * interrupted command counts, because to take back the one before it instead would surprise; unless the newest sealed run lasted longer.
 * @throws RUN_UNKNOWN, RUN_UNSEALED
 */
export function newestCommandRun(store: WorkspaceStore): RunId {
  const interrupted = pendingRuns(store)
    .filter(({ active, intent }) => !active && intent?.kind === 'run')
    .at(-1)?.runId;
  const sealed = newestSealedCommand(store);
  const isNewer = (runId: RunId): boolean =>
    sealed === undefined || (runId > sealed.runId && !sealed.overlapping.includes(runId));
  if (interrupted !== undefined && isNewer(interrupted)) return findSealedRun(store, interrupted);
  if (sealed !== undefined) return sealed.runId;
  throw new AgentdiffError('RUN_UNKNOWN', 'this workspace has no sealed run to take back', {
    hint: '`agentdiff list` shows the runs; --root and --store choose another workspace or store',
  });
}

function newestSealedCommand(store: WorkspaceStore): CapsuleDocument | undefined {
  for (const runId of store.sealed().reverse()) {
    const dir = store.openCapsule(runId);
    try {
      const document = dir && CapsuleReader.open(dir).document();
      if (document?.kind === 'run' && !isPartOfParent(store, document)) return document;
    } finally {
      dir?.close();
    }
  }
  return undefined;
}

/** A process that outlives a run hands its run id on: what ends after its parent was sealed is not in that one. */
function isPartOfParent(store: WorkspaceStore, { parentRun, times }: CapsuleDocument): boolean {
  if (parentRun === undefined) return false;
  if (store.pending().includes(parentRun)) return true;
  const dir = store.openCapsule(parentRun);
  try {
    return dir !== undefined && times.endedAt <= CapsuleReader.open(dir).document().times.endedAt;
  } finally {
    dir?.close();
  }
}

/** @param own the run that asks @throws RUN_ACTIVE */
export function refuseActiveRun(store: WorkspaceStore, own?: RunId): void {
  const active = pendingRuns(store).find((run) => run.active && run.runId !== own);
  if (active === undefined) return;
  throw new AgentdiffError('RUN_ACTIVE', `run ${active.runId} is active in this workspace`, {
    hint: 'wait until it has ended, then recover',
    data: { runId: active.runId },
  });
}

/**
 * What a recover relies on must be whole: the files, the documents, and the list of changes, which must be the difference of the two
 * snapshots, so that a line taken out of it or added to it is found.
 * @param known the digest of a capsule whose documents were found whole already; then only the files are compared
 * @throws CAPSULE_DAMAGED, CAPSULE_INVALID
 */
export function refuseDamaged(
  reader: CapsuleReader,
  store: WorkspaceStore,
  runId: RunId,
  known?: Digest,
): void {
  const hint = `nothing was touched; \`agentdiff verify ${runId}\` says more`;
  const [file] = reader.checkFiles();
  if (file !== undefined) {
    const member = lossyText(file.member);
    const message = `the capsule of run ${runId} is not intact: ${member} is ${file.problem}`;
    throw new AgentdiffError('CAPSULE_DAMAGED', message, {
      hint,
      data: { runId, member, problem: file.problem },
    });
  }
  if (reader.digest() === known) return;
  const problems = reader.checkDocuments();
  const schema = checkSchema(reader, problems);
  const consistency = checkConsistency(reader, store, problems, schema.status === 'holds');
  const [finding] = [...schema.findings, ...consistency.findings];
  if (finding === undefined) return;
  const { where = 'capsule.json', code, what } = finding;
  const message = `the capsule of run ${runId}: ${where}: ${what}`;
  throw new AgentdiffError('CAPSULE_INVALID', message, { hint, data: { runId, where, problem: code } });
}

/**
 * A path, a device and an inode name the directory that was observed; another one under the same path is not it. Where the run removed the root
 * itself, whoever wants it back has to make it again: the run left no entry, so a recover into the new one only makes what is missing.
 * @throws ROOT_REPLACED
 */
export function refuseOtherRoot(
  { workspace, coverage, runId }: CapsuleDocument,
  changes: readonly ChangeRecord[],
  root: Root,
): void {
  const isAtItsPath = fromAbsolutePathDocument(workspace.root) === root.path;
  const { dev, ino, bornNs } = root.stat;
  const isSameAge =
    workspace.born === undefined || bornNs === undefined || workspace.born === bornNs.toString();
  const isSame = workspace.dev === dev.toString() && workspace.ino === ino.toString() && isSameAge;
  const leftNothing =
    coverage.root === 'removed' &&
    changes.every(({ path, after }) => path === ROOT_PATH || after === undefined);
  if (isAtItsPath && (isSame || leftNothing)) return;
  throw new AgentdiffError(
    'ROOT_REPLACED',
    `the workspace root is not the directory that run ${runId} observed`,
    {
      hint: 'nothing was touched; the directory was replaced, or its file system was mounted anew',
      data: {
        expected: { dev: workspace.dev, ino: workspace.ino },
        found: { dev: root.stat.dev.toString(), ino: root.stat.ino.toString() },
      },
    },
  );
}

export function pathsWithoutChange(
  paths: readonly RelPath[],
  changes: readonly { path: RelPath }[],
): Set<RelPath> {
  return new Set(paths.filter((path) => !changes.some((change) => isWithin(change.path, path))));
}

/**
 * The changes, and where the run removed the root itself, the way from the metadata of the directory that was made again to those of the old one.
 */
export function withOwnRoot(
  changes: readonly ChangeRecord[],
  { coverage, snapshots }: CapsuleDocument,
  root: Root,
): ChangeRecord[] {
  if (coverage.root !== 'removed') return [...changes];
  const before = fromSnapshotDocument(snapshots.before).root;
  const { mode, uid, gid } = root.dir.stat();
  const own: ChangeRecord = {
    path: ROOT_PATH,
    before,
    after: { state: { ...before.state, mode, uid, gid } },
    level: 'content',
    decision: 'allow',
    rule: 'default',
    recoverable: true,
  };
  const others = changes.filter(({ path }) => path !== ROOT_PATH);
  const isSame = before.state.mode === mode && before.state.uid === uid && before.state.gid === gid;
  return isSame ? others : [own, ...others];
}
