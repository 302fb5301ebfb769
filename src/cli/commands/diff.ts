import { EXIT } from '../../core/index.ts';
import { diffRun } from '../../operations/diff.ts';
import { parseUserPath } from '../paths.ts';
import { renderDiffItem, renderDiffItemJson } from '../render/diff.ts';
import type { Session } from '../session.ts';

export async function diffCommand(session: Session, ref: string, paths: readonly string[]): Promise<number> {
  const { context, place, output, json } = session;
  const { outStyle } = output;
  const writes: Promise<boolean>[] = [];
  diffRun(context, place, ref, paths.map(parseUserPath), (item) => {
    writes.push(output.print(json ? renderDiffItemJson(item) : renderDiffItem(item, outStyle)));
  });
  await Promise.all(writes);
  return EXIT.done;
}
