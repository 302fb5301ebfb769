import { type Digest, invariant, isMarked, type Name, toBytes } from '../../core/index.ts';
import { modeWithKind, type Stat } from '../../fs/index.ts';
import {
  type Columns,
  CONTENT,
  type Counts,
  DIGEST_BYTES,
  DIR_FLAG,
  FLAG,
  LEVEL_SHIFT,
  SHAPES,
} from './columns.ts';
import { StatIndex } from './stat-index.ts';

type Group = 'rows' | 'dirs' | 'nameBytes';

const GROUPS: readonly Group[] = ['rows', 'dirs', 'nameBytes'];

/** The columns of each group but the names. */
function columnsOf(group: Group): readonly (keyof Columns)[] {
  const grown: Counts = { rows: 0, dirs: 0, nameBytes: 0, [group]: 1 };
  const none: Counts = { rows: 0, dirs: 0, nameBytes: 0 };
  return (Object.keys(SHAPES) as (keyof Columns)[]).filter(
    (name) => SHAPES[name].length(grown) > SHAPES[name].length(none),
  );
}

/**
 * Builds a stat index in walk order: a directory is begun, gets all of its rows, and then the directories among them follow, each with all
 * that is below it. Numbers of rows and directories are those that the index will have.
 */
export class IndexBuilder {
  readonly #rulesId: string;
  readonly #racyFromNs: bigint;
  readonly #like: StatIndex;
  readonly #devices: Numbers;
  readonly #rules: Numbers;
  readonly #groups = new Map(GROUPS.map((group) => [group, columnsOf(group)]));
  readonly #used = { rows: 0, dirs: 0, nameBytes: 0 };
  readonly #capacity = { rows: 0, dirs: 0, nameBytes: 0 };
  readonly #columns: { -readonly [K in keyof Columns]: Columns[K] };

  /**
   * @param rulesId names the capture rules and limits of the scan
   * @param racyFromNs what was touched at or after this moment will not be relied on
   * @param like the index before: of about the size to be expected, and the only one that is copied from
   */
  constructor(rulesId: string, racyFromNs: bigint, like: StatIndex) {
    this.#rulesId = rulesId;
    this.#racyFromNs = racyFromNs;
    this.#like = like;
    this.#devices = new Numbers(like.notes.devices);
    this.#rules = new Numbers(like.notes.rules.length === 0 ? [''] : like.notes.rules);
    const columns: Partial<Record<keyof Columns, unknown>> = {};
    for (const [name, { make, bytes, length }] of Object.entries(SHAPES)) {
      const size = length(this.#capacity);
      columns[name as keyof Columns] = make(new ArrayBuffer(size * bytes), 0, size);
    }
    this.#columns = columns as unknown as Columns;
    for (const group of GROUPS) this.#reserve(group, Math.ceil(like.counts[group] * 1.05) + 64);
  }

  /** Rows so far. */
  get rows(): number {
    return this.#used.rows;
  }

  get dirs(): number {
    return this.#used.dirs;
  }

  get columns(): Readonly<Columns> {
    return this.#columns;
  }

  /** A row without content; undefined `stat`: nothing but the name is known. */
  addRow(name: Name, stat: Stat | undefined): number {
    const row = this.#used.rows;
    this.#reserve('rows', 1);
    this.#used.rows++;
    this.#addName(row, name);
    this.setStat(row, stat);
    return row;
  }

  /** Replaces what is known of a row; its content is unknown again. */
  setStat(row: number, stat: Stat | undefined): void {
    const c = this.#columns;
    c.directory[row] = 0;
    c.rule[row] = 0;
    c.content[row] = CONTENT.unknown;
    c.digest.fill(0, row * DIGEST_BYTES, (row + 1) * DIGEST_BYTES);
    c.flags[row] = stat === undefined ? FLAG.unseen : stat.ctimeNs >= this.#racyFromNs ? FLAG.racy : 0;
    c.mode[row] = stat === undefined ? 0 : modeWithKind(stat);
    c.size[row] = stat?.size ?? 0;
    c.nlink[row] = Math.min(stat?.nlink ?? 0, 0xffffffff);
    c.uid[row] = stat?.uid ?? 0;
    c.gid[row] = stat?.gid ?? 0;
    c.dev[row] = this.#devices.of(String(stat?.dev ?? 0));
    const ino = BigInt.asUintN(64, stat?.ino ?? 0n);
    c.inoLow[row] = Number(ino & 0xffffffffn);
    c.inoHigh[row] = Number(ino >> 32n);
    [c.mtimeMs[row], c.mtimeNs[row]] = toMs(stat?.mtimeNs ?? 0n);
    [c.ctimeMs[row], c.ctimeNs[row]] = toMs(stat?.ctimeNs ?? 0n);
  }

  setDigest(row: number, digest: Digest, kept: boolean): void {
    this.#columns.content[row] = CONTENT.digest;
    Buffer.from(this.#columns.digest.buffer).write(digest, row * DIGEST_BYTES, 'hex');
    this.setFlag(row, kept ? FLAG.kept : 0);
  }

  /** @param value the size column's value, for a symlink or a device */
  setContent(row: number, content: number, value?: number): void {
    this.#columns.content[row] = content;
    if (value !== undefined) this.#columns.size[row] = value;
  }

  /** @param reason a number that the caller gives it */
  setUnknown(row: number, reason: number): void {
    this.#columns.content[row] = CONTENT.unknown;
    this.#columns.digest[row * DIGEST_BYTES] = reason;
  }

  setFlag(row: number, flag: number): void {
    this.#columns.flags[row] = (this.#columns.flags[row] ?? 0) | flag;
  }

  lower(row: number, level: number, rule: string): void {
    this.setFlag(row, FLAG.lowered | (level << LEVEL_SHIFT));
    this.#columns.rule[row] = this.#rules.of(rule);
  }

  /** Begins the directory that is the entry `row`. */
  addDirectory(row: number, parent: number, level: number, rule: string): number {
    const directory = this.#used.dirs;
    this.#reserve('dirs', 1);
    this.#used.dirs++;
    const c = this.#columns;
    c.directory[row] = directory;
    c.dirRow[directory] = row;
    c.dirFirst[directory] = this.#used.rows;
    c.dirFirst[directory + 1] = this.#used.rows;
    c.dirParent[directory] = parent;
    c.dirLevel[directory] = level;
    c.dirRule[directory] = this.#rules.of(rule);
    c.dirFlags[directory] = 0;
    return directory;
  }

  lookAgain(directory: number): void {
    this.#columns.dirFlags[directory] = (this.#columns.dirFlags[directory] ?? 0) | DIR_FLAG.lookAgain;
  }

  /** Takes back the last directory and its rows: it came to nothing. */
  removeLastDirectory(): void {
    const directory = this.#used.dirs - 1;
    const c = this.#columns;
    this.#used.rows = c.dirFirst[directory] ?? 0;
    this.#used.nameBytes = c.nameEnd[this.#used.rows - 1] ?? 0;
    this.#used.dirs = directory;
    c.directory[c.dirRow[directory] ?? 0] = 0;
  }

  /** Copies a row of the index before; a directory among them has yet to be entered. */
  copyRow(from: number): number {
    const row = this.#used.rows;
    this.#copyRows(from, from + 1);
    this.#columns.directory[row] = 0;
    this.#noteBytes(row);
    return row;
  }

  /** Copies all that is below a directory of the index before, as the directory that is the entry `row` here. */
  copySubtree(from: number, row: number, parent: number): void {
    const old = this.#like.columns;
    const to = old.dirEnd[from] ?? 0;
    const firstRow = old.dirFirst[from] ?? 0;
    const directory = this.#used.dirs;
    const [rowShift, dirShift] = [this.#used.rows - firstRow, directory - from];
    this.#copyRows(firstRow, old.dirFirst[to] ?? 0);
    this.#reserve('dirs', to - from);
    this.#used.dirs += to - from;
    const c = this.#columns;
    for (const name of ['dirRule', 'dirLevel', 'dirFlags'] as const)
      c[name].set(old[name].subarray(from, to), directory);
    for (let at = from; at < to; at++) {
      const now = at + dirShift;
      c.dirFirst[now] = (old.dirFirst[at] ?? 0) + rowShift;
      // The top one's own row and parent are not among what is copied.
      if (at === from) continue;
      const own = (old.dirRow[at] ?? 0) + rowShift;
      c.dirRow[now] = own;
      c.dirParent[now] = (old.dirParent[at] ?? 0) + dirShift;
      c.directory[own] = now;
    }
    c.dirFirst[this.#used.dirs] = this.#used.rows;
    c.dirParent[directory] = parent;
    c.dirRow[directory] = row;
    c.directory[row] = directory;
    const oldRow = old.dirRow[from] ?? 0;
    c.content[row] = CONTENT.digest;
    c.digest.set(old.digest.subarray(oldRow * DIGEST_BYTES, (oldRow + 1) * DIGEST_BYTES), row * DIGEST_BYTES);
  }

  finish(): StatIndex {
    const c = this.#columns;
    for (let at = this.#used.dirs - 1; at >= 0; at--) {
      const end = Math.max(c.dirEnd[at] ?? 0, at + 1);
      c.dirEnd[at] = end;
      if (at === 0) break;
      const parent = c.dirParent[at] ?? 0;
      c.dirEnd[parent] = Math.max(c.dirEnd[parent] ?? 0, end);
    }
    c.dirFirst[this.#used.dirs] = this.#used.rows;
    const notes = {
      devices: this.#devices.texts,
      rules: this.#rules.texts,
      rulesId: this.#rulesId,
      packs: [],
    };
    return StatIndex.make({ ...this.#used }, notes, (columns) => {
      for (const name of Object.keys(SHAPES) as (keyof Columns)[])
        columns[name].set(c[name].subarray(0, columns[name].length));
    });
  }

  #copyRows(from: number, to: number): void {
    const count = to - from;
    if (count <= 0) return;
    const old = this.#like.columns;
    const row = this.#used.rows;
    this.#reserve('rows', count);
    this.#used.rows += count;
    const c = this.#columns;
    for (const name of this.#groups.get('rows') ?? []) {
      const width = name === 'digest' ? DIGEST_BYTES : 1;
      c[name].set(old[name].subarray(from * width, to * width), row * width);
    }
    const names = old.names.subarray(old.nameEnd[from - 1] ?? 0, old.nameEnd[to - 1]);
    const shift = this.#used.nameBytes - (old.nameEnd[from - 1] ?? 0);
    this.#reserve('nameBytes', names.length);
    this.#columns.names.set(names, this.#used.nameBytes);
    this.#used.nameBytes += names.length;
    for (let at = row; at < this.#used.rows; at++) c.nameEnd[at] = (c.nameEnd[at] ?? 0) + shift;
  }

  #addName(row: number, name: Name): void {
    const start = this.#used.nameBytes;
    // A character takes three bytes at most; a marked name one for each.
    this.#reserve('nameBytes', name.length * 3);
    const names = Buffer.from(this.#columns.names.buffer);
    const length = isMarked(name) ? toBytes(name).copy(names, start) : names.write(name, start);
    this.#used.nameBytes += length;
    this.#columns.nameEnd[row] = this.#used.nameBytes;
    this.#noteBytes(row);
  }

  /** Marks the directory that is being filled when the name of the row is more than ASCII. */
  #noteBytes(row: number): void {
    const { names, nameEnd, dirFlags } = this.#columns;
    const directory = this.#used.dirs - 1;
    for (let at = nameEnd[row - 1] ?? 0; directory >= 0 && at < (nameEnd[row] ?? 0); at++) {
      if ((names[at] ?? 0) < 0x80) continue;
      dirFlags[directory] = (dirFlags[directory] ?? 0) | DIR_FLAG.notAscii;
      return;
    }
  }

  #reserve(group: Group, count: number): void {
    const wanted = this.#used[group] + count;
    if (wanted <= this.#capacity[group]) return;
    this.#capacity[group] = Math.max(wanted, Math.ceil(this.#capacity[group] * 1.5));
    const columns: Record<string, unknown> = this.#columns;
    for (const name of this.#groups.get(group) ?? []) {
      const { make, bytes, length } = SHAPES[name];
      const size = length(this.#capacity);
      const grown = make(new ArrayBuffer(size * bytes), 0, size);
      grown.set(this.#columns[name]);
      columns[name] = grown;
    }
  }
}

/** Texts that are referred to by number. */
class Numbers {
  readonly texts: string[];
  readonly #numbers: Map<string, number>;

  constructor(texts: readonly string[]) {
    this.texts = [...texts];
    this.#numbers = new Map(texts.map((text, number) => [text, number]));
  }

  of(text: string): number {
    let number = this.#numbers.get(text);
    if (number !== undefined) return number;
    number = this.texts.length;
    invariant(number < 2 ** 16, 'a number for a device or a rule has two bytes');
    this.texts.push(text);
    this.#numbers.set(text, number);
    return number;
  }
}

const SECOND = 1_000_000_000n;

/** A time as Node reports it in milliseconds, and its part below a second. */
function toMs(time: bigint): [ms: number, ns: number] {
  let seconds = Math.floor(Number(time) / 1e9);
  let ns = Number(time - BigInt(seconds) * SECOND);
  // The quotient of so large a number can be one off.
  if (ns < 0) [seconds, ns] = [seconds - 1, ns + 1e9];
  if (ns >= 1e9) [seconds, ns] = [seconds + 1, ns - 1e9];
  return [seconds * 1000 + ns / 1e6, ns];
}
