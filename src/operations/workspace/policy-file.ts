import { AgentdiffError } from '../../core/index.ts';
import { POLICY_FILE, type Root } from './root.ts';

/**
 * This version has one built-in policy and cannot read a policy file. One with anything in it is refused rather than ignored: its author
 * expects it to hold. An empty one marks a workspace root.
 * @throws POLICY_UNSUPPORTED
 */
export function refusePolicyFile({ dir }: Root): void {
  const seen = dir.tryLstat(POLICY_FILE);
  if (seen === undefined || (seen.kind === 'file' && seen.size === 0)) return;
  throw new AgentdiffError(
    'POLICY_UNSUPPORTED',
    `${POLICY_FILE} holds a policy, and this version cannot read policy files`,
    {
      hint: 'empty the file (it then only marks the root), or move it away',
    },
  );
}
