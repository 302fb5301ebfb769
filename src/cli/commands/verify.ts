import { AgentdiffError, type Digest, EXIT, isDigest } from '../../core/index.ts';
import { type CapsuleVerdict, verifyCapsules } from '../../operations/verify.ts';
import type { VerifyOptions } from '../options.ts';
import { renderVerify, renderVerifyJson } from '../render/verify.ts';
import type { Session } from '../session.ts';

export async function verifyCommand(
  session: Session,
  refs: readonly string[],
  options: VerifyOptions,
): Promise<number> {
  const { context, place, output, json } = session;
  const wanted = refs.length === 0 ? ['last'] : refs;
  const verdicts = verifyCapsules(context, place, wanted, parseExpect(options.expect));
  await output.print(json ? renderVerifyJson(verdicts) : renderVerify(verdicts, output.outStyle));
  return statusOf(verdicts);
}

function parseExpect(text: string | undefined): Digest | undefined {
  if (text === undefined || isDigest(text)) return text;
  throw new AgentdiffError('USAGE', `not a digest: ${JSON.stringify(text)}`, {
    hint: 'a digest is 64 lower-case hex digits, as `agentdiff show` and sha256sum print them',
  });
}

/** What is not intact weighs more than what could not be judged. */
function statusOf(verdicts: readonly CapsuleVerdict[]): number {
  if (verdicts.some(({ verdict }) => verdict === 'fails')) return EXIT.findings;
  return verdicts.every(({ verdict }) => verdict === 'holds') ? EXIT.done : EXIT.refused;
}
