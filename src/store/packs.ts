import { AgentdiffError, type Digest, errnoOf, type Name } from '../core/index.ts';
import { type Dir, type OpenFile, readSmallFile } from '../fs/index.ts';
import { reading } from './failures.ts';
import { FILE, isPackIndexName, packOfIndex } from './layout.ts';
import { PackIndex } from './pack-index.ts';
import { type Place, tryOpenDir } from './place.ts';

/** 2^31 bytes index some 40 million objects. */
const MAX_INDEX_BYTES = 2 ** 31;

interface Pack {
  readonly name: Name;
  readonly index: PackIndex;
}

/** The packs of one workspace, as far as this reader has listed them. */
export class Packs {
  readonly #workspace: Dir | undefined;
  #dir: Dir | undefined;
  #packs: Pack[] | undefined;
  /** Indexes that are there and cannot be used: what they list is neither present nor absent. */
  readonly #damaged = new Set<Name>();
  readonly #listed = new Set<Name>();

  constructor(workspace: Dir | undefined) {
    this.#workspace = workspace;
  }

  /** Every place where a pack holds the object; the first one is the cheapest to ask again. */
  *places(digest: Digest): Generator<Place> {
    const packs = this.#loaded();
    for (let i = 0; i < packs.length; i++) {
      const pack = packs[i];
      const span = pack?.index.find(digest);
      if (pack === undefined || span === undefined) continue;
      this.#moveFirst(i);
      yield { name: pack.name, ...span, open: () => this.#open(pack) };
    }
  }

  has(digest: Digest): boolean {
    const packs = this.#loaded();
    const found = packs.findIndex((pack) => pack.index.find(digest) !== undefined);
    this.#moveFirst(found);
    return found !== -1;
  }

  /** Looks for packs that were finished since the last look. */
  refresh(): void {
    const packs = this.#packs ?? [];
    const fresh = reading('packs', () => this.#unlisted());
    // Newest first: what is asked for was mostly stored lately.
    for (const name of fresh) this.#load(name, packs);
    this.#packs = packs;
  }

  /** @throws STORE_DAMAGED when an index could not be read: the object may be listed there */
  refuseIfDamaged(digest: Digest): void {
    const [first] = this.#damaged;
    if (first === undefined) return;
    throw new AgentdiffError(
      'STORE_DAMAGED',
      `object ${digest} cannot be looked up: the pack index ${first} is damaged`,
      {
        hint: 'the objects of that pack are out of reach; everything in other packs can still be read',
        data: { object: digest, indexes: [...this.#damaged] },
      },
    );
  }

  close(): void {
    this.#dir?.close();
    this.#dir = undefined;
  }

  /** The next object is mostly in the same pack. */
  #moveFirst(index: number): void {
    if (index > 0) this.#packs?.unshift(...this.#packs.splice(index, 1));
  }

  #loaded(): Pack[] {
    if (this.#packs === undefined) this.refresh();
    return this.#packs ?? [];
  }

  #unlisted(): Name[] {
    this.#dir ??= this.#workspace && tryOpenDir(this.#workspace, FILE.packs);
    return this.#dir?.names().filter((name) => isPackIndexName(name) && !this.#listed.has(name)) ?? [];
  }

  #load(name: Name, packs: Pack[]): void {
    const dir = this.#dir;
    if (dir === undefined) return;
    this.#listed.add(name);
    try {
      const index = PackIndex.parse(readSmallFile(dir, name, MAX_INDEX_BYTES));
      const pack = packOfIndex(name);
      if (index === undefined || dir.lstat(pack).size !== index.packLength) this.#damaged.add(name);
      else packs.unshift({ name: pack, index });
    } catch (error) {
      // Both files gone since the listing: the pack was removed. Anything else leaves open what it held.
      if (errnoOf(error) !== 'ENOENT' || dir.tryLstat(name) !== undefined) this.#damaged.add(name);
    }
  }

  #open(pack: Pack): OpenFile | undefined {
    return this.#dir?.openFile(pack.name);
  }
}
