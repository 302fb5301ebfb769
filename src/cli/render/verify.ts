import type { CapsuleVerdict, Unjudged } from '../../operations/verify.ts';
import { escapeText } from '../../core/index.ts';
import { errorDocument } from './error.ts';
import { jsonBytes, jsonLine } from './json.ts';
import type { Style } from './style.ts';
import { escapeControls, lines, showPlace, table } from './words.ts';

/** Said wherever integrity is reported. */
export const NOT_AUTHENTIC =
  'intact is not authentic: who can rewrite a capsule can rewrite its checksums too. Keep the capsule digest elsewhere and ' +
  'give it to `agentdiff verify --expect DIGEST`, or keep the store where the command cannot reach it.';

const VERDICTS = { holds: 'no check fails', fails: 'A CHECK FAILS', unsupported: 'not supported' } as const;

export function renderVerify(verdicts: readonly (CapsuleVerdict | Unjudged)[], style: Style): string {
  const linesOf = (one: CapsuleVerdict | Unjudged): string[] =>
    one.verdict === 'not-judged' ? unjudgedLines(one, style) : verdictLines(one, style);
  return lines([...verdicts.flatMap(linesOf), NOT_AUTHENTIC]);
}

function unjudgedLines({ ref, error }: Unjudged, style: Style): string[] {
  const { message, code, hint } = error;
  return [
    `${escapeText(ref)}: ${style.bad('not judged')}`,
    `  ${escapeControls(message)} [${code}]`,
    ...(hint === undefined ? [] : [`  ${escapeControls(hint)}`]),
  ];
}

/** The claims of one capsule, each on its own line, findings below. */
export function verdictLines(capsule: CapsuleVerdict, style: Style): string[] {
  const { ref, runId, location, verdict, claims, digest, problem } = capsule;
  const colour = verdict === 'holds' ? style.good : style.bad;
  const rows = table(claims.map(({ claim, status, detail }) => [claim, status, escapeControls(detail)]));
  return [
    `${runId ?? escapeText(ref)}: ${colour(VERDICTS[verdict])}  ${showPlace(location)}`,
    ...(problem === undefined ? [] : [`  ${escapeControls(problem)}`]),
    ...(digest === undefined ? [] : [`  digest ${digest}`]),
    ...claims.flatMap(({ findings }, i) => [
      `  ${rows[i] ?? ''}`,
      ...findings.map(({ code, where, what }) => {
        const place = where === undefined ? '' : `${escapeText(where)}: `;
        return `    ${style.bad(escapeText(code))}  ${place}${escapeControls(what)}`;
      }),
    ]),
  ];
}

export function renderVerifyJson(verdicts: readonly (CapsuleVerdict | Unjudged)[]): string {
  const capsules = verdicts.map((one) =>
    one.verdict === 'not-judged'
      ? { ref: one.ref, verdict: one.verdict, ...errorDocument(one.error) }
      : verdictDocument(one),
  );
  return jsonLine({ capsules, note: NOT_AUTHENTIC });
}

export function verdictDocument({ location, claims, ...rest }: CapsuleVerdict): object {
  const findings = (all: CapsuleVerdict['claims'][number]['findings']): object[] =>
    all.map(({ where, ...finding }) => ({
      ...finding,
      ...(where === undefined ? {} : { where: jsonBytes(where) }),
    }));
  const documents = claims.map((claim) => ({ ...claim, findings: findings(claim.findings) }));
  return { ...rest, location: jsonBytes(location), claims: documents };
}
