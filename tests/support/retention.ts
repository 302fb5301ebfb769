import * as fs from 'node:fs';
import * as path from 'node:path';
import { verifyCapsule } from '../../src/operations/verify.ts';
import { applyGc, type GcReport, planGc, type RetentionRules } from '../../src/operations/gc.ts';
import { listRuns } from '../../src/operations/list.ts';
import type { Setting } from './context.ts';

/** Plans and applies, as `gc --yes` does. */
export async function collected({ context, place }: Setting, rules: RetentionRules): Promise<GcReport> {
  return applyGc(context, place, await planGc(context, place, rules));
}

/** Every file of the workspace's part of the store, relative to it, sorted. */
export function storeFiles({ store }: Setting): string[] {
  const base = storePath({ store });
  return fs
    .readdirSync(base, { recursive: true, encoding: 'utf8' })
    .filter((name) => fs.lstatSync(path.join(base, name)).isFile())
    .sort();
}

/** The one workspace's part of the store. */
export function storePath({ store }: Pick<Setting, 'store'>, ...names: string[]): string {
  const workspaces = path.join(store, 'workspaces');
  const [id = ''] = fs.readdirSync(workspaces);
  return path.join(workspaces, id, ...names);
}

export function sealedIds({ context, place }: Setting): string[] {
  return listRuns(context, place)
    .runs.filter(({ state }) => state === 'sealed')
    .map(({ runId }) => runId);
}

/** Claims that fail, of all sealed capsules: `<run id> <claim>`. */
export function failingClaims(setting: Setting): string[] {
  const { context, place } = setting;
  return sealedIds(setting).flatMap((runId) => {
    const { verdict, claims } = verifyCapsule(context, place, runId);
    const failing = claims.filter(({ status }) => status === 'fails').map(({ claim }) => `${runId} ${claim}`);
    return verdict === 'holds' ? failing : [`${runId} ${verdict}`, ...failing];
  });
}
