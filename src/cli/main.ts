import { CommanderError } from 'commander';
import { AgentdiffError, exitStatusOf } from '../core/index.ts';
import { Output } from './output.ts';
import { buildProgram, type Program } from './program.ts';
import { asAgentdiffError, renderError, renderErrorJson } from './render/error.ts';

/**
 * Carries out one command line. Whatever goes wrong becomes words and the exit status of this process; it never rejects.
 * @param argv without node and script
 */
export async function main(argv: readonly string[]): Promise<void> {
  /** What comes before the first `--` is ours; the rest may belong to a child. */
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const output = new Output(process.env, !own.includes('--no-color'));
  const program = buildProgram(output, argv[0]);
  // Only what happens outside of every await ends here; the loop cannot be trusted to end after it.
  process.on('uncaughtException', (error) => {
    fail(error, program, output);
    process.exit();
  });
  try {
    process.exitCode = await program.run(argv);
  } catch (error) {
    fail(error, program, output);
  }
}

function fail(thrown: unknown, program: Program, output: Output): void {
  if (thrown instanceof CommanderError && thrown.exitCode === 0) return;
  const { name, json, debug } = program.known();
  const error = thrown instanceof CommanderError ? toUsageError(thrown, name) : asAgentdiffError(thrown);
  process.exitCode = statusOf(error) ?? exitStatusOf(error.code, name ?? '');
  // The stdout of a run is the child's alone.
  if (json && name !== 'run') void output.print(renderErrorJson(error, debug));
  // Without any command the help was printed to stderr already, and says all there is to say.
  else if (!isHelp(thrown)) output.tell(renderError(error, output.errStyle, debug));
}

/** A signal's status depends on the signal. The class is not imported here: help and version need none of it. */
function statusOf(error: AgentdiffError): number | undefined {
  return 'exitStatus' in error && typeof error.exitStatus === 'number' ? error.exitStatus : undefined;
}

function isHelp(thrown: unknown): boolean {
  return thrown instanceof CommanderError && thrown.code === 'commander.help';
}

/** Commander's messages begin with `error:`; a second line suggests something. */
function toUsageError(error: CommanderError, name: string | undefined): AgentdiffError {
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n');
  const usage = name === 'run' ? ['usage: agentdiff run [options] -- <command> [arguments...]'] : [];
  const help = `see agentdiff${name === undefined ? '' : ` ${name}`} --help`;
  const message = isHelp(error) ? 'no command given' : first;
  return new AgentdiffError('USAGE', message, { hint: [...more, ...usage, help].join('; ') });
}
