/** `createTestbed`: connects operator, publisher's server, network and clock, and provides the methods for a test. */

import { createOperator } from '../operator/index.ts';
import { answerOf, createClient, type Dii, type Fetch, tokenHandler } from '../server/index.ts';
import {
  createSession,
  memoryStore,
  type ProvideOption,
  type Session,
  type SessionOptions,
  type Store,
} from '../session/index.ts';
import { kindOf, throwIf, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import { watchActivity } from './activity.ts';
import { checkDii, checkOptions, lifetimesOf } from './checks.ts';
import { checkNotInstalled, installTime } from './installation.ts';
import { createNetwork } from './network.ts';
import { spanMs } from './span.ts';
import type { ReservedUsers, Testbed, TestbedOptions } from './types.ts';
import { createVirtualTime } from './virtual-time.ts';

const BASE_URL = 'https://operator.example';
const SITE_URL = 'https://publisher.example';
const TOKEN_PATH = '/token';
const SOMEBODY: Dii = { email: 'user@example.com' };

const USERS: ReservedUsers = {
  optOut: { email: 'optout@example.com' },
  refreshOptOut: { email: 'refresh-optout@example.com' },
  validate: { email: 'validate@example.com' },
};

function provideFrom(fetch: typeof globalThis.fetch): ProvideOption {
  return async ({ signal }) => {
    const response = await fetch(TOKEN_PATH, { method: 'POST', signal });
    if (!response.ok) throw response;
    return response.status === 204 ? null : response.json();
  };
}

function startService(options: TestbedOptions['operator'], now: () => number) {
  const operator = createOperator({ siteId: 777, roles: ['GENERATOR', 'MAPPER', 'OPTOUT'], ...options, now });
  const { apiKey, clientSecret } = operator.participants[0]!;
  return {
    operator,
    clientOver: (fetch: Fetch) => createClient({ baseUrl: BASE_URL, apiKey, clientSecret, now, fetch }),
  };
}

function createSite({ operator, clientOver }: ReturnType<typeof startService>, given: Dii | null, now: () => number) {
  let user = given;
  const network = createNetwork({
    operator,
    baseUrl: BASE_URL,
    siteUrl: SITE_URL,
    tokenPath: TOKEN_PATH,
    now,
    handler: (request) => handler(request),
  });
  const client = clientOver(network.serverFetch);
  const handler = tokenHandler({ client, user: () => user });
  // Faults do not affect the preparation of a test.
  const direct = clientOver((input, init) => operator.fetch(new Request(input, init)));
  const { pageFetch, serverFetch: _, ...faults } = network;
  return {
    client,
    handler,
    fetch: pageFetch,
    tokensFor: async (dii: Dii = user ?? SOMEBODY) => answerOf(await direct.generate(dii)),
    optOut: (dii: Dii) => direct.optOut(dii),
    signIn(dii: Dii): void {
      checkDii('signIn', dii);
      user = dii;
    },
    signOut(): void {
      user = null;
    },
    ...faults,
  };
}

/** The error of a test that forgot `await` before its last call, or whose `afterEach` ran too early: its testbed is closed. */
function closedError(method: string): Error {
  return new Error(
    `testbed.${method}: the testbed was closed: await every call before close(), and create a testbed for each test`,
  );
}

/** The sessions of the page. Sessions with the same name share a store. */
function createSessions(defaults: Omit<SessionOptions, 'store'>) {
  const sessions: Session[] = [];
  const stores = new Map<string, Store>();
  let isClosed = false;
  const storeOf = (name: string): Store => {
    const store = stores.get(name) ?? memoryStore();
    stores.set(name, store);
    return store;
  };
  return {
    open(given: Partial<SessionOptions> = {}): Session {
      if (isClosed) throw closedError('session');
      throwIf(typeFault('session: options', 'object', given));
      const session = createSession({ ...defaults, ...given, store: given.store ?? storeOf(given.name ?? '') });
      sessions.push(session);
      return session;
    },
    close(): void {
      isClosed = true;
      for (const session of sessions) session.close();
    },
  };
}

/**
 * Create a testbed: an operator, a publisher's server and a page in one process, under one virtual clock. Only one can be open in
 * a process at a time.
 * @throws {TypeError, RangeError} for a wrong option. The message names it, what was expected and what was passed.
 * @throws {Error} if another testbed is open, or timers are mocked.
 * @example
 * const testbed = createTestbed({ lifetimes: { refreshFrom: '15 min' } });
 * const session = testbed.session();
 * const first = await session.getToken();
 * await testbed.advance('20 min');
 * session.advertisingToken !== first; // refreshed
 * await testbed.close();
 */
export function createTestbed(options: TestbedOptions = {}): Testbed {
  checkOptions(options);
  const { start = Date.UTC(2030, 0, 15, 12), installClock = true, user = SOMEBODY } = options;
  const lifetimes = lifetimesOf(options.lifetimes ?? {});
  // Before creating anything that nobody would close.
  if (installClock) checkNotInstalled();
  const time = createVirtualTime(Number(start));
  const service = startService({ ...options.operator, ...lifetimes }, time.serviceNow);
  const site = createSite(service, user, time.serviceNow);
  const restoreTime = installClock ? installTime(time) : () => {};
  const activity = watchActivity();
  const sessions = createSessions({
    baseUrl: BASE_URL,
    fetch: site.fetch,
    provide: provideFrom(site.fetch),
    // An installed clock is read through `Date`, as on a page, so that a session notices if it was set back.
    now: installClock ? undefined : time.deviceNow,
  });

  const moveTo = async (untilMs: number): Promise<void> => {
    do await activity.settle();
    while (time.step(untilMs));
  };
  let moved: Promise<void> = Promise.resolve();
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    sessions.close();
    restoreTime();
    // A call of `advance` that nobody awaits then has nothing more to run.
    time.close();
    activity.stop();
    await service.operator.close();
  };

  return {
    ...site,
    operator: service.operator,
    baseUrl: BASE_URL,
    users: USERS,
    now: time.deviceNow,
    advance(span = 0) {
      if (closing) throw closedError('advance');
      const ms = spanMs('span', span);
      const move = moved.then(() => moveTo(time.elapsedMs() + ms));
      moved = move.catch(() => {});
      return move;
    },
    session: sessions.open,
    skewClock(ms) {
      if (!Number.isFinite(ms)) throw new TypeError(expectedGot('ms', 'a finite number', kindOf(ms)));
      time.skew(ms);
    },
    // Only once, because a second call would remove the clock of a newer testbed.
    close: () => (closing ??= close()),
  };
}
