import { randomHex } from './digest.ts';

/**
 * A run's id, `20261130T184726Z-4f9c2a1b`: the time to the second, then the milliseconds as three hex digits, then five random ones.
 * Ids of one workspace sort in the order in which the runs began, see {@link newRunId}.
 */
export type RunId = string & { readonly __runId: unique symbol };

const RUN_ID = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/;
const TIME_LENGTH = '20261130T184726Z-4f9'.length;

export function isRunId(text: string): text is RunId {
  return RUN_ID.test(text);
}

/**
 * A fresh id that sorts after `newest`: when the clock stands before it (it was set back), the id goes one millisecond past `newest`
 * instead, so that the order of runs never depends on the clock. The true times stand in the capsule.
 * @param now milliseconds since the epoch
 */
export function newRunId(now: number, newest: RunId | undefined): RunId {
  const floor = newest === undefined ? 0 : timeOf(newest) + 1;
  return `${timePart(Math.max(now, floor))}${randomHex(3).slice(0, 5)}` as RunId;
}

function timePart(time: number): string {
  const iso = new Date(time).toISOString();
  const second = iso.slice(0, 19).replaceAll(/[-:]/g, '');
  return `${second}Z-${(time % 1000).toString(16).padStart(3, '0')}`;
}

function timeOf(id: RunId): number {
  const t = id.slice(0, TIME_LENGTH);
  const iso = `${t.slice(0, 4)}-${t.slice(4, 6)}-${t.slice(6, 8)}T${t.slice(9, 11)}:${t.slice(11, 13)}:${t.slice(13, 15)}Z`;
  return Date.parse(iso) + Math.min(Number.parseInt(t.slice(17), 16), 999);
}
