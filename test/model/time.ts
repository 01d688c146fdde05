/**
 * Virtual time: one queue of tasks for a whole world, run one by one, everything that a task brings about having come to
 * rest before the next. Nothing in a world waits for a real clock, so a month passes in a second, and the same seed
 * brings the same order.
 *
 * It does not know whose tasks they are: an owner says whether it can run at the moment.
 */

// Taken before anybody fakes a clock.
const macrotask = setImmediate;

/** Who a task belongs to. */
export interface Owner {
  /** What was due while this could not run; it is for the owner to take up again. Undefined: it runs. */
  readonly deferred: Task[] | undefined;
  /** It runs no more: its tasks are dropped. */
  readonly isGone: boolean;
  /** Called around each task. */
  enter?(): void;
}

export interface Task {
  /** When it was due at first: true time, epoch ms. */
  dueAt: number;
  readonly owner: Owner | undefined;
  /** A task may be put off when its time has come: the later instant, or undefined to run. */
  readonly postpone: ((at: number) => number | undefined) | undefined;
  /** Undefined: done, or cancelled. */
  run: (() => void) | undefined;
  /** Its place in the queue; an entry that is not its task's is of the past. */
  entry?: Entry;
}

interface Entry {
  at: number;
  readonly order: number;
  readonly task: Task;
}

/** Tasks at one instant: more is a loop that never ends. */
const MOST_AT_ONCE = 20_000;
/** Tasks in a span, and for each minute of it: more is a loop without rest. */
const MOST_IN_SPAN = 20_000;
const MOST_IN_MINUTE = 600;

export interface Time {
  /** True time, which is the service's: epoch ms. */
  readonly nowMs: number;
  /** Tasks run so far. */
  readonly steps: number;
  /** Run `run` in `ms`. */
  after(ms: number, run: () => void, owner?: Owner, postpone?: Task['postpone']): Task;
  cancel(task: Task | undefined): void;
  /** Take up again a task that was held back or put off: when it was due at first, or now. */
  requeue(task: Task): void;
  /** Work outside virtual time (the operator's answer): the next task waits until it is done. */
  outside<T>(work: Promise<T>): Promise<T>;
  /** Let `ms` pass. Rejects where tasks at one instant never end. */
  advance(ms: number): Promise<void>;
  /** Let everything that is under way at this instant, but for tasks, come about. */
  turn(): Promise<void>;
  /** Let the device sleep: what is due comes `ms` later than it would have; where not `shifting`, all at once afterwards. */
  sleep(ms: number, shifting: boolean): void;
}

/** Start at `startAt`, epoch ms. */
export const createTime = (startAt: number): Time => {
  let nowMs = startAt;
  let steps = 0;
  let order = 0;
  const heap: Entry[] = [];
  let working = 0;

  const isBefore = (a: Entry, b: Entry) => a.at < b.at || (a.at === b.at && a.order < b.order);
  const push = (task: Task, at: number) => {
    const entry: Entry = { at, order: order++, task };
    task.entry = entry;
    let i = heap.length;
    heap.push(entry);
    while (i > 0) {
      const up = (i - 1) >> 1;
      if (!isBefore(entry, heap[up]!)) break;
      heap[i] = heap[up]!;
      i = up;
    }
    heap[i] = entry;
  };
  const pop = (): Entry => {
    const first = heap[0]!;
    const last = heap.pop()!;
    if (!heap.length) return first;
    let i = 0;
    for (;;) {
      let down = 2 * i + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && isBefore(heap[down + 1]!, heap[down]!)) down++;
      if (!isBefore(heap[down]!, last)) break;
      heap[i] = heap[down]!;
      i = down;
    }
    heap[i] = last;
    return first;
  };

  const runOne = (entry: Entry) => {
    const { task } = entry;
    const { run, owner, postpone } = task;
    if (!run || task.entry !== entry || owner?.isGone) return;
    if (owner?.deferred) {
      owner.deferred.push(task);
      return;
    }
    const later = postpone?.(entry.at);
    if (later !== undefined && later > nowMs) {
      push(task, later);
      return;
    }
    task.run = undefined;
    // The disk's own tasks are nobody's: fake-indexeddb asks again and again whether a connection is closed.
    if (owner) steps++;
    owner?.enter?.();
    run();
  };

  /** Microtasks run between two macrotasks; work outside is waited for. */
  const turn = () =>
    new Promise<void>((resolve) => {
      let quiet = 0;
      const step = () => {
        if (working) quiet = 0;
        else quiet++;
        if (quiet > 1) resolve();
        else macrotask(step);
      };
      macrotask(step);
    });

  return {
    get nowMs() {
      return nowMs;
    },
    get steps() {
      return steps;
    },
    after: (ms, run, owner, postpone) => {
      const dueAt = nowMs + Math.max(0, ms);
      const task: Task = { dueAt, owner, postpone, run };
      push(task, dueAt);
      return task;
    },
    cancel: (task) => {
      if (task) task.run = undefined;
    },
    requeue: (task) => push(task, Math.max(task.dueAt, nowMs)),
    outside: (work) => {
      working++;
      return work.finally(() => working--);
    },
    turn,
    advance: (ms) => {
      const end = nowMs + ms;
      const most = steps + MOST_IN_SPAN + (ms / 60_000) * MOST_IN_MINUTE;
      return new Promise<void>((resolve, reject) => {
        let atOnce = 0;
        const step = () => {
          if (working) {
            macrotask(step);
            return;
          }
          if (steps > most) {
            reject(new Error(`a loop without rest: ${MOST_IN_SPAN} tasks in ${nowMs - end + ms} ms`));
            return;
          }
          if (!heap.length || heap[0]!.at > end) {
            nowMs = end;
            turn().then(resolve);
            return;
          }
          const entry = pop();
          if (entry.at > nowMs) atOnce = 0;
          else if (++atOnce > MOST_AT_ONCE) {
            reject(new Error('tasks without end at one instant'));
            return;
          }
          nowMs = Math.max(nowMs, entry.at);
          try {
            runOne(entry);
          } catch (error) {
            reject(error as Error);
            return;
          }
          macrotask(step);
        };
        turn().then(step);
      });
    },
    sleep: (ms, shifting) => {
      nowMs += ms;
      if (!shifting) return;
      for (const entry of heap) {
        entry.at += ms;
        if (entry.task.entry === entry) entry.task.dueAt += ms;
      }
    },
  };
};
