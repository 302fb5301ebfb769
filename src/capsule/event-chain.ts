import { AgentdiffError, digestOf } from '../core/index.ts';
import { type EventDocument, NO_PREVIOUS_LINE } from './format.ts';

/** Holds a list of events to its chain: numbered, each naming the line before, begun and ended as a whole. */
export class EventChain {
  #previous: string = NO_PREVIOUS_LINE;
  #count = 0;
  #isEnded = false;

  /**
   * @param text the event's own line, without its newline
   * @throws CAPSULE_INVALID with `data.problem: 'broken-chain'`
   */
  add(event: EventDocument, text: string): void {
    this.#count++;
    if (this.#isEnded) refuse('an event after the seal');
    if (event.seq !== this.#count) refuse(`numbered ${event.seq}`);
    if (event.prev !== this.#previous) refuse('does not name the line before');
    if ((event.type === 'run-started') !== (this.#count === 1))
      refuse('a run starts once, with its first event');
    this.#previous = digestOf(text);
    this.#isEnded = event.type === 'sealing';
  }

  /** @throws as {@link add}, when the last event is not the seal */
  end(): void {
    if (!this.#isEnded) refuse('the last event is not the seal');
  }
}

function refuse(why: string): never {
  throw new AgentdiffError('CAPSULE_INVALID', why, { data: { problem: 'broken-chain' } });
}
