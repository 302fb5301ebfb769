import { isRunId, type RunId } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { reading } from './failures.ts';
import { FILE } from './layout.ts';
import { tryOpenDir } from './place.ts';

/** The runs that retention must never remove, in their order: `pins/` holds an empty file named after each. */
export function readPins(workspace: Dir | undefined): RunId[] {
  return reading('pins', () => {
    const dir = workspace && tryOpenDir(workspace, FILE.pins);
    try {
      return (dir?.names() ?? []).filter((name): name is typeof name & RunId => isRunId(name));
    } finally {
      dir?.close();
    }
  });
}
