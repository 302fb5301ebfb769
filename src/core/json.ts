import canonicalize from 'canonicalize';
import { AgentdiffError, invariant } from './errors.ts';

/** The one encoding whose bytes are hashed: RFC 8785 (JSON Canonicalization Scheme). */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  invariant(text !== undefined, 'only JSON values can be canonicalised');
  return text;
}

/** Deeper documents are refused before they are parsed; ours nest less than ten levels. */
const MAX_DEPTH = 64;

/**
 * Parses JSON of unknown origin. The depth is counted before the parser runs, because a deep enough text would end it.
 * Callers bound the length before they read the bytes.
 * @throws CAPSULE_INVALID with `what` in the message
 */
export function parseJson(text: string, what: string): unknown {
  if (depthOf(text) > MAX_DEPTH)
    throw new AgentdiffError('CAPSULE_INVALID', `${what}: nested deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AgentdiffError('CAPSULE_INVALID', `${what}: not valid JSON`, { cause });
  }
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x5b || c === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x5d || c === 0x7d) depth--;
  }
  return deepest;
}
