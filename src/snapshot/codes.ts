import type { CaptureLevel, UnobservedReason } from './state.ts';

/** The numbers that stand for levels and reasons in a stat index: their places in these lists, which only grow at the end. */
export const LEVELS: readonly CaptureLevel[] = ['none', 'structure', 'stat', 'digest', 'content'];

export const REASONS: readonly UnobservedReason[] = [
  'unreadable',
  'unstable',
  'mount',
  'store',
  'too-deep',
  'excluded',
  'failed',
];

export function levelCode(level: CaptureLevel): number {
  return LEVELS.indexOf(level);
}

export function reasonCode(reason: UnobservedReason): number {
  return REASONS.indexOf(reason);
}

/** Of an entry that is not observed for this reason only the name and the metadata are known, nothing that tells its state. */
export function isLeftOut(reason: UnobservedReason): boolean {
  return reason === 'mount' || reason === 'store' || reason === 'excluded';
}
