import { EXIT } from '../../core/index.ts';
import { setPin } from '../../operations/pin.ts';
import { jsonLine } from '../render/json.ts';
import { lines } from '../render/words.ts';
import type { Session } from '../session.ts';

export async function pinCommand(session: Session, ref: string, pinned: boolean): Promise<number> {
  const { context, place, output, json } = session;
  const { runId, changed } = setPin(context, place, ref, pinned);
  const done = pinned ? `pinned ${runId}` : `unpinned ${runId}`;
  const was = pinned ? `${runId} was pinned already` : `${runId} was not pinned`;
  const words = `${changed ? done : was}: ${pinned ? 'gc never removes it' : 'gc may remove it'}`;
  await output.print(json ? jsonLine({ runId, pinned, changed }) : lines([words]));
  return EXIT.done;
}
