import type { RelPath } from '../core/index.ts';
import type { Decided, Decision, Policy } from './document.ts';
import { matcherOf } from './glob.ts';

const SEVERITY: Record<Decision, number> = { allow: 0, review: 1, deny: 2 };

/**
 * Decides about changes by their path: `deny` over `review` over `allow`, whatever the order of the rules; of rules that say the same,
 * the first gives its name; the policy's default when no rule matches.
 * @throws USAGE when the policy holds a glob that is not one
 */
export function changeDecisions(policy: Policy): (change: { readonly path: RelPath }) => Decided {
  const rules = policy.paths.rules
    .map((rule) => ({
      decided: { decision: rule.decision, rule: rule.rule },
      matches: matcherOf(rule),
    }))
    .sort((a, b) => SEVERITY[b.decided.decision] - SEVERITY[a.decided.decision]);
  const byDefault: Decided = { decision: policy.paths.default, rule: 'default' };
  return ({ path }) => rules.find((rule) => rule.matches(path))?.decided ?? byDefault;
}

/** The most severe of the decisions; `allow` when there is none. */
export function worstOf(decisions: Iterable<Decision>): Decision {
  let worst: Decision = 'allow';
  for (const decision of decisions) if (SEVERITY[decision] > SEVERITY[worst]) worst = decision;
  return worst;
}
