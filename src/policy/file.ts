import { z } from 'zod';
import { AgentdiffError, parseSize, SIZE_FORM } from '../core/index.ts';
import type { CaptureRule, LimitName } from './document.ts';
import { compileGlob, costOf, readGlob, writtenGlob } from './glob.ts';
import type { FilePolicy } from './resolve.ts';
import { readYaml, type TextProblem, type YamlText } from './yaml.ts';

const MAX_RULES = 500;
const MAX_GLOB = 900;
const MAX_REASON = 1024;
const MAX_SHOWN = 10;
/** Finding the place of a problem takes time that grows with the file. */
const MAX_PLACED = 100;

/** Sections of later versions: a file that needs them must not be read as if it did not. */
const LATER_SECTIONS = ['commands', 'paths', 'capabilities', 'network', 'recover'];

/**
 * Reads a policy file: YAML 1.2, or JSON, which is YAML too. Strict: everything in it must be known and mean something.
 * @param name of the file, for messages
 * @throws POLICY_INVALID, POLICY_UNSUPPORTED, with line and place of the first problem in the message and all (up to 10) in `data.issues`
 */
export function parsePolicyFile(text: string, name: string): FilePolicy {
  const read = readYaml(text);
  if ('problems' in read) throw failure('POLICY_INVALID', name, read.problems);
  refuseLater(read, name);
  const result = fileSchema().safeParse(read.value);
  if (!result.success) {
    const issues = result.error.issues.slice(0, MAX_PLACED);
    throw failure(
      'POLICY_INVALID',
      name,
      issues.flatMap((issue) => problemsOf(read, issue)),
    );
  }
  const { capture = [], limits = {} } = result.data;
  return { capture, limits };
}

function refuseLater(read: YamlText, name: string): void {
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const problems = LATER_SECTIONS.filter((section) => Object.hasOwn(value, section)).map((section) =>
    read.problem(
      [],
      `the section "${section}" comes with a later version of agentdiff; this one reads capture and limits`,
      section,
    ),
  );
  if ('version' in value && typeof value.version === 'number' && value.version !== 1)
    problems.unshift(
      read.problem(['version'], `version ${value.version} is not known, this tool reads version 1`),
    );
  if (problems.length > 0) throw failure('POLICY_UNSUPPORTED', name, problems);
}

function failure(
  code: 'POLICY_INVALID' | 'POLICY_UNSUPPORTED',
  name: string,
  problems: readonly TextProblem[],
): AgentdiffError {
  const sorted = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  const texts = sorted.map(
    ({ line, column, place, message }) =>
      `${name}:${line}:${column}: ${place === '' ? '' : `${place}: `}${message}`,
  );
  const more = texts.length > 1 ? ` (and ${texts.length - 1} more)` : '';
  return new AgentdiffError(code, `${texts[0]}${more}`, {
    hint: 'docs/policy.md says what a policy file may hold',
    data: { file: name, issues: sorted.slice(0, MAX_SHOWN) },
  });
}

type Issue = z.core.$ZodIssue;

/** What zod found, where it stands in the text: a key that is not known is named by its own position. */
function problemsOf(read: YamlText, issue: Issue): TextProblem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  if (issue.code !== 'unrecognized_keys') return [read.problem(path, issue.message)];
  return issue.keys
    .slice(0, MAX_PLACED)
    .map((key) => read.problem(path, `not a known key: ${JSON.stringify(key)}`, key));
}

/** Made when asked for, so that loading the module costs little. */
function fileSchema() {
  return z.strictObject(
    {
      version: z.literal(1, 'expected 1'),
      capture: z
        .array(captureSchema(), 'expected a list of rules')
        .max(MAX_RULES, `more than ${MAX_RULES} rules`)
        .exactOptional(),
      limits: limitsSchema().exactOptional(),
    },
    { error: objectError('a mapping with version, capture, limits') },
  );
}

/** The message for what is no mapping at all; that of an unknown key is made where its position is known. */
function objectError(expected: string): (issue: { readonly code?: string }) => string | undefined {
  return ({ code }) => (code === 'invalid_type' ? `expected ${expected}` : undefined);
}

const LEVELS = ['content', 'digest', 'stat', 'structure', 'none'] as const;

function captureSchema() {
  const text = (what: string, max: number): z.ZodString =>
    z.string(`expected ${what}`).min(1, `expected ${what}`).max(max, `longer than ${max} characters`);
  return z
    .strictObject(
      {
        glob: text('a glob', MAX_GLOB).exactOptional(),
        path: text('a path', MAX_GLOB).exactOptional(),
        level: z.enum(LEVELS, `expected one of ${LEVELS.join(', ')}`),
        reason: text('a text', MAX_REASON).exactOptional(),
      },
      { error: objectError('a mapping with glob or path, and level') },
    )
    .transform(({ glob, path, level, reason = 'by the policy file' }, context): CaptureRule => {
      const say = (message: string, key?: string): never => {
        context.addIssue({ code: 'custom', message, path: key === undefined ? [] : [key] });
        return z.NEVER;
      };
      const key = glob === undefined ? 'path' : 'glob';
      const pattern = glob ?? path;
      if (pattern === undefined || (glob !== undefined && path !== undefined))
        return say('expected glob or path, one of them');
      const parts = readGlob(pattern);
      if (parts === undefined) return say('expected a path relative to the root that stays below it', key);
      const wrong = key === 'glob' ? globProblem(parts.glob) : undefined;
      if (wrong !== undefined) return say(wrong, key);
      const literal = key === 'path' ? { literal: true as const } : {};
      return { rule: `file: ${writtenGlob(parts)}`, ...parts, ...literal, level, reason };
    });
}

function globProblem(glob: string): string | undefined {
  const cost = costOf(glob);
  if (cost !== undefined) return `this glob could take very long to match: ${cost}`;
  try {
    compileGlob(glob);
    return undefined;
  } catch (error) {
    if (error instanceof AgentdiffError) return 'not a glob';
    throw error;
  }
}

function limitsSchema() {
  const size = z
    .union([z.number(), z.string()], `expected ${SIZE_FORM}`)
    .transform((value, context): number => {
      const bytes = typeof value === 'string' ? parseSize(value) : value;
      if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
      context.addIssue({ code: 'custom', message: `expected ${SIZE_FORM}` });
      return z.NEVER;
    })
    .exactOptional();
  const percent = 'expected a number from 0 to 100';
  const depth = 'expected a whole number from 1 to 100000';
  const shape = {
    keptFileBytes: size,
    hashedFileBytes: size,
    newBytesPerRun: size,
    storeBytes: size,
    freeBytes: size,
    freePercent: z.number(percent).min(0, percent).max(100, percent).exactOptional(),
    maxDepth: z.int(depth).min(1, depth).max(100_000, depth).exactOptional(),
  } satisfies Record<LimitName, z.ZodType>;
  return z.strictObject(shape, { error: objectError('a mapping of limits') });
}
