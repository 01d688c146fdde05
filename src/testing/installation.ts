/**
 * Puts virtual time in the place of this process's timers and clocks, and takes it away again.
 *
 * Replaced: `setTimeout`, `setInterval` and their `clear` functions, `Date`, `performance.now`. Everything else stays real:
 * promises, `setImmediate`, `queueMicrotask`, Web Crypto.
 */

import type { VirtualTime } from './virtual-time.ts';

/** What `setTimeout` returns: an object as in Node that converts to a number as in browsers. */
interface TimerHandle {
  ref(): TimerHandle;
  unref(): TimerHandle;
  hasRef(): boolean;
  [Symbol.toPrimitive](): number;
}

/** A testbed has the clock of this process: there is one. */
let isInstalled = false;

/**
 * Replace a property of an object.
 *
 * @returns a function that puts back what was there.
 */
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

/**
 * Install virtual time in this process.
 *
 * @returns a function that restores timers and clocks. Timers that still wait never fire.
 * @throws {Error} if it is installed already.
 */
export function installTime(time: VirtualTime): () => void {
  if (isInstalled)
    throw new Error(
      'createTestbed: expected no other open testbed in this process; call close() of that one, for example in afterEach',
    );
  const handles = new WeakMap<object, number>();
  const handleOf = (id: number): TimerHandle => {
    const handle: TimerHandle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      [Symbol.toPrimitive]: () => id,
    };
    handles.set(handle, id);
    return handle;
  };
  const { clearTimeout: realClear } = globalThis;
  const clear = (handle: unknown) => {
    const id = typeof handle === 'object' && handle ? handles.get(handle) : handle;
    if (typeof id === 'number' && time.clear(id)) return;
    // A timer from before the installation, or of somebody who keeps the real functions.
    if (handle !== undefined && !(typeof handle === 'object' && handle && handles.has(handle)))
      realClear(handle as number);
  };
  const restores = [
    replace(globalThis, 'setTimeout', (...given: [unknown]) => handleOf(time.setTimeout(...given))),
    replace(globalThis, 'setInterval', (...given: [unknown]) => handleOf(time.setInterval(...given))),
    replace(globalThis, 'clearTimeout', clear),
    replace(globalThis, 'clearInterval', clear),
    replace(globalThis, 'Date', virtualDate(time.deviceNow)),
    replace(performance, 'now', time.elapsedMs),
  ];
  isInstalled = true;
  return () => {
    for (const restore of restores) restore();
    isInstalled = false;
  };
}

/** `Date` with another present; dates made from arguments, and `instanceof`, are as before. */
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
