import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
} from 'yaml';

/** Where in the text something is wrong, and with what. */
export interface TextProblem {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** In the document: `capture[0].level`; empty for the document itself. */
  readonly place: string;
  readonly message: string;
}

/** Keys and indices from the top of the document. */
export type DocumentPath = readonly (string | number)[];

/** A text that was read: plain JSON values, and where each of them stands. */
export interface YamlText {
  readonly value: unknown;
  /** The position of the value at `path`, else of the nearest thing around it; with `key`, that of this key of the mapping there. */
  problem(path: DocumentPath, message: string, key?: string): TextProblem;
}

/**
 * Reads one YAML 1.2 document, and so JSON too, with the core schema. What can say something else than it seems to, or grow when it is read, is a problem:
 * duplicate keys, keys that are no texts, anchors and aliases, tags, `<<`, other versions of YAML, further documents.
 * @returns the problems when there is one, in the order of the text
 */
export function readYaml(text: string): YamlText | { readonly problems: readonly TextProblem[] } {
  const lines = new LineCounter();
  const at: ProblemAt = (offset, place, message) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1), place, message };
  };
  try {
    return readDocument(text, lines, at);
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error;
    return { problems: [at(0, '', 'nested too deeply')] };
  }
}

type ProblemAt = (offset: number, place: string, message: string) => TextProblem;

function readDocument(text: string, lines: LineCounter, at: ProblemAt): ReturnType<typeof readYaml> {
  // Keys are compared by the reader below: here it takes time that grows with the square of their number.
  const options = {
    uniqueKeys: false,
    stringKeys: true,
    resolveKnownTags: false,
    prettyErrors: false,
  } as const;
  const document = parseDocument(text, {
    ...options,
    version: '1.2',
    schema: 'core',
    merge: false,
    logLevel: 'error',
    lineCounter: lines,
  });
  const syntax = [...document.errors, ...document.warnings];
  if (syntax.length > 0) {
    return { problems: syntax.map(({ pos, message }) => at(pos[0], '', `not YAML: ${firstLine(message)}`)) };
  }
  const reader = new Reader(at);
  if (document.directives?.yaml.version !== '1.2') reader.problems.push(at(0, '', 'YAML 1.2 is expected'));
  const value = reader.read(document.contents, []);
  if (reader.problems.length > 0) return { problems: reader.problems };
  return {
    value,
    problem: (path, message, key) => at(offsetOf(document, path, key), placeOf(path), message),
  };
}

/** Turns nodes into plain values, and collects what is not to be in them. */
class Reader {
  readonly problems: TextProblem[] = [];
  readonly #at: ProblemAt;

  constructor(at: ProblemAt) {
    this.#at = at;
  }

  read(node: unknown, path: DocumentPath): unknown {
    if (!isNode(node)) return null;
    if (isAlias(node)) return this.#refuse(node, path, 'an alias is not read: write the value again');
    if (node.anchor !== undefined) return this.#refuse(node, path, 'an anchor is not read');
    if (node.tag !== undefined) return this.#refuse(node, path, 'a tag is not read');
    if (isSeq(node)) return node.items.map((item, index) => this.read(item, [...path, index]));
    if (isMap(node)) return this.#mapping(node.items, path);
    return isScalar(node) ? node.value : null;
  }

  #mapping(items: readonly Pair[], path: DocumentPath): object {
    const entries: [string, unknown][] = [];
    const seen = new Set<string>();
    for (const { key, value } of items) {
      this.read(key, path);
      const name = isScalar(key) && typeof key.value === 'string' ? key.value : undefined;
      if (name === undefined) this.#refuse(key, path, 'a key must be a text');
      else if (seen.has(name)) this.#refuse(key, [...path, name], 'this key stands here twice');
      else if (name === '<<') this.#refuse(key, path, 'a merge key is not read: write the values out');
      else {
        seen.add(name);
        entries.push([name, this.read(value, [...path, name])]);
      }
    }
    // Own properties whatever their name, `__proto__` too.
    return Object.fromEntries(entries);
  }

  #refuse(node: unknown, path: DocumentPath, message: string): undefined {
    this.problems.push(this.#at(startOf(node) ?? 0, placeOf(path), message));
    return undefined;
  }
}

function isNode(node: unknown): node is Node & { anchor?: string; tag?: string } {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node);
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function offsetOf({ contents }: Document, path: DocumentPath, key?: string): number {
  let node: unknown = contents;
  let offset = startOf(node) ?? 0;
  for (const part of path) {
    if (isSeq(node) && typeof part === 'number') node = node.items[part];
    else if (isMap(node)) node = pairOf(node.items, part)?.value ?? pairOf(node.items, part)?.key;
    else return offset;
    offset = startOf(node) ?? offset;
  }
  const named = key !== undefined && isMap(node) ? startOf(pairOf(node.items, key)?.key) : undefined;
  return named ?? offset;
}

function pairOf(items: readonly Pair[], name: string | number): Pair | undefined {
  return items.find(({ key }) => isScalar(key) && key.value === name);
}

function placeOf(path: DocumentPath): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}
