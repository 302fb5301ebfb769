import type { Context, Group } from '../bench-context.ts';
import { firstMeasure } from './first-run.ts';
import { keptMeasure } from './kept.ts';
import { editMeasure, memoryMeasure, noopMeasure, storeMeasure } from './no-change.ts';
import { largeTree } from './tree.ts';

/** All that is measured in the tree of 100,000 files. */
export function largeTreeGroup(context: Context): Group {
  const large = largeTree(context);
  return {
    // The tree and a copy, two stores, and repositories of loose objects: two that are warm, two for each sample of a first checkpoint.
    space: large.files * (2 * 6_500 + 2 * 4_800 + (2 + 2 * Math.min(context.repeat, 3)) * 6_000),
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
