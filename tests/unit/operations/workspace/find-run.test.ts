import { describe, expect, it } from 'vitest';
import { findRun, findSealedRun } from '../../../../src/operations/workspace/find-run.ts';
import { observed, setting } from '../../../support/context.ts';
import { begun, openForReading } from '../../../support/store.ts';
import { openForReading as openWorkspace } from '../../../../src/operations/workspace/open.ts';
import { onTestFinished } from 'vitest';
import type { RunId } from '../../../../src/core/index.ts';
import type { WorkspaceStore } from '../../../../src/store/index.ts';

const failsWith = (code: string): Error => expect.objectContaining({ code }) as Error;

/** Three sealed runs and the store that holds them. */
function three(): { store: WorkspaceStore; ids: RunId[] } {
  const here = setting();
  const ids = [1, 2, 3].map(() => observed(here, () => {}));
  const opened = openWorkspace(here.context, here.place);
  onTestFinished(opened.close);
  return { store: opened.store, ids };
}

describe('findRun', () => {
  it('takes a whole id, a unique prefix, and the newest as `last`', () => {
    const { store, ids } = three();
    for (const runId of ids) {
      expect(findRun(store, runId)).toEqual({ runId, sealed: true });
      expect(findRun(store, runId.slice(0, -1))).toEqual({ runId, sealed: true });
    }
    expect(findRun(store, 'last')).toEqual({ runId: ids[2], sealed: true });
  });

  it('refuses what names several runs, and says which', () => {
    const { store, ids } = three();
    const prefix = ids[0]?.slice(0, 8) ?? '';
    expect(() => findRun(store, prefix)).toThrowError(
      expect.objectContaining({ code: 'RUN_AMBIGUOUS', data: { ref: prefix, matches: ids } }) as Error,
    );
  });

  it('refuses what names none', () => {
    const { store, ids } = three();
    const other = `${ids[0]?.slice(0, -1)}${ids[0]?.endsWith('0') ? '1' : '0'}`;
    for (const ref of ['', 'LAST', 'x', '../x', '__proto__', '\u001b[31m', other]) {
      expect(() => findRun(store, ref), ref).toThrowError(failsWith('RUN_UNKNOWN'));
    }
  });

  it('has no last run where none is sealed', () => {
    const { base, run } = begun();
    const store = openForReading(base);
    expect(() => findRun(store, 'last')).toThrowError(failsWith('RUN_UNKNOWN'));
    expect(findRun(store, run.id)).toEqual({ runId: run.id, sealed: false });
    expect(() => findSealedRun(store, run.id)).toThrowError(failsWith('RUN_UNSEALED'));
    expect(() => findSealedRun(store, run.id.slice(0, 10))).toThrowError(failsWith('RUN_UNSEALED'));
  });
});
