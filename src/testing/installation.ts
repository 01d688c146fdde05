/**
 * Replaces `setTimeout`, `setInterval` and their `clear` functions, `AbortSignal.timeout`, `Date` and `performance.now` with
 * virtual time. Everything else stays real: promises, `setImmediate`, `queueMicrotask`, Web Crypto.
 */

import { MAX_TIMER_MS } from '../token/checks.ts';
import type { Timer, VirtualTime } from './virtual-time.ts';

/** The return value of `setTimeout`: an object as in Node that converts to a number as in browsers. */
interface TimerHandle {
  ref(): TimerHandle;
  unref(): TimerHandle;
  hasRef(): boolean;
  refresh(): TimerHandle;
  close(): TimerHandle;
  [Symbol.toPrimitive](): number;
}

/** A testbed uses the clock of this process, so only one can be open. */
let isInstalled = false;

/** Returns a function that restores the previous property. */
export function replace(owner: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, {
    value,
    configurable: true,
    writable: true,
    enumerable: before?.enumerable ?? true,
  });
  return () => {
    if (before) Object.defineProperty(owner, name, before);
    else delete (owner as Record<string, unknown>)[name];
  };
}

/** Throw an Error if this process already has another clock than its own. */
export function checkNotInstalled(): void {
  if (isInstalled)
    throw new Error(
      'createTestbed: expected no other open testbed in this process; call close() of that one, for example in afterEach',
    );
  // Test runners and Sinon leave enumerable marks on what they replace. Zone.js, which fakes nothing by itself, marks `setTimeout` too.
  if (Object.keys(Date).length > 0 || 'clock' in setTimeout || '_isMockFunction' in setTimeout)
    throw new Error(
      'createTestbed: expected real timers, got mocked ones: it brings its own clock; call vi.useRealTimers(), jest.useRealTimers() or mock.timers.reset() before',
    );
}

/** The key under which Node keeps the result of `util.promisify(setTimeout)`, as a property of `setTimeout`. */
const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom');

function pauseOf(time: VirtualTime) {
  return <T>(ms?: number, value?: T, { signal }: { readonly signal?: AbortSignal } = {}): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const { id } = time.setTimeout(() => resolve(value), ms);
      const onAbort = () => {
        time.clear(id);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
}

function timeoutOf(time: VirtualTime) {
  return (ms: number): AbortSignal => {
    const controller = new AbortController();
    const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    time.setTimeout(() => controller.abort(reason), Math.min(ms, MAX_TIMER_MS));
    return controller.signal;
  };
}

/** Returns a function that restores timers and clocks. @throws {Error} if virtual time is already installed. */
export function installTime(time: VirtualTime): () => void {
  checkNotInstalled();
  const handles = new WeakMap<object, number>();
  const handleOf = (timer: Timer): TimerHandle => {
    const { id } = timer;
    const handle: TimerHandle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      refresh: () => {
        time.restart(timer);
        return handle;
      },
      close: () => {
        clear(handle);
        return handle;
      },
      [Symbol.toPrimitive]: () => id,
    };
    handles.set(handle, id);
    return handle;
  };
  const { clearTimeout: realClear } = globalThis;
  const clear = (handle: unknown) => {
    const id = typeof handle === 'object' && handle ? handles.get(handle) : handle;
    if (typeof id === 'number' && time.clear(id)) return;
    // A timer from before the installation, or from code that kept the real functions.
    if (handle !== undefined && !(typeof handle === 'object' && handle && handles.has(handle)))
      realClear(handle as number);
  };
  const virtualTimeout = Object.assign((...given: [unknown]) => handleOf(time.setTimeout(...given)), {
    [PROMISIFIED]: pauseOf(time),
  });
  const restores = [
    replace(globalThis, 'setTimeout', virtualTimeout),
    replace(globalThis, 'setInterval', (...given: [unknown]) => handleOf(time.setInterval(...given))),
    replace(globalThis, 'clearTimeout', clear),
    replace(globalThis, 'clearInterval', clear),
    replace(AbortSignal, 'timeout', timeoutOf(time)),
    replace(globalThis, 'Date', virtualDate(time.deviceNow)),
    replace(performance, 'now', time.elapsedMs),
  ];
  isInstalled = true;
  return () => {
    for (const restore of restores) restore();
    isInstalled = false;
  };
}

/** `Date` with a different current time. Dates created from arguments, and `instanceof`, work as before. */
function virtualDate(now: () => number): DateConstructor {
  const RealDate = Date;
  const replacement: DateConstructor = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length > 0 ? given : [now()], newTarget === replacement ? target : newTarget),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  });
  return replacement;
}
