import { listRuns } from '../../operations/list.ts';
import { renderList, renderListJson } from '../render/list.ts';
import type { Session } from '../session.ts';

export async function listCommand({ context, place, output, json }: Session): Promise<number> {
  const report = listRuns(context, place);
  await output.print(json ? renderListJson(report) : renderList(report, output.outStyle));
  return 0;
}
