import { CommanderError } from 'commander';
import { AgentdiffError, exitStatusOf } from '../core/index.ts';
import { Output } from './output.ts';
import { buildProgram, commandNames } from './program.ts';
import { asAgentdiffError, renderError, renderErrorJson } from './render/error.ts';

const argv = process.argv.slice(2);
/** What comes before the first `--` is ours; the rest may belong to a child. */
const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
const command = own.find((word) => commandNames.includes(word)) ?? '';
const output = new Output(process.env, !own.includes('--no-color'));

// Only what happens outside of every await ends here; the loop cannot be trusted to end after it.
process.on('uncaughtException', (error) => {
  fail(error);
  process.exit();
});

try {
  process.exitCode = await buildProgram(output).run(argv);
} catch (error) {
  fail(error);
}

function fail(thrown: unknown): void {
  if (thrown instanceof CommanderError && thrown.exitCode === 0) return;
  const error = thrown instanceof CommanderError ? toUsageError(thrown) : asAgentdiffError(thrown);
  process.exitCode = exitStatusOf(error.code, command);
  const debug = own.includes('--debug');
  // The stdout of a run is the child's alone.
  if (own.includes('--json') && command !== 'run') void output.print(renderErrorJson(error, debug));
  else output.tell(renderError(error, output.errStyle, debug));
}

/** Commander's messages begin with `error:`; a second line suggests something. */
function toUsageError(error: CommanderError): AgentdiffError {
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n');
  const usage = command === 'run' ? ['usage: agentdiff run [options] -- <command> [arguments...]'] : [];
  const help = `see agentdiff${command === '' ? '' : ` ${command}`} --help`;
  const message = error.code === 'commander.help' ? 'no command given' : first;
  return new AgentdiffError('USAGE', message, { hint: [...more, ...usage, help].join('; ') });
}
