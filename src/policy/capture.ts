import type { LevelDecision, LevelRules } from '../snapshot/index.ts';
import type { Policy } from './document.ts';
import { matcherOf } from './glob.ts';
import { looksSecret } from './secret-names.ts';

/**
 * The policy's capture rules as the function that a scan takes: of the rules that match an entry or a directory above it, the first
 * wins; level `content` by rule `default` when there is none. Which rule spoke for the directory above is told by the identity of that
 * decision, so the scan passes on the very object that it got.
 * @throws USAGE when the policy holds a glob that is not one
 */
export function captureLevels(policy: Policy): LevelRules {
  const rules = policy.capture.map((rule) => ({
    decision: { level: rule.level, rule: rule.rule } satisfies LevelDecision,
    secret:
      rule.secrets && ({ level: rule.secrets, rule: `${rule.rule}, looks secret` } satisfies LevelDecision),
    matches: matcherOf(rule),
    when: rule.when,
  }));
  const order = new Map<LevelDecision, number>(rules.map(({ decision }, index) => [decision, index]));
  const byDefault: LevelDecision = { level: 'content', rule: 'default' };
  return (path, kind, siblings, parent) => {
    const above = order.get(parent) ?? rules.length;
    for (const [index, { decision, secret, matches, when }] of rules.entries()) {
      if (index === above)
        return kind === 'file' && secret !== undefined && looksSecret(path) ? secret : parent;
      if (when !== undefined && kind !== when.kind) continue;
      if (!matches(path)) continue;
      const beside = when?.beside;
      if (beside === undefined || siblings.some((name) => name === beside)) return decision;
    }
    return byDefault;
  };
}
