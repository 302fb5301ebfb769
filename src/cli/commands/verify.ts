import { AgentdiffError, type Digest, EXIT, exitStatusOf, isDigest } from '../../core/index.ts';
import { type CapsuleVerdict, type Unjudged, verifyCapsules } from '../../operations/verify.ts';
import type { VerifyOptions } from '../options.ts';
import { renderVerify, renderVerifyJson } from '../render/verify.ts';
import type { Session } from '../session.ts';

/** The highest of the statuses that the capsules would have one by one. */
export async function verifyCommand(
  session: Session,
  refs: readonly string[],
  options: VerifyOptions,
): Promise<number> {
  const { context, place, output, json } = session;
  const wanted = refs.length === 0 ? ['last'] : refs;
  const verdicts = verifyCapsules(context, place, wanted, parseExpect(options.expect));
  const [first, ...more] = verdicts;
  // Nothing else would be lost: one error is an error like any other command's.
  if (first?.verdict === 'not-judged' && more.length === 0) throw first.error;
  await output.print(json ? renderVerifyJson(verdicts) : renderVerify(verdicts, output.outStyle));
  return Math.max(...verdicts.map(statusOf));
}

function parseExpect(text: string | undefined): Digest | undefined {
  if (text === undefined || isDigest(text)) return text;
  throw new AgentdiffError('USAGE', `not a digest: ${JSON.stringify(text)}`, {
    hint: 'a digest is 64 lower-case hex digits, as `agentdiff show` and sha256sum print them',
  });
}

/** The exit status for what was found of one capsule. */
export function statusOf(found: CapsuleVerdict | Unjudged): number {
  switch (found.verdict) {
    case 'holds':
      return EXIT.done;
    case 'fails':
      return EXIT.findings;
    case 'unsupported':
      return EXIT.refused;
    case 'not-judged':
      return exitStatusOf(found.error.code, 'verify');
  }
}
