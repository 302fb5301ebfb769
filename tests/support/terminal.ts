import * as path from 'node:path';
import * as fs from 'node:fs';
import type { Sandbox } from './cli.ts';

/**
 * Runs a shell command of a sandbox in a new terminal, by script(1) of util-linux.
 * @param answer typed, with Enter, as soon as the question of a recover stands on the terminal; without one nothing is ever typed
 * @returns its status, and all that the terminal showed, without carriage returns
 */
export function inTerminal(
  box: Sandbox,
  command: string,
  answer?: string,
): { status: number; shown: string } {
  // Opened for both directions, the FIFO never ends, so the terminal's input does not either.
  const script = `cd "$HOME" && rm -f keys shown && mkfifo keys && exec 3<>keys && cd "$OLDPWD"
    TERM=xterm script -qefc "$COMMAND" "$HOME/shown" <&3 >/dev/null & TERMINAL=$!
    if [ -n "\${ANSWER+typed}" ]; then
      until grep -qF '[y/N]' "$HOME/shown" 2>/dev/null || ! kill -0 $TERMINAL 2>/dev/null; do sleep 0.02; done
      printf '%s\\n' "$ANSWER" >&3
    fi
    wait $TERMINAL`;
  const { status } = box.bash(script, { env: { COMMAND: command, ANSWER: answer } });
  const text = fs.readFileSync(path.join(box.home, 'shown'), 'utf8');
  // script(1) puts a line of its own before and after.
  const shown = text
    .replaceAll('\r', '')
    .replace(/^Script started .*\n/, '')
    .replace(/\nScript done .*\n$/, '');
  return { status, shown };
}
