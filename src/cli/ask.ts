import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';

/** Can a question be seen and answered? Asked of the descriptors, so that no stream is touched. */
export function canAsk(): boolean {
  return isatty(0) && isatty(2);
}

/** No line can hold it. */
const END = '\n';

/** Asks on stderr; only `y` or `yes` is a yes, and the end of the input is a no. */
export async function askYes(question: string): Promise<boolean> {
  // `terminal: false` leaves line editing and Ctrl-C to the terminal: an interrupt here ends the process, and nothing was touched.
  const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const ended = new Promise<string>((resolve) => reader.once('close', () => resolve(END)));
    const answer = await Promise.race([reader.question(`${question} [y/N] `), ended]);
    if (answer === END) process.stderr.write('\n');
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    reader.close();
  }
}
