/** Chunks of rows that a source has put down: tells workers when there is one to claim, one worker for each. */

export interface Supply {
  /** Rows were put down. */
  add(count: number): void;
  /** No more will be put down. */
  end(): void;
  readonly ended: boolean;
  /** Wait for a whole chunk that no other worker was told of, or for the end. */
  next(): Promise<void>;
}

export const createSupply = (chunk: number): Supply => {
  let ready = 0;
  let ended = false;
  const waiting: (() => void)[] = [];
  const wake = () => {
    while (waiting.length > 0 && (ended || ready >= chunk)) {
      ready -= chunk;
      waiting.shift()!();
    }
  };
  return {
    add: (count) => {
      ready += count;
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
};
