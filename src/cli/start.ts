/**
 * Where the program begins. It is one small file of the bundle, so that the version costs no more than that; everything else is loaded by `main`.
 */
import { VERSION } from './version.ts';

const words = process.argv.slice(2);

function start(): void {
  void import('./main.ts').then(({ main }) => main(words));
}

if (words.length === 1 && (words[0] === '--version' || words[0] === '-V')) {
  // What cannot be written is tried again by the whole program, which has words for it.
  process.stdout.once('error', start).write(`${VERSION}\n`);
} else {
  start();
}
