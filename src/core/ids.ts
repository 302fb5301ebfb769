import { randomHex } from './digest.ts';

/**
 * A run's id, `20261130T184726Z-4f9c2a1b`: the time to the second, then the milliseconds as three hex digits, then five random ones.
 * Ids of one workspace sort in the order in which the runs began, see {@link newRunId}.
 */
export type RunId = string & { readonly __runId: unique symbol };

const RUN_ID = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/;
const LAST_TIME = Date.UTC(10_000, 0) - 1;
const TIME_LENGTH = '20261130T184726Z-4f9'.length;

export function isRunId(text: string): text is RunId {
  return RUN_ID.test(text) && isPossible(text);
}

/** By hand, because a store may list thousands: a `Date` made and written again for each costs ten times as much. */
function isPossible(id: string): boolean {
  const part = (from: number, to: number): number => Number(id.slice(from, to));
  const [month, day] = [part(4, 6), part(6, 8)];
  const isDay = day >= 1 && day <= 31 && (day <= 28 || day <= daysOf(part(0, 4), month));
  return month >= 1 && month <= 12 && isDay && part(9, 11) < 24 && part(11, 13) < 60 && part(13, 15) < 60;
}

function daysOf(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/**
 * A fresh id that sorts after `newest`: when the clock stands before it (it was set back), the id goes one millisecond past `newest`
 * instead, so that the order of runs never depends on the clock. The true times stand in the capsule. After the year 9999 there is no id, and
 * nothing sorts after one of its last millisecond.
 * @param now milliseconds since the epoch
 */
export function newRunId(now: number, newest: RunId | undefined): RunId {
  const floor = newest === undefined ? 0 : timeOf(newest) + 1;
  const time = Math.min(Math.max(now, floor), LAST_TIME);
  return `${timePart(time)}${randomHex(3).slice(0, 5)}` as RunId;
}

/** When the id was made, milliseconds since the epoch: never before that of an older run, whatever the clock did. */
export function timeOfRun(id: RunId): number {
  return timeOf(id);
}

function timePart(time: number): string {
  const iso = new Date(time).toISOString();
  const second = iso.slice(0, 19).replaceAll(/[-:]/g, '');
  return `${second}Z-${(time % 1000).toString(16).padStart(3, '0')}`;
}

/** NaN for what is no date. */
function timeOf(id: string): number {
  const t = id.slice(0, TIME_LENGTH);
  const iso = `${t.slice(0, 4)}-${t.slice(4, 6)}-${t.slice(6, 8)}T${t.slice(9, 11)}:${t.slice(11, 13)}:${t.slice(13, 15)}Z`;
  return Date.parse(iso) + Math.min(Number.parseInt(t.slice(17), 16), 999);
}
