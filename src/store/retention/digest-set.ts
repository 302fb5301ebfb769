import { type Digest, invariant } from '../../core/index.ts';

const LENGTH = 32;
const FIRST_SLOTS = 1 << 10;

/** Many digests in little memory: a million take some 70 MB at most, where a Set of strings takes twice that and more. */
export class DigestSet {
  #slots = FIRST_SLOTS;
  #table = Buffer.alloc(FIRST_SLOTS * LENGTH);
  #taken = new Uint8Array(FIRST_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(digest: Digest): boolean {
    return this.#taken[this.#find(Buffer.from(digest, 'hex'))] === 1;
  }

  /** @returns whether it is new */
  add(digest: Digest): boolean {
    const bytes = Buffer.from(digest, 'hex');
    invariant(bytes.length === LENGTH, 'a digest has 32 bytes');
    if (!this.#insert(bytes)) return false;
    if (this.#size * 3 > this.#slots * 2) this.#grow();
    return true;
  }

  #insert(bytes: Buffer): boolean {
    const slot = this.#find(bytes);
    if (this.#taken[slot] === 1) return false;
    this.#taken[slot] = 1;
    bytes.copy(this.#table, slot * LENGTH);
    this.#size++;
    return true;
  }

  /** The slot of the digest, or the free one where it belongs. Digests are evenly spread, so their first bytes are hash enough. */
  #find(bytes: Buffer): number {
    let slot = bytes.readUInt32LE(0) % this.#slots;
    while (this.#taken[slot] === 1) {
      const at = slot * LENGTH;
      if (bytes.compare(this.#table, at, at + LENGTH) === 0) return slot;
      slot = (slot + 1) % this.#slots;
    }
    return slot;
  }

  #grow(): void {
    const [table, taken, slots] = [this.#table, this.#taken, this.#slots];
    this.#slots = slots * 2;
    this.#table = Buffer.alloc(this.#slots * LENGTH);
    this.#taken = new Uint8Array(this.#slots);
    this.#size = 0;
    for (let slot = 0; slot < slots; slot++) {
      if (taken[slot] === 1) this.#insert(table.subarray(slot * LENGTH, (slot + 1) * LENGTH));
    }
  }
}
