import { AgentdiffError, escapeText } from '../../core/index.ts';
import type { Policy, PolicyLimits } from '../../policy/index.ts';
import type { CaptureLimits, Lowering, Snapshot } from '../../snapshot/index.ts';

/** What the budgets of new content are made from. All bytes. */
export interface StoreRoom {
  /** What the store holds of this workspace. */
  readonly storeBytes: () => number;
  /** Of the file system of the store. */
  readonly space: () => { readonly free: number; readonly total: number };
}

const RULES = {
  run: 'limit: new content of the run',
  free: 'limit: free space',
  store: 'limit: size of the store',
} as const;

/**
 * How much new content one scan may keep: the least of what the run, the store and the free space leave.
 * @param keptBytes new content that the run has kept already
 */
export function newContentBudget(
  { limits }: Policy,
  keptBytes: number,
  room: StoreRoom,
): Pick<CaptureLimits, 'newBytes' | 'newBytesRule'> {
  const budgets: [number, string][] = [[limits.newBytesPerRun - keptBytes, RULES.run]];
  const { free, total } = room.space();
  // Some file systems do not tell their size; there a store that is full shows when it is written.
  if (total > 0) budgets.push([free - spaceToLeave(limits, total), RULES.free]);
  if (limits.storeBytes !== undefined) budgets.push([limits.storeBytes - room.storeBytes(), RULES.store]);
  const [newBytes, newBytesRule] = budgets.reduce((least, each) => (each[0] < least[0] ? each : least));
  return { newBytes: Math.max(0, newBytes), newBytesRule };
}

/** Of the two, the one that asks for less: 1 GiB is much of a small file system, and 5 % much of a large one. @param total bytes */
export function spaceToLeave(
  { freeBytes, freePercent }: Pick<PolicyLimits, 'freeBytes' | 'freePercent'>,
  total: number,
): number {
  const asked = [
    ...(freeBytes === undefined ? [] : [freeBytes]),
    ...(freePercent === undefined ? [] : [Math.ceil((total * freePercent) / 100)]),
  ];
  return asked.length === 0 ? 0 : Math.min(...asked);
}

/** Whether content was not kept because the store has come to its size. */
export function isStoreFull({ lowered }: Pick<Snapshot, 'lowered'>): boolean {
  return lowered.some(({ rule }) => rule === RULES.store);
}

/**
 * Stops where the disk has no room for content that is to be kept: a command that was started all the same could destroy what nothing can put
 * back. The size of the store is a limit as the others are: what it lowers is named before the command, and retention makes room after it.
 * @throws STORE_FULL
 */
export function refuseLack({ lowered }: Pick<Snapshot, 'lowered'>): void {
  const lacking = lowered.filter(({ rule }) => rule === RULES.free);
  const [first] = lacking;
  if (first === undefined) return;
  const files = sum(lacking, 'files');
  const bytes = sum(lacking, 'bytes');
  const names = lacking.slice(0, 3).map(({ path }) => escapeText(path));
  throw new AgentdiffError(
    'STORE_FULL',
    `no space on the disk of the store for the content of ${files} ${files === 1 ? 'file' : 'files'}, ${bytes} bytes (${first.rule}): ${names.join(', ')}${lacking.length > 3 ? ' …' : ''}`,
    {
      hint: `nothing was run; make space (agentdiff gc --max-size SIZE removes old capsules), move the store with --store, change the limit with --min-free, or run without keeping them with --best-effort`,
      data: {
        rule: first.rule,
        files,
        bytes,
        paths: lacking.slice(0, 10).map(({ path }) => escapeText(path)),
      },
    },
  );
}

function sum(lowered: readonly Lowering[], what: 'files' | 'bytes'): number {
  return lowered.reduce((total, each) => total + each[what], 0);
}
