import { type Name, randomHex } from '../core/index.ts';

const TEMPORARY_PREFIX = '.agentdiff-tmp-';

/** A name for something of ours beside an entry; short, because the entry's own name may already be 255 bytes long. */
export function temporaryName(): Name {
  return `${TEMPORARY_PREFIX}${randomHex(8)}` as Name;
}

export function isTemporaryName(name: Name): boolean {
  return name.startsWith(TEMPORARY_PREFIX);
}
