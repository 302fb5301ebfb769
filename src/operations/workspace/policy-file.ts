import {
  AgentdiffError,
  type ByteString,
  digestOf,
  errnoOf,
  fromBytes,
  lossyText,
  type Name,
  toBytes,
} from '../../core/index.ts';
import { Dir, FileMoved, FileTooLong, pathBelow, readSmallFile, realPath } from '../../fs/index.ts';
import { type Policy, type PolicyFlags, type PolicySource, resolvePolicy } from '../../policy/index.ts';
import { POLICY_FILE, type Root } from './root.ts';

/** What the user said about the policy. */
export interface PolicyChoice {
  /** `--policy`: this file instead of the one at the root; absolute. */
  readonly file?: ByteString;
  readonly flags: PolicyFlags;
}

/**
 * The policy in force: flags, then the policy file, then what is built in. The file is `agentdiff.yaml` at the root, or the one that was named; an
 * empty one at the root only marks the workspace. No link is followed.
 * @throws POLICY_INVALID, POLICY_UNSUPPORTED; USAGE for a flag that is no rule
 */
export async function loadPolicy(root: Root, { file, flags }: PolicyChoice): Promise<Policy> {
  const found = file === undefined ? readOwn(root) : readNamed(root, file);
  if (found === undefined) return resolvePolicy(flags);
  const { parsePolicyFile } = await import('../../policy/file.ts');
  const { text, ...source } = found;
  return resolvePolicy(flags, { ...source, ...parsePolicyFile(text, source.path) });
}

type Found = PolicySource & { readonly text: string };

function readOwn({ dir }: Root): Found | undefined {
  const seen = dir.tryLstat(POLICY_FILE);
  if (seen === undefined || (seen.kind === 'file' && seen.size === 0)) return undefined;
  return readFrom(dir, POLICY_FILE, POLICY_FILE);
}

function readNamed(root: Root, file: ByteString): Found {
  const shown = lossyText(file);
  const bytes = toBytes(file);
  const slash = bytes.lastIndexOf(0x2f);
  const name = fromBytes(bytes.subarray(slash + 1)) as Name;
  const folder = realPath(fromBytes(bytes.subarray(0, Math.max(slash, 1))));
  if (folder === undefined || ['', '.', '..'].includes(name))
    throw unreadable(shown, 'there is no such file');
  const dir = openFolder(folder, shown);
  try {
    const path = pathBelow(
      fromBytes(Buffer.concat([toBytes(folder), Buffer.from('/'), toBytes(name)])),
      root.path,
    );
    const inWorkspace = path === undefined || path === POLICY_FILE ? {} : { inWorkspace: lossyText(path) };
    return { ...readFrom(dir, name, shown), ...inWorkspace };
  } finally {
    dir.close();
  }
}

function openFolder(folder: ByteString, shown: string): Dir {
  try {
    return Dir.open(folder);
  } catch (cause) {
    throw unreadable(shown, errnoOf(cause) ?? 'unknown', cause);
  }
}

/** A longer policy file is not read: some thousand rules. */
const MAX_BYTES = 256 << 10;

function readFrom(dir: Dir, name: Name, path: string): Found {
  try {
    const bytes = readSmallFile(dir, name, MAX_BYTES);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { path, digest: digestOf(bytes), text };
  } catch (cause) {
    if (cause instanceof FileTooLong)
      throw unreadable(path, `it is longer than ${MAX_BYTES >> 10} KiB`, cause);
    if (cause instanceof FileMoved)
      throw unreadable(path, 'it is no regular file, or changes while it is read', cause);
    if (cause instanceof TypeError) throw unreadable(path, 'it is not UTF-8', cause);
    const errno = errnoOf(cause);
    if (errno === undefined) throw cause;
    throw unreadable(path, errno === 'ENOENT' ? 'there is no such file' : errno, cause);
  }
}

function unreadable(path: string, why: string, cause?: unknown): AgentdiffError {
  return new AgentdiffError('POLICY_INVALID', `the policy file ${path} cannot be read: ${why}`, {
    hint: 'name a regular file of yours with --policy, or move the file away to go without a policy',
    data: { file: path },
    cause,
  });
}
