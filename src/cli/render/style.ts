/** Emphasis on a terminal. Without colour every function returns its text as it is. */
export interface Style {
  readonly strong: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly bad: (text: string) => string;
}

const ESC = String.fromCharCode(27);

export function styleFor(colour: boolean): Style {
  const sgr = (code: number) => (text: string) =>
    colour && text !== '' ? `${ESC}[${code}m${text}${ESC}[0m` : text;
  return { strong: sgr(1), dim: sgr(2), good: sgr(32), warn: sgr(33), bad: sgr(31) };
}

export const PLAIN = styleFor(false);
