import { AgentdiffError, type ByteString, parseSize, SIZE_FORM } from '../core/index.ts';
import { absolute } from '../operations/own-process.ts';
import type { RunRequest } from '../operations/run.ts';
import type { RunOptions } from './options.ts';

type PolicyFlags = RunRequest['policyFlags'];
type CaptureFlag = PolicyFlags['capture'][number];

/** What the options of `run` say of capture and limits. @throws USAGE */
export function parsePolicyFlags(options: RunOptions): PolicyFlags {
  const sizes = {
    keptFileBytes: sizeOf('--max-file-size', options.maxFileSize),
    hashedFileBytes: sizeOf('--max-hash-size', options.maxHashSize),
    newBytesPerRun: sizeOf('--max-new-bytes', options.maxNewBytes),
    storeBytes: sizeOf('--max-store-size', options.maxStoreSize),
    ...minFreeOf(options.minFree),
  };
  const limits = Object.fromEntries(Object.entries(sizes).filter(([, value]) => value !== undefined));
  return { capture: (options.capture ?? []).map(parseCapture), limits };
}

/** `--policy`, absolute. @throws USAGE when it is empty */
export function policyFileOf(
  { policy }: { readonly policy?: string },
  cwd: ByteString,
): { policyFile?: ByteString } {
  if (policy === undefined) return {};
  if (policy !== '') return { policyFile: absolute(policy, cwd) };
  throw new AgentdiffError('USAGE', '--policy is empty', { hint: 'give --policy a file, or leave it out' });
}

/** The bytes that a size option asks for; undefined when it was not given. @throws USAGE */
export function sizeOf(option: string, text: string | undefined, also = ''): number | undefined {
  if (text === undefined) return undefined;
  const bytes = parseSize(text);
  if (bytes !== undefined) return bytes;
  throw new AgentdiffError('USAGE', `${option} wants a size, not ${JSON.stringify(text)}`, {
    hint: `a size is ${SIZE_FORM}${also}`,
  });
}

const PERCENT = /^(\d{1,3}(?:\.\d{1,3})?)%$/;

function minFreeOf(text: string | undefined): { freeBytes?: number | undefined; freePercent?: number } {
  const percent = Number(PERCENT.exec(text ?? '')?.[1] ?? Number.NaN);
  if (percent >= 0 && percent <= 100) return { freePercent: percent };
  return { freeBytes: sizeOf('--min-free', text, '; or a share of the file system, such as 5%') };
}

const LEVELS: readonly CaptureFlag['level'][] = ['content', 'digest', 'stat', 'structure', 'none'];

/** `GLOB=LEVEL`, or `LEVEL` for everything; a glob may hold `=` itself. */
export function parseCapture(text: string): CaptureFlag {
  const at = text.lastIndexOf('=');
  const level = LEVELS.find((known) => known === text.slice(at + 1));
  const glob = at < 0 ? '**' : text.slice(0, at);
  if (level === undefined || glob === '') {
    throw new AgentdiffError('USAGE', `not a capture rule: ${JSON.stringify(text)}`, {
      hint: `use GLOB=LEVEL, or LEVEL alone for everything; LEVEL is one of ${LEVELS.join(', ')}`,
    });
  }
  return { glob, level };
}
