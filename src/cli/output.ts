import { isatty } from 'node:tty';
import { AgentdiffError, errnoOf } from '../core/index.ts';
import { type Style, styleFor } from './render/style.ts';

interface ColourWishes {
  readonly NO_COLOR?: string | undefined;
  readonly TERM?: string | undefined;
}

/** The two streams of this process. Each is touched only when something is written: for `run` both belong to the child. */
export class Output {
  /** For text on stdout, and on stderr. */
  readonly outStyle: Style;
  readonly errStyle: Style;
  /** Is stderr a terminal? */
  readonly errIsTerminal: boolean;
  #outGuarded = false;
  #errGuarded = false;

  constructor(wishes: ColourWishes, colourAllowed: boolean) {
    const mayColour = colourAllowed && !wishes.NO_COLOR && wishes.TERM !== 'dumb';
    this.outStyle = styleFor(mayColour && isatty(1));
    this.errIsTerminal = isatty(2);
    this.errStyle = styleFor(mayColour && this.errIsTerminal);
  }

  /**
   * Writes to stdout.
   * @returns false when nobody reads it any more (`| head`); there is no point in going on then, and nothing to complain of
   * @throws OUTPUT_UNWRITABLE
   */
  print(text: string): Promise<boolean> {
    if (!this.#outGuarded) process.stdout.on('error', ignore);
    this.#outGuarded = true;
    return new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => {
        if (error === null || error === undefined) resolve(true);
        else if (errnoOf(error) === 'EPIPE') resolve(false);
        else
          reject(
            new AgentdiffError(
              'OUTPUT_UNWRITABLE',
              `cannot write to stdout (${errnoOf(error) ?? 'unknown'})`,
              { cause: error },
            ),
          );
      });
    });
  }

  /** How many characters a line of the terminal on stderr takes; 80 where it does not say. */
  errColumns(): number {
    const [columns] = process.stderr.isTTY ? process.stderr.getWindowSize() : [];
    return columns || 80;
  }

  /** Writes to stderr; when that fails there is nobody left to tell. */
  tell(text: string): void {
    if (!this.#errGuarded) process.stderr.on('error', ignore);
    this.#errGuarded = true;
    process.stderr.write(text);
  }
}

function ignore(): void {
  // The callback of each write decides; without a listener the event would end the process.
}
