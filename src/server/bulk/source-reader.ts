/** Reads a source item by item, and tells when the items read so far have waited long enough for the rest of their batch. */

import type { Source } from './batch.ts';

/** Time after which an incomplete batch is passed on, ms. */
const FILL_TIMEOUT_MS = 1_000;

type Step<T> = IteratorResult<T>;

export interface SourceReader<T> {
  /**
   * An array or a generator has the next item at once and needs no promise. Undefined if the time for the batch has passed: a
   * later call returns the item.
   */
  next(): Step<T> | Promise<Step<T> | undefined>;
  startBatch(): void;
  /** Close the source. Waits for it, unless its next item is outstanding. */
  close(): Promise<void>;
}

/** Start a timer that does not keep the process alive. */
function startTimer(): { readonly elapsed: Promise<undefined>; clear(): void } {
  let timer: unknown;
  const elapsed = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), FILL_TIMEOUT_MS);
  });
  // Only Node has it.
  (timer as { unref?(): void }).unref?.();
  return { elapsed, clear: () => clearTimeout(timer as number) };
}

/** Start reading a source. The time for the first batch starts now. */
export function createSourceReader<T>(source: Source<T>): SourceReader<T> {
  const iterator: { next(): Step<T> | Promise<Step<T>>; return?(): unknown } =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let outstanding: Promise<Step<T>> | undefined;
  let timer = startTimer();
  let isEnded = false;

  const take = (step: Step<T> | undefined): Step<T> | undefined => {
    if (!step) return undefined;
    outstanding = undefined;
    isEnded = step.done === true;
    return step;
  };
  return {
    next: () => {
      const step = outstanding ?? iterator.next();
      if (!('then' in step)) return take(step)!;
      outstanding = step;
      return Promise.race([step, timer.elapsed]).then(take);
    },
    startBatch: () => {
      timer.clear();
      timer = startTimer();
    },
    close: async () => {
      timer.clear();
      // A source whose next item is outstanding must not block. One that has ended needs no `return`.
      const closing = isEnded ? undefined : iterator.return?.();
      if (outstanding) Promise.resolve(closing).catch(() => {});
      else await closing;
    },
  };
}
