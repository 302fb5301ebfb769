import { EXIT } from '../../core/index.ts';
import { setPin } from '../../operations/pin.ts';
import { jsonLine } from '../render/json.ts';
import { lines } from '../render/words.ts';
import type { Session } from '../session.ts';

export async function pinCommand(session: Session, ref: string, pinned: boolean): Promise<number> {
  const { context, place, output, json } = session;
  const runId = setPin(context, place, ref, pinned);
  const words = pinned ? `pinned ${runId}: gc never removes it` : `unpinned ${runId}: gc may remove it`;
  await output.print(json ? jsonLine({ runId, pinned }) : lines([words]));
  return EXIT.done;
}
