import type { WorkspaceStore } from '../../store/index.ts';

export type ClaimName =
  | 'files-intact'
  | 'schema-valid'
  | 'documents-consistent'
  | 'objects-present'
  | 'signed'
  | 'chained'
  | 'expected-digest';

/** `not-checked` is no success: it says that nobody looked, and why. */
export type ClaimStatus = 'holds' | 'fails' | 'not-checked';

export interface Finding {
  /** A word from a closed list, e.g. `changed`, `missing`, `inconsistent`, `nothing-to-compare`. */
  readonly code: string;
  /** A file of the capsule, or a path of the workspace. Foreign text. */
  readonly where?: string;
  /** Foreign text may be in it. */
  readonly what: string;
}

/** One statement about a capsule, judged on its own. */
export interface Claim {
  readonly claim: ClaimName;
  readonly status: ClaimStatus;
  readonly detail: string;
  readonly findings: readonly Finding[];
}

/** The part of a store that holds what a capsule speaks of, or why there is none to compare with. */
export type StoreAtHand = WorkspaceStore | { readonly why: string };

/** Findings of one claim beyond this many are counted, not listed. */
const MAX_FINDINGS = 100;

/** Holds when nothing was found. */
export function claim(name: ClaimName, findings: readonly Finding[], detail: string): Claim {
  if (findings.length === 0) return { claim: name, status: 'holds', detail, findings };
  const more = findings.length - MAX_FINDINGS;
  return {
    claim: name,
    status: 'fails',
    detail: `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}${more > 0 ? `, the first ${MAX_FINDINGS} are listed` : ''}`,
    findings: findings.slice(0, MAX_FINDINGS),
  };
}

export function notChecked(name: ClaimName, detail: string): Claim {
  return { claim: name, status: 'not-checked', detail, findings: [] };
}

export function inconsistent(where: string, what: string): Finding {
  return { code: 'inconsistent', where, what };
}
