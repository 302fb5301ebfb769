/** The program of a {@link ScanThreads} thread. It shares the process's open files, so it reaches the root by the same path as the scan. */
import { workerData } from 'node:worker_threads';
import { Dir } from '../fs/index.ts';
import { StatIndex } from '../store/index.ts';
import { readFiles, type ReadResult } from './reading.ts';
import type { ThreadAnswer, ThreadData, ThreadTask } from './threads.ts';
import { takeTurns, TURN } from './turns.ts';
import { UnmovedCheck } from './unmoved.ts';

const { port, signal } = workerData as ThreadData;

port.on('message', (task: ThreadTask) => {
  if (task.do === 'check') check(task);
  else read(task);
});

function check({
  index,
  notes,
  prefix,
  hasWriteTimes,
  verdicts,
  turns,
}: Extract<ThreadTask, { do: 'check' }>): void {
  Atomics.add(turns, TURN.begun, 1);
  try {
    const shared = StatIndex.shared(index, notes);
    takeTurns(
      new UnmovedCheck(shared, prefix, hasWriteTimes, verdicts),
      shared.counts.dirs,
      turns,
      () => undefined,
    );
  } finally {
    Atomics.add(turns, TURN.ended, 1);
    Atomics.notify(turns, TURN.ended);
  }
}

function read({ id, root, request }: Extract<ThreadTask, { do: 'read' }>): void {
  const answer: ThreadAnswer = { id, result: tryRead(root, request) };
  const { result } = answer;
  port.postMessage(
    answer,
    result === undefined ? [] : [result.outcomes.buffer, result.digests.buffer, result.content.buffer],
  );
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
}

function tryRead(
  root: string,
  request: Extract<ThreadTask, { do: 'read' }>['request'],
): ReadResult | undefined {
  let dir: Dir | undefined;
  try {
    dir = Dir.open(root);
    return readFiles(dir, request);
  } catch {
    return undefined;
  } finally {
    dir?.close();
  }
}
