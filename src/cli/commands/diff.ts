import { EXIT } from '../../core/index.ts';
import { diffRun } from '../../operations/diff.ts';
import { parseUserPath } from '../paths.ts';
import { renderDiffItem, renderDiffItemJson } from '../render/diff.ts';
import type { Session } from '../session.ts';

export async function diffCommand(session: Session, ref: string, paths: readonly string[]): Promise<number> {
  const { context, place, output, json } = session;
  const { outStyle } = output;
  for (const item of diffRun(context, place, ref, paths.map(parseUserPath))) {
    // One at a time: a slow reader holds the next comparison back, and one that went away ends it.
    const isRead = await output.print(json ? renderDiffItemJson(item) : renderDiffItem(item, outStyle));
    if (!isRead) break;
  }
  return EXIT.done;
}
