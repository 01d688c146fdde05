/**
 * One page of a browser profile: the globals that the real session code runs against. It simulates visibility, timers that
 * are throttled or stopped, and the page lifecycle: frozen, cached, restored, killed. It does not know what a session is.
 */

import { createDecipheriv, webcrypto } from 'node:crypto';
import type { SessionModule } from './bundle.ts';
import { createTarget, eventOf } from './event-target.ts';
import type { Availability, Receiver } from './locks-and-channels.ts';
import type { Random } from './random.ts';
import type { OnUse } from './storage.ts';
import type { Task, Time } from './time.ts';

/** What the pages of a profile share. */
export interface PageEnvironment {
  readonly time: Time;
  readonly random: Random;
  readonly load: (page: object) => SessionModule;
  /** The device's wall clock, epoch ms. */
  wall(): number;
  /** The device's monotonic clock, ms. */
  mono(): number;
  readonly locks: {
    of(owner: Receiver, leave: () => Availability): unknown;
    drop(owner: Receiver): void;
    isHeldBy(owner: Receiver): boolean;
  };
  readonly locksAvailability: Availability;
  readonly channels: {
    of(owner: Receiver, leave: Availability, onThrow: (error: unknown) => void): unknown;
    drop(owner: Receiver): void;
  };
  readonly channelAvailability: Availability;
  readonly storage: { of(owner: Receiver, onUse: OnUse): unknown; drop(owner: Receiver): void } | undefined;
  readonly network: { of(owner: Receiver): unknown; drop(owner: Receiver): void };
  /** Called with an error that a handler of the page threw. */
  onThrow(error: unknown): void;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;
const TAG_LENGTH = 16;

/** The part of Web Crypto that the session uses, over Node's AES: without threads, so that runs can be repeated exactly. */
const subtle = {
  // An object rather than bytes: plain bytes would select noble.
  importKey: async (_: string, raw: Uint8Array) => ({ raw }),
  decrypt: async ({ iv }: { iv: Uint8Array }, { raw }: { raw: Uint8Array }, sealed: Uint8Array) => {
    const decipher = createDecipheriv('aes-256-gcm', raw, iv);
    const end = sealed.length - TAG_LENGTH;
    decipher.setAuthTag(sealed.subarray(end));
    const plain = Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
    return plain.buffer.slice(plain.byteOffset, plain.byteOffset + plain.length);
  },
};

/**
 * Open a page.
 *
 * @param onUse  called when the page uses its storage.
 */
export const createPage = (environment: PageEnvironment, visible: boolean, onUse: OnUse) => {
  const { time, random, onThrow } = environment;
  let isVisible = visible;
  let deferred: Task[] | undefined;
  let isCached = false;
  let isSuspended = false;
  let goneAt = Number.POSITIVE_INFINITY;
  let isGone = false;
  let throttleMs = 1000;
  let areTimersStopped = false;
  /** How long the page had been able to run at `since`, ms. */
  let ranMs = 0;
  let since = time.nowMs;
  const ran = () => ranMs + (deferred || isGone ? 0 : time.nowMs - since);
  const openedAt = environment.mono();
  const windowEvents = createTarget(onThrow);
  const documentEvents = createTarget(onThrow);
  const timers = new Map<number, Task>();
  let timerIds = 1;

  const owner: Receiver = {
    get deferred() {
      return deferred;
    },
    get isGone() {
      return isGone;
    },
    get isCached() {
      return isCached;
    },
    get isSuspended() {
      return isSuspended;
    },
    onMessageWhileCached: () => kill(),
  };

  const fireWindow = (type: string, more: object = {}) => windowEvents.fire(eventOf(type, page, more));
  const fireDocument = (type: string) => {
    const event = eventOf(type, document);
    windowEvents.fire(event, true);
    documentEvents.fire(event);
    windowEvents.fire(event, false);
  };

  const postpone = (at: number) => {
    if (areTimersStopped) return Number.POSITIVE_INFINITY;
    return isVisible ? undefined : Math.ceil(Math.max(at, time.nowMs) / throttleMs) * throttleMs;
  };
  const arm = (run: () => void, ms: number): number => {
    const id = timerIds++;
    // As in browsers, a delay that is not a number or exceeds 2^31-1 ms counts as 0.
    const span = Number(ms) > 0 && Number(ms) <= LONGEST_TIMER_MS ? Math.floor(Number(ms)) : 0;
    const fire = () => {
      timers.delete(id);
      try {
        run();
      } catch (error) {
        onThrow(error);
      }
    };
    timers.set(id, time.after(Math.max(1, span), fire, owner, postpone));
    return id;
  };
  const disarm = (id: unknown) => {
    time.cancel(timers.get(id as number));
    timers.delete(id as number);
  };

  /** Browsers define the accessor on the prototype of every document. */
  const OwnDocument = () => {};
  OwnDocument.prototype = {
    get visibilityState() {
      return isVisible ? 'visible' : 'hidden';
    },
  };
  const document = {
    __proto__: OwnDocument.prototype,
    prerendering: false,
    wasDiscarded: false,
    addEventListener: documentEvents.addEventListener,
    removeEventListener: documentEvents.removeEventListener,
  };
  const OwnDate = class extends Date {
    static override now() {
      return Math.floor(environment.wall());
    }
  };
  const page: Record<string, unknown> = {
    document,
    Document: OwnDocument,
    navigator: {
      locks:
        environment.locksAvailability === 'missing'
          ? undefined
          : environment.locks.of(owner, () => environment.locksAvailability),
      onLine: true,
      userAgent: 'model',
    },
    Date: OwnDate,
    performance: { now: () => environment.mono() - openedAt, timeOrigin: 0 },
    Math: Object.create(Math, { random: { value: () => random.next() } }),
    crypto: {
      subtle,
      getRandomValues: (bytes: Uint8Array) => bytes.map((_, i) => (bytes[i] = random.integer(0, 255))),
      randomUUID: () => webcrypto.randomUUID(),
    },
    setTimeout: arm,
    clearTimeout: disarm,
    // What the listeners of the host throw.
    reportError: () => {},
    addEventListener: windowEvents.addEventListener,
    removeEventListener: windowEvents.removeEventListener,
    fetch: environment.network.of(owner),
    ...(environment.storage && { indexedDB: environment.storage.of(owner, onUse) }),
    ...(environment.channelAvailability !== 'missing' && {
      BroadcastChannel: environment.channels.of(owner, environment.channelAvailability, onThrow),
    }),
  };
  page['globalThis'] = page['window'] = page['self'] = page;
  const code = environment.load(page);

  const halt = () => {
    if (deferred) return;
    ranMs = ran();
    deferred = [];
  };
  const proceed = (tell: () => void) => {
    if (isGone) return;
    const tasks = deferred ?? [];
    deferred = undefined;
    since = time.nowMs;
    tell();
    for (const task of tasks) time.requeue(task);
  };
  const see = (next: boolean) => {
    if (isVisible === next) return;
    isVisible = next;
    fireDocument('visibilitychange');
    // Timers that were throttled while the page was hidden fire at once when it becomes visible.
    if (next) for (const task of timers.values()) if (task.run && !areTimersStopped) time.requeue(task);
  };
  const kill = () => {
    if (isGone) return;
    ranMs = ran();
    isGone = true;
    goneAt = time.nowMs;
    timers.clear();
    environment.network.drop(owner);
    environment.channels.drop(owner);
    environment.locks.drop(owner);
    environment.storage?.drop(owner);
  };

  return {
    owner,
    code,
    get isVisible() {
      return isVisible;
    },
    get isFrozen() {
      return deferred !== undefined;
    },
    get isCached() {
      return isCached;
    },
    get isGone() {
      return isGone;
    },
    /** When it ended, by the true time, epoch ms. */
    get goneAt() {
      return goneAt;
    },
    get areTimersStopped() {
      return areTimersStopped;
    },
    /** How long the page has been able to run, ms. */
    ran,
    /** Record that the device slept: the page did not run meanwhile. */
    slept: (ms: number) => {
      since += ms;
    },
    /** The number of timers and listeners: a closed session must leave none. */
    left: () => timers.size + windowEvents.count() + documentEvents.count(),
    show: () => see(true),
    hide: () => see(false),
    online: () => fireWindow('online'),
    /** Set the interval of throttled timers while the page is hidden, ms. */
    throttle: (ms: number) => {
      throttleMs = ms;
    },
    /** Stop all timers, as in a webview whose host has paused them, or let them run again. */
    stopTimers: (stopped: boolean) => {
      areTimersStopped = stopped;
      if (!stopped) for (const task of timers.values()) if (task.run) time.requeue(task);
    },
    freeze: () => {
      if (deferred || isVisible) return;
      fireDocument('freeze');
      halt();
    },
    resume: () => {
      if (!deferred || isCached) return;
      if (!isSuspended) return proceed(() => fireDocument('resume'));
      isSuspended = false;
      isVisible = true;
      proceed(() => fireDocument('visibilitychange'));
    },
    /** Stop without an event, as a browser in the background does: messages are lost until the page is shown again. */
    suspend: () => {
      if (deferred || isVisible) return;
      isSuspended = true;
      halt();
    },
    /** Enter the back/forward cache. A page that holds a lock is not admitted: it is gone. */
    cache: async () => {
      if (deferred || isGone) return;
      fireWindow('pagehide', { persisted: true });
      see(false);
      fireDocument('freeze');
      await time.turn();
      halt();
      isCached = true;
      if (environment.locks.isHeldBy(owner)) kill();
    },
    /** Return from the cache, unless evicted. */
    restore: () => {
      if (!isCached || isGone) return;
      isCached = false;
      proceed(() => {
        fireDocument('resume');
        isVisible = true;
        fireWindow('pageshow', { persisted: true });
        fireDocument('visibilitychange');
      });
    },
    /** Leave for good, as by a navigation. */
    leave: () => {
      if (!deferred && !isGone) fireWindow('pagehide');
      kill();
    },
    /** End at once, without an event. */
    kill,
  };
};
export type Page = ReturnType<typeof createPage>;
