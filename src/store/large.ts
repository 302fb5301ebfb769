import type { Digest, Name } from '../core/index.ts';
import type { Dir } from '../fs/index.ts';
import { reading } from './failures.ts';
import { FILE, largePlace } from './layout.ts';
import { type Place, tryOpenDir } from './place.ts';

/** The large objects of one workspace. Each folder is listed once, so that asking for small objects costs no system calls. */
export class LargeObjects {
  readonly #workspace: Dir | undefined;
  #dir: Dir | undefined;
  readonly #listed = new Map<Name, ReadonlySet<string>>();

  constructor(workspace: Dir | undefined) {
    this.#workspace = workspace;
  }

  has(digest: Digest): boolean {
    return this.#names(largePlace(digest).folder).has(digest);
  }

  /** The place of the object; undefined when it is not there (any more). */
  place(digest: Digest): Place | undefined {
    if (!this.has(digest)) return undefined;
    const { folder, name } = largePlace(digest);
    const length = reading(`large/${folder}`, () => this.#within(folder, (dir) => dir.tryLstat(name)?.size));
    if (length === undefined) return undefined;
    return {
      name,
      offset: 0,
      length,
      isVerified: true,
      open: () => this.#within(folder, (dir) => dir.openFile(name)),
    };
  }

  /** Forgets what was listed. */
  refresh(): void {
    this.#listed.clear();
  }

  close(): void {
    this.#dir?.close();
    this.#dir = undefined;
  }

  #names(folder: Name): ReadonlySet<string> {
    const known = this.#listed.get(folder);
    if (known !== undefined) return known;
    const names = new Set<string>(
      reading(`large/${folder}`, () => this.#within(folder, (dir) => dir.names())),
    );
    this.#listed.set(folder, names);
    return names;
  }

  #within<T>(folder: Name, use: (dir: Dir) => T): T | undefined {
    this.#dir ??= this.#workspace && tryOpenDir(this.#workspace, FILE.large);
    const dir = this.#dir && tryOpenDir(this.#dir, folder);
    try {
      return dir && use(dir);
    } finally {
      dir?.close();
    }
  }
}
