import { Command, Option } from 'commander';
import { AgentdiffError } from '../core/index.ts';
import { runCommand } from './commands/run.ts';
import { openSession } from './context.ts';
import type {
  CommonOptions,
  DoctorOptions,
  GcOptions,
  RecoverOptions,
  RunOptions,
  VerifyOptions,
} from './options.ts';
import type { Output } from './output.ts';
import type { Session } from './session.ts';
import { VERSION } from './version.ts';

/** Ends a command with its exit status. */
type Action<T> = (session: Session, options: T) => Promise<number>;

export interface Program {
  /** For the tests that compare the documents with it. */
  readonly command: Command;
  /**
   * Parses and carries out one command line.
   * @param argv without node and script
   * @returns the exit status
   * @throws CommanderError for what commander finds wrong (exitCode 0: help or version was printed)
   */
  run(argv: readonly string[]): Promise<number>;
  /** What the parser has made of the command line so far: an error may end it anywhere. */
  known(): Known;
}

export interface Known {
  /** The subcommand's name; undefined when none was found. */
  readonly name: string | undefined;
  readonly json: boolean;
  readonly debug: boolean;
}

const RUN_ARGUMENT =
  'a run id, the beginning of one, or "last": the newest run, be it of a command or a recover';

/**
 * The command line's grammar. The code of a command other than `run` is loaded when it is called.
 * @param first the first word. When that is `run`, the grammar of the other commands cannot matter and is not built.
 */
export function buildProgram(output: Output, first?: string): Program {
  const program = new Command('agentdiff')
    .description(
      'Run a command, see what it changed in the workspace, and take it back without overwriting later work.',
    )
    .version(VERSION)
    // Options of ours stand before the command's name or directly behind it, and nowhere else.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError() {}, writeOut: (text) => void output.print(text) })
    .addHelpText(
      'after',
      '\nEverything after the first -- belongs to the command that is run.\nExit statuses and error codes: docs/exit-codes.md, in the package',
    );
  addCommonOptions(program, 'json');
  let status = 0;
  let child: readonly string[] | undefined;
  let called: Command | undefined;
  program.hook('preSubcommand', (_program, subcommand) => {
    called = subcommand;
  });

  async function perform<T extends CommonOptions>(command: Command, action: Action<T>): Promise<void> {
    const options = optionsOf<T>(command);
    status = await action(await openSession(command.name(), options, output), options);
  }

  addRun(program, perform, () => child);
  if (first !== 'run') {
    addRecover(program, perform);
    addReading(program, perform);
    addRetention(program, perform);
  }
  return {
    command: program,
    async run(words) {
      const dashes = words.indexOf('--');
      const own = dashes < 0 ? words : words.slice(0, dashes);
      const isRun = commandIn(program, own) === 'run';
      // The parser never sees the child's words, nor the `--`: an option that lacks its value could take one of them for it.
      child = isRun && dashes >= 0 ? words.slice(dashes + 1) : undefined;
      await program.parseAsync([...(isRun ? own : words)], { from: 'user' });
      return status;
    },
    known() {
      const { json, debug } = optionsOf<CommonOptions>(called ?? program);
      return { name: called?.name(), json: json === true, debug: debug === true };
    },
  };
}

type Perform = <T extends CommonOptions>(command: Command, action: Action<T>) => Promise<void>;

function addRun(program: Command, perform: Perform, child: () => readonly string[] | undefined): void {
  const run = program
    .command('run')
    .summary('run a command and record what it changes')
    .description('Run a command, record what it changes in the workspace, and say what can be taken back.')
    .usage('[options] -- <command> [arguments...]')
    .argument('[command...]', 'the command and its arguments, after --')
    .option('--task <text>', 'what the command is meant to do; kept in the capsule')
    .option(
      '--capture <[glob=]level>',
      'how closely to look: content, digest, stat, structure or none (repeatable; first match wins)',
      collect,
    )
    .option('--policy <file>', 'the policy file (else agentdiff.yaml at the root)')
    .option('--max-file-size <size>', 'a larger file is hashed, not kept (64MiB)')
    .option('--max-hash-size <size>', 'a larger file is not even hashed (1GiB)')
    .option('--max-new-bytes <size>', 'new content that one run keeps (2GiB)')
    .option('--max-store-size <size>', 'what the store may hold of this workspace (10GiB)')
    .option(
      '--min-free <size>',
      "space of the store's file system that stays free, or a share such as 5% (1GiB or 5%)",
    )
    .option('--full-scan', 'read every file before and after, whatever its times say')
    .option(
      '--best-effort',
      'start the command even when the disk of the store has no room for what is to be kept',
    )
    .addOption(
      new Option(
        '--fail-on <outcome>',
        'exit 3 when the command succeeded but its changes are judged so',
      ).choices(['never', 'review', 'deny']),
    )
    .option('--result-file <file>', 'write the result as JSON to this file')
    .option('--quiet', 'print no summary');
  addCommonOptions(run).action(async (operands: string[], _options, command: Command) => {
    const words = childArgv(operands, child());
    await perform<RunOptions>(command, async (session, options) => {
      return await runCommand(session, words, options);
    });
  });
}

function addRecover(program: Command, perform: Perform): void {
  const recover = program
    .command('recover')
    .summary('take back what a run changed')
    .description('Take back what a run changed, path by path, where the path is still as the run left it.')
    .argument(
      '[run]',
      'a run id, the beginning of one, or "last"; without it the newest command that was run',
    )
    .argument('[paths...]', 'only these paths, relative to the root, and what is below them')
    .option(
      '--path <path>',
      'as [paths...], also for names that begin with a dash: --path=-rf (repeatable)',
      collect,
    )
    .option('--dry-run', 'show the plan and change nothing')
    .option('--yes', 'apply the plan without asking');
  addCommonOptions(recover, 'json').action(
    async (run: string | undefined, paths: string[], _options, command: Command) => {
      await perform<RecoverOptions>(command, async (session, options) => {
        const { recoverCommand } = await import('./commands/recover.ts');
        return await recoverCommand(session, run, paths, options);
      });
    },
  );
}

/** The commands that leave workspace and runs as they are. */
function addReading(program: Command, perform: Perform): void {
  reading(program, 'list', 'list the runs of the workspace').action(async (_options, command: Command) => {
    await perform(command, async (session) => (await import('./commands/list.ts')).listCommand(session));
  });
  reading(program, 'show', 'show what a run did and what can be taken back')
    .argument('[run]', RUN_ARGUMENT, 'last')
    .action(async (run: string, _options, command: Command) => {
      await perform(command, async (session) =>
        (await import('./commands/show.ts')).showCommand(session, run),
      );
    });
  reading(program, 'diff', 'show the differences that a run made in files')
    .argument('[run]', RUN_ARGUMENT, 'last')
    .argument('[paths...]', 'only these paths, relative to the root, and what is below them')
    .action(async (run: string, paths: string[], _options, command: Command) => {
      await perform(command, async (session) =>
        (await import('./commands/diff.ts')).diffCommand(session, run, paths),
      );
    });
  reading(program, 'verify', 'check that capsules are intact')
    .argument('[capsules...]', 'run ids, or directories; without any, the last run')
    .option('--expect <digest>', 'the digest that the capsule must have, kept elsewhere since the run')
    .action(async (refs: string[], _options, command: Command) => {
      await perform<VerifyOptions>(command, async (session, options) => {
        const { verifyCommand } = await import('./commands/verify.ts');
        return await verifyCommand(session, refs, options);
      });
    });
  reading(program, 'doctor', 'say what this machine, or a run, can and cannot do')
    .argument('[run]', 'examine this run instead of the machine')
    .option('--policy <file>', 'check this policy file (else agentdiff.yaml at the root)')
    .action(async (run: string | undefined, _options, command: Command) => {
      await perform<DoctorOptions>(command, async (session, options) =>
        (await import('./commands/doctor.ts')).doctorCommand(session, run, options),
      );
    });
}

/** The commands that say what stays in the store. */
function addRetention(program: Command, perform: Perform): void {
  const gc = program
    .command('gc')
    .summary('remove old capsules, and contents that nothing needs')
    .description(
      'Remove the oldest capsules of the workspace and the contents that nothing needs any more. Shows the plan, and removes with --yes or after an answer on a terminal; else nothing. Without a rule the budget of the policy decides.',
    )
    .option('--keep-last <number>', 'keep the newest so many capsules')
    .option('--keep-within <duration>', 'keep capsules of runs begun within this time: 30m, 12h, 30d, 8w')
    .option('--max-size <size>', 'remove the oldest until no more than this is left: 500MiB, 1.5G')
    .option('--interrupted <run>', 'remove this interrupted run too, with its before-snapshot')
    .option('--dry-run', 'show the plan and remove nothing')
    .option('--yes', 'remove without asking');
  addCommonOptions(gc, 'json').action(async (_options, command: Command) => {
    await perform<GcOptions>(command, async (session, options) => {
      const { gcCommand } = await import('./commands/gc.ts');
      return await gcCommand(session, options);
    });
  });
  for (const [name, summary] of [
    ['pin', 'keep the capsule of a run whatever gc is told'],
    ['unpin', 'let gc remove the capsule of a run again'],
  ] as const) {
    reading(program, name, summary)
      .argument('<run>', RUN_ARGUMENT)
      .action(async (run: string, _options, command: Command) => {
        await perform(command, async (session) =>
          (await import('./commands/pin.ts')).pinCommand(session, run, name === 'pin'),
        );
      });
  }
}

function reading(program: Command, name: string, description: string): Command {
  return addCommonOptions(program.command(name).description(description), 'json');
}

/** @param json for commands whose stdout is their own */
function addCommonOptions(command: Command, json?: 'json'): Command {
  if (json !== undefined) command.option('--json', 'print JSON to stdout, errors included');
  return command
    .optionsGroup('Common options:')
    .option(
      '--root <dir>',
      'the workspace (else AGENTDIFF_ROOT, the nearest agentdiff.yaml or .git, the current directory)',
    )
    .option(
      '--store <dir>',
      'where capsules are kept (else AGENTDIFF_STORE, else the state directory of the user)',
    )
    .option('--allow-root', 'accept /, the home directory or a parent of the store as the workspace')
    .option('--debug', 'print the stack of an error')
    .option('--verbose', 'log to stderr, as JSON lines')
    .option('--log-file <file>', 'log to this file, as JSON lines')
    .option('--no-color', 'no colours (as NO_COLOR does)')
    .optionsGroup('Options:');
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Options given before the command's name, and those behind it, which win. */
function optionsOf<T extends CommonOptions>(command: Command): T {
  const above: CommonOptions = command.parent?.opts() ?? {};
  const own = command.opts<T>();
  return { ...above, ...own, color: above.color !== false && own.color !== false };
}

/** The subcommand's name: the first word that is neither an option of the program nor the value of one. */
function commandIn({ options }: Command, words: readonly string[]): string | undefined {
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (!word.startsWith('-')) return word;
    if (options.some((option) => option.required && option.long === word)) i++;
  }
  return undefined;
}

/**
 * One rule: the child's words are all that follows the first `--`, so that no option of the child can be taken for ours.
 * @param operands words that stood before it and belong to nothing
 */
function childArgv(
  operands: readonly string[],
  child: readonly string[] | undefined,
): readonly [string, ...string[]] {
  const [first, ...rest] = child ?? [];
  if (first !== undefined && operands.length === 0) return [first, ...rest];
  const hint = 'agentdiff run [options] -- <command> [arguments...]';
  const message = operands.length === 0 ? 'no command given' : 'the command must stand after --';
  throw new AgentdiffError('USAGE', message, { hint });
}
