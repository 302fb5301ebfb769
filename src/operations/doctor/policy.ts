import { CapsuleReader } from '../../capsule/index.ts';
import { AgentdiffError, type ByteString, escapeText, type RunId } from '../../core/index.ts';
import type { Policy } from '../../policy/index.ts';
import { parsePolicy } from '../../policy/parse.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import type { Context, Place } from '../workspace/context.ts';
import { groupLowered, type LoweredGroup, mayBeCut } from '../workspace/lowered.ts';
import { openForReading } from '../workspace/open.ts';
import { loadPolicy } from '../workspace/policy-file.ts';
import { findRoot } from '../workspace/root.ts';
import { type Check, failureCheck } from './check.ts';

/** Which policy would be in force for the next run without options, and whether its file is valid. */
export async function policyCheck(context: Context, place: Place, file?: ByteString): Promise<Check> {
  const base = { id: 'policy', title: 'policy' };
  try {
    const root = findRoot(context, place);
    try {
      const flags = { capture: [], limits: {} };
      const policy = await loadPolicy(root, { flags, ...(file !== undefined && { file }) });
      return { ...base, status: 'ok', detail: detailOf(policy) };
    } finally {
      root.dir.close();
    }
  } catch (error) {
    return failureCheck(base.id, base.title, error);
  }
}

function detailOf({ file, capture, limitsBy = {} }: Policy): string {
  if (file === undefined) return 'built in; no policy file is in force';
  const rules = capture.filter(({ rule }) => rule.startsWith('file: ')).length;
  const limits = Object.keys(limitsBy);
  const said = [
    `${rules} capture ${rules === 1 ? 'rule' : 'rules'}`,
    limits.length === 0 ? 'no limits' : `limits ${limits.join(', ')}`,
  ];
  return `${file.path} is valid: ${said.join(', ')}; SHA-256 ${file.digest}`;
}

/** What the newest run of the workspace did not keep. Nothing is scanned for it. */
export function keptCheck(context: Context, place: Place): Check {
  const base = { id: 'kept', title: 'content kept' };
  try {
    const { store, close } = openForReading(context, place);
    try {
      const newest = store.sealed().at(-1);
      if (newest === undefined) return { ...base, status: 'ok', detail: 'no run of this workspace yet' };
      const found = loweredOf(store, newest);
      if (found === undefined) return { ...base, status: 'limited', detail: `run ${newest} cannot be read` };
      const unkept = found.groups.length > 0 ? [`kept no content in ${wordGroups(found)}`] : [];
      const unseen = found.unobserved.total > 0 ? [wordUnobserved(found.unobserved)] : [];
      const limits = [...unkept, ...unseen];
      if (limits.length === 0)
        return {
          ...base,
          status: 'ok',
          detail: `run ${newest} kept the content of every file that it found`,
        };
      return {
        ...base,
        status: 'limited',
        detail: `run ${newest} ${limits.join('; it ')}`,
        advice: 'docs/policy.md says how to keep more; `agentdiff show` names the places',
      };
    } finally {
      close();
    }
  } catch (error) {
    return failureCheck(base.id, base.title, error);
  }
}

export interface LoweredPlaces {
  readonly groups: readonly LoweredGroup[];
  /** There may be more places than the capsule names. */
  readonly cut: boolean;
  /** Places that were not observed before the command or after it, and the first of them as escaped text with the reason. */
  readonly unobserved: { readonly total: number; readonly examples: readonly string[] };
}

const MAX_EXAMPLES = 3;

/** Undefined when the capsule cannot be read. */
export function loweredOf(store: WorkspaceStore, runId: RunId): LoweredPlaces | undefined {
  const dir = store.openCapsule(runId);
  try {
    const reader = dir && CapsuleReader.open(dir);
    if (reader === undefined) return undefined;
    const { lowered, unobserved } = reader.document().coverage;
    const { before, after, beforeTotal, afterTotal } = unobserved;
    const places = new Set(
      [...before, ...after].map(({ path, reason }) => `${escapeText(path)} (${reason})`),
    );
    const examples = [...places].slice(0, MAX_EXAMPLES);
    return {
      groups: groupLowered(lowered, parsePolicy(reader.policy())),
      cut: mayBeCut(lowered),
      unobserved: { total: Math.max(beforeTotal, afterTotal, places.size), examples },
    };
  } catch (error) {
    if (!(error instanceof AgentdiffError) || error.code === 'INTERNAL') throw error;
    return undefined;
  } finally {
    dir?.close();
  }
}

function wordGroups({ groups, cut }: LoweredPlaces): string {
  const parts = groups.map(
    ({ level, rule, reason, places, files, examples }) =>
      `${countOf(places, 'place')} at level ${level} (${[
        rule,
        ...(reason === undefined ? [] : [reason]),
        files === undefined ? 'not looked into' : countOf(files, 'file'),
        someOf(examples.map(escapeText), places),
      ].join('; ')})`,
  );
  return `${parts.join(', ')}${cut ? ', or more' : ''}`;
}

function wordUnobserved({ total, examples }: LoweredPlaces['unobserved']): string {
  return `did not observe ${countOf(total, 'place')}: ${someOf(examples, total)}`;
}

function someOf(examples: readonly string[], total: number): string {
  return examples.join(', ') + (examples.length < total ? ' …' : '');
}

function countOf(value: number, one: string): string {
  return `${value} ${value === 1 ? one : `${one}s`}`;
}
