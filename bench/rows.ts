/** Samples of one side of a measure, in the row's unit, in the order they were taken. */
export type Samples = readonly number[];

export interface Bar {
  /** The row must not be above this. */
  readonly atMost?: number;
  /** Where it should come to. */
  readonly striveFor?: number;
}

/** One line of the result. */
export interface Row {
  /** Begins with the name of its measure. */
  readonly name: string;
  readonly what: string;
  readonly unit: 'ms' | 'MB' | 'KB';
  readonly ours: Samples;
  readonly yardstick?: { readonly name: string; readonly samples: Samples };
  /** A bar of the ratio where there is a yardstick, else of the figure itself. */
  readonly bar?: Bar;
  readonly note?: string;
}

export type Met = 'strived for' | 'met' | 'not met' | '-';

export function median(samples: Samples): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1];
  const high = sorted[Math.floor(middle)];
  if (low === undefined || high === undefined) throw new RangeError('no samples');
  return (low + high) / 2;
}

/** Our median by that of the yardstick. */
export function ratioOf({ ours, yardstick }: Row): number | undefined {
  return yardstick && median(ours) / median(yardstick.samples);
}

export function judge(row: Row): Met {
  const { atMost, striveFor } = row.bar ?? {};
  const value = ratioOf(row) ?? median(row.ours);
  if (striveFor !== undefined && value <= striveFor) return 'strived for';
  if (atMost !== undefined) return value <= atMost ? 'met' : 'not met';
  return striveFor === undefined ? '-' : 'not met';
}

/**
 * Takes samples of several sides in turn, so that what slows the machine down slows each of them down.
 * @param warmUp rounds that are not counted
 */
export async function inTurn<K extends string>(
  repeat: number,
  warmUp: number,
  sides: Readonly<Record<K, () => Promise<number>>>,
): Promise<Record<K, number[]>> {
  const names = Object.keys(sides) as K[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, number[]>;
  for (let round = -warmUp; round < repeat; round += 1) {
    for (const name of names) {
      const value = await sides[name]();
      if (round >= 0) samples[name].push(value);
    }
  }
  return samples;
}
