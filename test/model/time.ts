/**
 * Virtual time: one queue of tasks for a whole profile. Tasks run one by one, and all promise callbacks of a task run before
 * the next task. Nothing waits for a real clock, so a month passes in seconds, and the same seed produces the same order.
 *
 * It does not know what a page is: the owner of a task says whether it can run.
 */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const START = Date.UTC(2030, 0, 15, 12);

/** Captured before a test replaces the timers. */
const macrotask = setImmediate;

/** The owner of a task. */
export interface Owner {
  /** Tasks that fell due while the owner could not run; it requeues them. Undefined: the owner can run. */
  readonly deferred: Task[] | undefined;
  /** Whether it is gone: its tasks are dropped. */
  readonly isGone: boolean;
  /** Called before each task. */
  enter?(): void;
}

export interface Task {
  /** When it was first due, by the true time, epoch ms. */
  dueAt: number;
  readonly owner: Owner | undefined;
  /** Called when the task is due: returns a later time, or undefined to run it. */
  readonly postpone: ((at: number) => number | undefined) | undefined;
  /** Undefined: finished or cancelled. */
  run: (() => void) | undefined;
  /** Its current queue entry; other entries of the task are obsolete. */
  entry?: Entry;
}

interface Entry {
  at: number;
  readonly order: number;
  readonly task: Task;
}

/** Maximum number of tasks at one instant: more are an endless loop. */
const MOST_AT_ONCE = 20_000;
/** Maximum number of tasks in a span, and in addition for each minute of it: more are a busy loop. */
const MOST_IN_SPAN = 20_000;
const MOST_IN_MINUTE = 600;

export interface Time {
  /** The true time, which is the service's, epoch ms. */
  readonly nowMs: number;
  /** Number of tasks run so far. */
  readonly steps: number;
  /** Run `run` after `ms`. */
  after(ms: number, run: () => void, owner?: Owner, postpone?: Task['postpone']): Task;
  cancel(task: Task | undefined): void;
  /** Queue a deferred or postponed task again: at its first due time, or now. */
  requeue(task: Task): void;
  /** Let the next task wait for work outside virtual time, such as the operator's answer. */
  outside<T>(work: Promise<T>): Promise<T>;
  /** Advance by `ms`, or until `isOver`. Rejects if tasks form a loop. */
  advance(ms: number, isOver?: () => boolean): Promise<void>;
  /** Wait for all promise callbacks and outside work at this instant. */
  turn(): Promise<void>;
  /** Let the device sleep for `ms`: tasks are shifted by `ms` if `shifting`, else those that fell due run at once afterwards. */
  sleep(ms: number, shifting: boolean): void;
}

/** Create virtual time that starts at `startAt`, epoch ms. */
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
    // Tasks of the database have no owner and are not counted: fake-indexeddb polls for closed connections.
    if (owner) steps++;
    owner?.enter?.();
    run();
  };

  /** All microtasks run between two macrotasks. */
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
    advance: (ms, isOver = () => false) => {
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
            reject(new Error(`a busy loop: ${MOST_IN_SPAN} tasks in ${nowMs - end + ms} ms`));
            return;
          }
          if (!heap.length || heap[0]!.at > end || isOver()) {
            if (!isOver()) nowMs = end;
            turn().then(resolve);
            return;
          }
          const entry = pop();
          if (entry.at > nowMs) atOnce = 0;
          else if (++atOnce > MOST_AT_ONCE) {
            reject(new Error('an endless loop of tasks at one instant'));
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
