/**
 * The recorder: the first script of every page of a world, so it has the builtins before the world changes them. It keeps what the
 * page may observe, and what the library has left behind. It reads a token only where the story asks: a read starts what is due, and
 * would hide a timer that never runs.
 */

import type { EventName, Session } from '../../src/session/index.ts';

/** An event of the session; `at` in epoch ms, by the true clock. */
export interface SeenEvent {
  readonly at: number;
  readonly name: string;
  readonly cause?: string;
  readonly code?: string;
  readonly token?: string;
}

/** Reads in a row that found the same token, the last one at `to`, or an event with it; or whose tokens alone may be read from here on. */
export type SeenRead = { readonly token: string | null; readonly to: number } | { readonly onlyOf: string };

/** The global `seen` of a page. */
export interface Seen {
  readonly events: SeenEvent[];
  readonly reads: SeenRead[];
  /** What was thrown into the page, or rejected without a handler. */
  readonly problems: string[];
  session?: Session;
  /** The name of the session's database. */
  database?: string;
  /** The outcome of `getToken({ timeoutMs: 500 })`, called as soon as there is a session, and when, epoch ms. */
  got?: Promise<string>;
  startedAt?: number;
  start(session: Session): void;
  event(name: string, payload: object): void;
  read(): string | null;
  /** Read every 20 ms from now on. */
  watch(): void;
  /** From now on, only tokens of these users may be read, never of one before another; `nobody`: none. */
  onlyOf(users: string): void;
  /** `resolved`, or the code of the error. */
  outcome(call: () => unknown): Promise<string>;
  /** Throw in a call of the queue. Chromium 85 tells a page nothing of exceptions in what a driver evaluates. */
  fail(): void;
  /** Start another step: forget what is past, except whose tokens may be read. */
  forget(): void;
  /** Listeners, timers, locks and connections of the library. */
  leftovers(): Promise<string[]>;
}

/** Inserted as text, so it must not use anything from outside. */
const inPage = () => {
  const { clearTimeout, setInterval, setTimeout, indexedDB, navigator } = self;
  const native = { Date, Error, Promise, Set, String, origin: self.origin };
  const last = <T>(list: T[]): T | undefined => list[list.length - 1];
  const { getOwnPropertyDescriptor } = Object;
  const own = (of: object, name: string): string | undefined => getOwnPropertyDescriptor(of, name)?.value;
  const seen: Seen = {
    events: [],
    reads: [],
    problems: [],
    start: (session) => {
      seen.session = session;
      for (const name of ['token', 'expired', 'optout', 'needsTokens', 'error'] as EventName[])
        session.on(name, (payload) => seen.event(name, payload));
      seen.startedAt = native.Date.now();
      seen.got = session.getToken({ timeoutMs: 500 }).then(
        (token) => token,
        ({ code }) => code,
      );
    },
    event: (name, payload) => {
      const [cause, code, token] = ['cause', 'code', 'advertisingToken'].map((field) => own(payload, field));
      seen.events[seen.events.length] = { at: native.Date.now(), name, cause, code, token } as SeenEvent;
      if (token) seen.reads[seen.reads.length] = { token, to: 0 };
    },
    read: () => {
      const to = native.Date.now();
      const token = seen.session?.advertisingToken ?? null;
      const before = last(seen.reads);
      const isSame = before && own(before, 'token') === token;
      seen.reads[seen.reads.length - Number(!!isSame)] = { token, to };
      return token;
    },
    watch: () => void setInterval(seen.read, 20),
    onlyOf: (users) => {
      seen.reads[seen.reads.length] = { onlyOf: users };
    },
    fail: () => {
      self.tessera?.push(() => {
        throw new native.Error('of the page');
      });
    },
    forget: () => {
      const users = seen.reads.filter((each) => own(each, 'onlyOf'));
      seen.reads.length = seen.events.length = seen.problems.length = 0;
      if (users.length) seen.reads[0] = last(users)!;
    },
    outcome: async (call) => {
      try {
        await call();
        return 'resolved';
      } catch (error) {
        return native.String((error as { code?: string }).code ?? error);
      }
    },
    leftovers: async () => {
      // An opaque origin has neither locks nor databases.
      if (native.origin === 'null') return [...ours];
      const { held = [], pending = [] } = (await navigator.locks?.query()) ?? {};
      const locks = [...held, ...pending].map(({ name }) => `a lock named ${name}`);
      const deleted = new native.Promise<string[]>((resolve) => {
        const request = indexedDB.deleteDatabase(seen.database!);
        request.onblocked = () => resolve(['a connection to the database']);
        request.onsuccess = request.onerror = () => resolve([]);
      });
      return [...ours, ...locks, ...(await deleted)];
    },
  };
  const user = location.search.slice(1);
  if (user) seen.onlyOf(user);
  Object.assign(self, { seen });
  addEventListener('error', ({ message }) => void (seen.problems[seen.problems.length] = native.String(message)));
  addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
    seen.problems[seen.problems.length] = `refused by ${effectiveDirective}: ${blockedURI}`;
  });
  const { error } = console;
  console.error = (...what) => {
    seen.problems[seen.problems.length] = `console: ${what}`;
    error(...what);
  };
  addEventListener('unhandledrejection', ({ reason }) => {
    seen.problems[seen.problems.length] = `unhandled: ${reason}`;
  });

  const ours = new native.Set<string>();
  const isOurs = () => /\/(tessera|session|chunks|page\/)[^:]*\.js/.test(new native.Error().stack ?? '');
  const { addEventListener: add, removeEventListener: remove } = EventTarget.prototype;
  // Listeners of other targets, for example of a signal, go with them.
  const nameOf = (target: unknown, type: string) =>
    ([undefined, self, self.document] as unknown[]).includes(target) ? `a listener for ${type}` : '';
  EventTarget.prototype.addEventListener = function (...[type, ...rest]: Parameters<typeof add>) {
    if (nameOf(this, type) && isOurs()) ours.add(nameOf(this, type));
    return add.call(this, type, ...rest);
  };
  EventTarget.prototype.removeEventListener = function (...[type, ...rest]: Parameters<typeof remove>) {
    if (isOurs()) ours.delete(nameOf(this, type));
    return remove.call(this, type, ...rest);
  };
  Object.assign(self, {
    setTimeout: (work: () => unknown, ms: number, ...more: []) => {
      const isOurOwn = isOurs();
      const id = setTimeout(() => {
        ours.delete(`timer ${id}`);
        work.apply(self, more);
      }, ms);
      if (isOurOwn) ours.add(`timer ${id}`);
      return id;
    },
    clearTimeout: (id: number) => {
      ours.delete(`timer ${id}`);
      return clearTimeout(id);
    },
  });
  (self.tessera = self.tessera || []).push(({ session }) => session && seen.start(session));
};

export const RECORDER = `(${inPage})();`;
