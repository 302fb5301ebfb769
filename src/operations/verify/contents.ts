import type { ChangeRecord } from '../../capsule/index.ts';
import { type Digest, lossyText, type RelPath } from '../../core/index.ts';
import type { WorkspaceStore } from '../../store/index.ts';
import { type Claim, claim, type Finding } from './claim.ts';

/** So many contents are asked for together, to be read in the order in which they lie. */
const AT_ONCE = 4096;

/** Looks for the contents that the changes of one capsule need to be taken back, and hashes them. Memory does not grow with the changes. */
export class ContentCheck {
  readonly #store: WorkspaceStore;
  readonly #findings: Finding[] = [];
  #paths: RelPath[] = [];
  #digests: Digest[] = [];
  #checked = 0;

  constructor(store: WorkspaceStore) {
    this.#store = store;
  }

  add({ path, before, recoverable }: ChangeRecord): void {
    const state = before?.state;
    if (!recoverable || state?.content.is !== 'digest' || state.kind === 'directory') return;
    this.#paths.push(path);
    this.#digests.push(state.content.digest);
    if (this.#digests.length === AT_ONCE) this.#check();
  }

  /** When every change was added. */
  claim(): Claim {
    this.#check();
    const detail =
      this.#checked === 0
        ? 'no content is needed to take these changes back'
        : `${this.#checked} kept contents are there with their digests`;
    return claim('objects-present', this.#findings, detail);
  }

  #check(): void {
    for (const [i, found] of this.#store.objects.checkEach(this.#digests).entries()) {
      if (found === 'present') continue;
      const where = lossyText(this.#paths[i] ?? '');
      this.#findings.push({ code: found, where, what: `its kept content is ${found}` });
    }
    this.#checked += this.#digests.length;
    this.#paths = [];
    this.#digests = [];
  }
}
