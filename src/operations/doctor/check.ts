import { AgentdiffError } from '../../core/index.ts';

/** One thing that a machine, or its store, can or cannot do. */
export interface Check {
  readonly id: string;
  readonly title: string;
  /** `limited`: works with less; `missing`: an optional part is not there; `failed`: a run would be refused or lose something. */
  readonly status: 'ok' | 'limited' | 'missing' | 'failed';
  /** What was found. Foreign text may be in it. */
  readonly detail: string;
  readonly advice?: string;
}

/** A check that failed with an error that a run would meet too. */
export function failureCheck(id: string, title: string, error: unknown): Check {
  if (!(error instanceof AgentdiffError)) throw error;
  return {
    id,
    title,
    status: 'failed',
    detail: `${error.message} [${error.code}]`,
    ...(error.hint && { advice: error.hint }),
  };
}

/** @param found the detail when it works */
export function check(
  id: string,
  title: string,
  works: boolean,
  found: string,
  otherwise: Pick<Check, 'status' | 'detail'>,
): Check {
  return works ? { id, title, status: 'ok', detail: found } : { id, title, ...otherwise };
}
