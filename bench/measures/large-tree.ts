import type { Context, Group } from '../bench-context.ts';
import { firstMeasure } from './first-run.ts';
import { keptMeasure } from './kept.ts';
import { editMeasure, memoryMeasure, noopMeasure, storeMeasure } from './no-change.ts';
import { BYTES, largeTree } from './tree.ts';

/** All that is measured in the tree of 100,000 files. */
export function largeTreeGroup(context: Context): Group {
  const large = largeTree(context);
  return {
    space: large.files * (BYTES.tree + BYTES.store),
    directory: 'tree',
    measures: [
      firstMeasure(context, large),
      noopMeasure(context, large),
      editMeasure(context, large),
      memoryMeasure(context, large),
      storeMeasure(large),
      keptMeasure(context, large),
    ],
  };
}
