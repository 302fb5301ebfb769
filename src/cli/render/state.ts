import type { ChangeRecord } from '../../capsule/index.ts';
import { showBytes } from './words.ts';

type Side = NonNullable<ChangeRecord['before']>['state'];

/** What happened to a path. */
export function changeWord(change: {
  readonly before?: unknown;
  readonly after?: unknown;
}): 'created' | 'deleted' | 'modified' {
  if (change.before === undefined) return 'created';
  return change.after === undefined ? 'deleted' : 'modified';
}

function showMode(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

/** Kind, mode and size (of a device its number) of an entry, or what differs between its two sides. */
export function showStates(before: Side | undefined, after: Side | undefined): string {
  const one = before ?? after;
  if (one === undefined) return '';
  if (before === undefined || after === undefined)
    return [one.kind, showMode(one.mode), ...sizeOf(one)].join(' ');
  const parts = [before.kind === after.kind ? before.kind : `${before.kind} → ${after.kind}`];
  if (before.mode !== after.mode) parts.push(`${showMode(before.mode)} → ${showMode(after.mode)}`);
  if (before.uid !== after.uid || before.gid !== after.gid) {
    parts.push(`owner ${before.uid}:${before.gid} → ${after.uid}:${after.gid}`);
  }
  const [from, to] = [sizeOf(before).join(''), sizeOf(after).join('')];
  if (from !== to) parts.push(`${from || '-'} → ${to || '-'}`);
  return parts.join(' ');
}

function sizeOf(side: Side): string[] {
  if (side.content.is === 'device') return [side.content.number];
  return side.kind === 'file' ? [showBytes(side.size)] : [];
}
