const UNITS = ['', 'K', 'M', 'G', 'T'];
const SIZE = /^(\d{1,16}(?:\.\d{1,6})?) ?(?:([KMGT])(?:iB)?|B)?$/;

/** How {@link parseSize} wants it, for messages. */
export const SIZE_FORM =
  'bytes as a number, or a size such as 64MiB, 2G or 1.5 GiB (K, M, G, T: powers of 1024)';

/**
 * Bytes of a size as people write it: `64 MiB`, `2G`, `4096`, `4096 B`. Units are powers of 1024; `MB` and the like mean different things to different
 * tools and are not taken.
 * @returns undefined for what is no such size, is no whole number of bytes, or is too large to be counted exactly
 */
export function parseSize(text: string): number | undefined {
  const [, digits, unit = ''] = SIZE.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Number(digits) * 1024 ** UNITS.indexOf(unit);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Bytes with a binary unit and at most one decimal. */
export function showBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[unit] ?? 'B'}`;
}

/** `40231` as `40,231`. */
export function showNumber(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
