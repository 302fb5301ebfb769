/** The full reading of one text of a capsule: bytes, canonical form, schema, and what the schema cannot say. */
import { AgentdiffError, canonicalJson, fromBytes, isMarked, parseJson } from '../core/index.ts';
import { fromChangeDocument } from './documents.ts';
import type { ChangeRecord, MemberName } from './format.ts';
import { changeSchema, parseWith } from './schema.ts';

/** One line of the list of changes, held to form and schema in full. */
export function readChangeLine(bytes: Buffer, line: number): ChangeRecord {
  const { value } = parseCanonical(bytes, 'changes.jsonl', line);
  const document = parseWith(changeSchema, value, 'changes.jsonl', line);
  return locate('changes.jsonl', line, () => fromChangeDocument(document));
}

/** The documents' bytes are canonical: every document has one text, so no key is doubled, no blank added, no second spelling used. */
export function parseCanonical(
  bytes: Buffer,
  member: MemberName,
  line?: number,
): { value: unknown; text: string } {
  return locate(member, line, () => {
    const text = fromBytes(bytes);
    if (isMarked(text)) throw new AgentdiffError('CAPSULE_INVALID', 'not valid UTF-8');
    const value = parseJson(text, member);
    if (!isCanonical(value, text))
      throw new AgentdiffError('CAPSULE_INVALID', 'not in canonical form (RFC 8785)');
    return { value, text };
  });
}

function isCanonical(value: unknown, text: string): boolean {
  try {
    return canonicalJson(value) === text;
  } catch {
    // Lone surrogates have no canonical form.
    return false;
  }
}

/** Adds to an error where it was found. */
export function locate<T>(member: MemberName, line: number | undefined, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof AgentdiffError)) throw error;
    const place = line === undefined ? member : `${member}, line ${line}`;
    throw new AgentdiffError(error.code, `${place}: ${error.message}`, {
      ...(error.hint !== undefined && { hint: error.hint }),
      data: { problem: 'invalid', ...error.data, member, ...(line !== undefined && { line }) },
      cause: error,
    });
  }
}
