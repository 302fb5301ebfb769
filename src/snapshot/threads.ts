import { type MessagePort, MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { ByteString } from '../core/index.ts';
import type { IndexNotes, StatIndex } from '../store/index.ts';
import type { ReadRequest, ReadResult } from './reading.ts';
import { takeTurns, TURN } from './turns.ts';
import { UnmovedCheck, type Verdicts } from './unmoved.ts';

/** What a thread is told at its start. */
export interface ThreadData {
  readonly port: MessagePort;
  /** Counted up, with a notification, when a thread has something to tell. */
  readonly signal: Int32Array<SharedArrayBuffer>;
}

export type ThreadTask =
  | {
      readonly do: 'check';
      readonly index: SharedArrayBuffer;
      readonly notes: IndexNotes;
      readonly prefix: string;
      readonly hasWriteTimes: boolean;
      readonly verdicts: Verdicts;
      readonly turns: Int32Array<SharedArrayBuffer>;
    }
  | { readonly do: 'read'; readonly id: number; readonly root: ByteString; readonly request: ReadRequest };

export interface ThreadAnswer {
  readonly id: number;
  /** Undefined when the thread could not: whoever asked does it. */
  readonly result: ReadResult | undefined;
}

/** From how much work on the threads are worth their start, which takes some 35 ms: looks of a check, files to be read. */
export interface WorthThreads {
  readonly looks: number;
  readonly files: number;
}

const WORTH: WorthThreads = { looks: 20_000, files: 1_000 };

/** So many requests wait at a thread, 2 MiB each: it must not run dry while this one, which does everything else, is at a directory without files. */
const QUEUED = 8;

/**
 * A thread that says nothing for so long (ms) counts as lost; what it was asked to do is done by the scan itself then. It is a matter of speed
 * only: the answer that comes late is the same or not used.
 */
const PATIENCE_MS = 2000;

interface Thread {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly queued: Set<number>;
  isLost: boolean;
}

/**
 * Threads beside the one that scans, for looking at entries and reading small files. They are started when they are first needed, and do not keep the process
 * alive. What they do is done without them as well, in more time.
 */
export class ScanThreads {
  readonly #program: URL;
  readonly #count: number;
  readonly #worth: WorthThreads;
  readonly #signal = new Int32Array(new SharedArrayBuffer(4));
  #threads: Thread[] | undefined;
  #nextId = 1;

  /**
   * @param program the bundled `thread.ts`
   * @param count how many; one less than there are processors is a good number
   */
  constructor(program: URL, count: number, worth: WorthThreads = WORTH) {
    this.#worth = worth;
    this.#program = program;
    this.#count = count;
  }

  /** Starts them now if they are worth it for so many looks: they take a while to be ready. */
  prepare(looks: number): void {
    if (this.areWorth({ looks, files: 0 })) this.#started();
  }

  areWorth({ looks, files }: WorthThreads): boolean {
    return looks >= this.#worth.looks || files >= this.#worth.files;
  }

  /** Ends them; the next use starts others. */
  close(): void {
    for (const { worker, port } of this.#threads ?? []) {
      port.close();
      void worker.terminate();
    }
    this.#threads = undefined;
  }

  /**
   * Checks all directories of the index; this thread takes its turns too.
   * @returns false when a thread was given up: it may still write into the verdicts, so a copy of them has to be used
   */
  check(
    index: StatIndex,
    prefix: string,
    hasWriteTimes: boolean,
    verdicts: Verdicts,
    onTurn: (from: number, to: number) => void,
  ): boolean {
    const { buffer, notes, counts } = index;
    const turns = new Int32Array(new SharedArrayBuffer(3 * 4));
    const task: ThreadTask = { do: 'check', index: buffer, notes, prefix, hasWriteTimes, verdicts, turns };
    for (const { port } of this.#started()) port.postMessage(task);
    takeTurns(new UnmovedCheck(index, prefix, hasWriteTimes, verdicts), counts.dirs, turns, onTurn);
    for (;;) {
      const ended = Atomics.load(turns, TURN.ended);
      // One that begins only now finds no turn left.
      if (Atomics.load(turns, TURN.begun) === ended) return true;
      if (Atomics.wait(turns, TURN.ended, ended, PATIENCE_MS) === 'timed-out') return false;
    }
  }

  /** @returns a number for the answer; undefined when every thread has enough to do */
  submit(root: ByteString, request: ReadRequest): number | undefined {
    const thread = this.#started().find(({ queued, isLost }) => !isLost && queued.size < QUEUED);
    if (thread === undefined) return undefined;
    const id = this.#nextId++;
    thread.queued.add(id);
    const task: ThreadTask = { do: 'read', id, root, request };
    thread.port.postMessage(task, [request.stats.buffer]);
    return id;
  }

  /** Answers that have come. */
  collect(): ThreadAnswer[] {
    const answers: ThreadAnswer[] = [];
    for (const { port, queued } of this.#threads ?? []) {
      for (;;) {
        const received: { message: ThreadAnswer } | undefined = receiveMessageOnPort(port);
        if (received === undefined) break;
        if (queued.delete(received.message.id)) answers.push(received.message);
      }
    }
    return answers;
  }

  /** Waits until there is an answer; `undefined` results stand for requests of threads that are lost. */
  wait(): ThreadAnswer[] {
    for (;;) {
      const seen = Atomics.load(this.#signal, 0);
      const answers = this.collect();
      if (answers.length > 0) return answers;
      if (Atomics.wait(this.#signal, 0, seen, PATIENCE_MS) === 'timed-out') return this.#giveUp();
    }
  }

  #giveUp(): ThreadAnswer[] {
    const lost: ThreadAnswer[] = [];
    for (const thread of this.#threads ?? []) {
      if (thread.queued.size === 0) continue;
      thread.isLost = true;
      for (const id of thread.queued) lost.push({ id, result: undefined });
      thread.queued.clear();
    }
    return lost;
  }

  #started(): Thread[] {
    this.#threads ??= Array.from({ length: this.#count }, () => this.#start());
    return this.#threads;
  }

  #start(): Thread {
    const { port1, port2 } = new MessageChannel();
    const data: ThreadData = { port: port2, signal: this.#signal };
    const worker = new Worker(this.#program, { workerData: data, transferList: [port2], execArgv: [] });
    // It fails on its own: whoever waits for it has other ways.
    worker.on('error', () => undefined);
    worker.unref();
    port1.unref();
    return { worker, port: port1, queued: new Set(), isLost: false };
  }
}
