import { AgentdiffError, type Digest, errnoOf, type Name } from '../core/index.ts';
import type { Dir, OpenFile } from '../fs/index.ts';
import { reading } from './failures.ts';
import { isPackIndexName, packOfIndex } from './layout.ts';
import { FILE } from './layout.ts';
import { type IndexRoom, LazyIndex } from './lazy-index.ts';
import { type Place, tryOpenDir } from './place.ts';

/** Bytes of indexes that one reader keeps in memory: some 1.4 million objects. Further ones are looked into on the disk. */
const INDEX_ROOM = 64 << 20;

/** One pack that was listed. */
interface Pack {
  readonly index: Name;
  /** Undefined until a question reached it, and when it cannot be opened. */
  lazy: LazyIndex | undefined;
  /** `damaged`: it is there and cannot be used. `gone`: it was removed since the listing. */
  state: 'unopened' | 'open' | 'damaged' | 'gone';
  readonly open: () => OpenFile | undefined;
}

/** The packs of one workspace, as far as this reader has listed them. Each index is opened when a question reaches it. */
export class Packs {
  readonly #workspace: Dir | undefined;
  readonly #room: IndexRoom = { left: INDEX_ROOM };
  #dir: Dir | undefined;
  #packs: Pack[] | undefined;

  constructor(workspace: Dir | undefined) {
    this.#workspace = workspace;
  }

  /**
   * Every place where a pack may hold the object, newest first; the first one is the cheapest to ask again. What lies there has to be compared
   * with the digest: an index says `isVerified` only when its checksum was compared.
   */
  *places(digest: Digest): Generator<Place> {
    for (const pack of this.#listed()) {
      const span = this.#ask(pack, (lazy) => lazy.find(digest));
      const { lazy, open } = pack;
      if (lazy === undefined || span === undefined) continue;
      this.#moveFirst(pack);
      yield { name: lazy.pack, ...span, isVerified: lazy.isWhole, open };
    }
  }

  /** Looks for packs that were finished or removed since the last look. */
  refresh(): void {
    const known = new Map(this.#packs?.map((pack) => [pack.index, pack]));
    this.#dir ??=
      this.#workspace && reading('packs', () => this.#workspace && tryOpenDir(this.#workspace, FILE.packs));
    const names = reading('packs', () => this.#dir?.names() ?? []).filter(isPackIndexName);
    const listed = new Set(names);
    const kept = (this.#packs ?? []).filter(({ index, state }) => state !== 'gone' && listed.has(index));
    // Names sort by time: what is asked for was mostly stored lately.
    const fresh = names.filter((name) => known.get(name) === undefined).reverse();
    this.#packs = [...fresh.map((name) => this.#unopened(name)), ...kept];
  }

  /** Whether a pack that was listed has been removed: its objects may lie in a newer one. */
  hasLost(): boolean {
    return this.#packs?.some(({ state }) => state === 'gone') ?? false;
  }

  /**
   * Compares the checksum of every index: only then is what none of them names absent.
   * @throws STORE_DAMAGED when one of them is not what was written: the object may be listed there
   */
  refuseIfDamaged(digest: Digest): void {
    const packs = this.#listed();
    for (const pack of packs) {
      if (this.#ask(pack, (lazy) => lazy.verify()) === false) pack.state = 'damaged';
    }
    const damaged = packs.filter(({ state }) => state === 'damaged').map(({ index }) => index);
    const [first] = damaged;
    if (first === undefined) return;
    throw new AgentdiffError(
      'STORE_DAMAGED',
      `object ${digest} cannot be looked up: the pack index ${first} is damaged`,
      {
        hint: 'objects that only this index lists are out of reach; everything in other packs can still be read',
        data: { object: digest, indexes: damaged },
      },
    );
  }

  close(): void {
    this.#dir?.close();
    this.#dir = undefined;
  }

  #listed(): Pack[] {
    if (this.#packs === undefined) this.refresh();
    return this.#packs ?? [];
  }

  #unopened(index: Name): Pack {
    const open = (): OpenFile | undefined => this.#dir?.openFile(packOfIndex(index));
    return { index, lazy: undefined, state: 'unopened', open };
  }

  /** Asks the index of a pack. One that cannot be read is damaged, one that is not there any more is gone: both have no answer. */
  #ask<T>(pack: Pack, question: (lazy: LazyIndex) => T): T | undefined {
    const dir = this.#dir;
    if (pack.state === 'gone' || dir === undefined) return undefined;
    try {
      if (pack.state === 'unopened') {
        pack.lazy = new LazyIndex(dir, pack.index, this.#room);
        pack.state = 'open';
      }
      return pack.lazy && question(pack.lazy);
    } catch (error) {
      // With its pack, an index is removed on purpose. Anything else leaves open what it lists.
      const isGone = errnoOf(error) === 'ENOENT' && dir.tryLstat(pack.index) === undefined;
      pack.state = isGone ? 'gone' : 'damaged';
      return undefined;
    }
  }

  /** The next object is mostly in the same pack. */
  #moveFirst(pack: Pack): void {
    if (this.#packs === undefined || this.#packs[0] === pack) return;
    this.#packs = [pack, ...this.#packs.filter((other) => other !== pack)];
  }
}
