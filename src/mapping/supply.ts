/** Chunks of rows that a source has put down: tells workers when there is one to claim, one worker for each. */

export interface Supply {
  /** Rows were put down. */
  add(count: number): void;
  /** Hand out what there is, though it is no whole chunk: the source is slow. */
  release(): void;
  /** No more will be put down. */
  end(): void;
  readonly ended: boolean;
  /** Wait for a whole chunk that no other worker was told of, for what was released, or for the end. */
  next(): Promise<void>;
}

export function createSupply(chunk: number): Supply {
  let ready = 0;
  // Rows that are enough for a worker.
  let enough = chunk;
  let ended = false;
  const waiting: (() => void)[] = [];
  const wake = () => {
    while (waiting.length > 0 && (ended || ready >= enough)) {
      ready = Math.max(0, ready - chunk);
      if (ready === 0) enough = chunk;
      waiting.shift()!();
    }
  };
  return {
    add: (count) => {
      ready += count;
      wake();
    },
    release: () => {
      if (ready > 0) enough = 1;
      wake();
    },
    end: () => {
      ended = true;
      wake();
    },
    get ended() {
      return ended;
    },
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        wake();
      }),
  };
}
