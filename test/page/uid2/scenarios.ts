/**
 * What pages do with `__uid2`, and what they observe: with the drop-in, and by the contract of the ecosystem's own browser SDK.
 *
 * Each row of the table "What differs, and why" in docs/migration.md is that of one scenario, which measures it;
 * `contract.test.ts` runs them. Those whose two observations are equal show what is the same.
 */

import { expect } from 'vitest';
import { answersPlain, answersSealed, type Service, success, wireSet } from '../../session/fixtures.ts';
import { DAY, HOUR, MINUTE } from '../../support/clock.ts';
import { cookie, KEY, local, newSet, putCookie, putLocal, setCookie } from './fixtures.ts';

/** The global as a page sees it: also members that the drop-in does not have. */
// biome-ignore lint/suspicious/noExplicitAny: the methods of either implementation.
export type Sdk = any;

export interface World {
  /** Load a page that calls nothing yet; the page before it is left. */
  load(): Sdk;
  /** Open a page of another host that shares the cookies, beside the one that is open. */
  openOther(): Sdk;
  complete(): Promise<void>;
  /** Events that the callbacks have received, with the token that came with each. */
  readonly events: readonly string[];
  serve(service: Service): void;
  readonly sent: readonly { readonly url: string; readonly init: RequestInit; readonly at: number }[];
  advance(ms: number): Promise<void>;
  settle(): Promise<void>;
}

export interface Scenario {
  readonly what: string;
  /** The first cell of the row in docs/migration.md that states the difference; absent where there is none. */
  readonly row?: string;
  run(world: World): Promise<unknown>;
  /** What it observes with the drop-in. */
  readonly here: unknown;
  /** What it observes with the SDK, version 4. */
  readonly former: unknown;
  /** What it observes with versions 3.10 to 3.15, where that differs. */
  readonly former3?: unknown;
}

const OPTIONS = { baseUrl: 'https://operator.example' };
const SHARED = { ...OPTIONS, useCookie: true };
const NO_TOKEN = undefined;

const failure = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return 'none';
  } catch (error) {
    return error instanceof Error ? error.name : typeof error;
  }
};

const signedIn = async (world: World, identity: object = wireSet(1), options: object = OPTIONS): Promise<Sdk> => {
  const sdk = world.load();
  sdk.init({ ...options, identity });
  await world.complete();
  return sdk;
};

const nextPage = async (world: World, options: object): Promise<Sdk> => {
  const sdk = world.load();
  sdk.init(options);
  await world.complete();
  await world.settle();
  return sdk;
};

const logIn = (world: World, sdk: Sdk, identity: object): Promise<void> => {
  sdk.setIdentity(identity);
  return world.settle();
};

const logOut = (world: World, sdk: Sdk): Promise<void> => {
  sdk.disconnect();
  return world.settle();
};

const noteStatuses = () => {
  const statuses: unknown[] = [];
  const received: unknown[] = [];
  const callback = ({ status, advertisingToken }: Record<string, unknown>) => {
    statuses.push(status);
    received.push([status, advertisingToken]);
  };
  return { statuses, received, callback };
};

const outcomeOf = async (world: World, promise: Promise<unknown>): Promise<unknown> => {
  let outcome: unknown = 'pending';
  promise.then(
    (value) => (outcome = value),
    () => (outcome = 'rejected'),
  );
  await world.settle();
  return outcome;
};

const held = (service: Service) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  return { release, service: (async (request) => released.then(() => service(request))) satisfies Service };
};
const rotated: Service = ({ n, ...rest }) => answersSealed(success(n + 1))({ n, ...rest });

const shared: Record<string, Scenario> = {
  'sign-in': {
    what: 'init with an identity',
    run: async (world) => {
      const sdk = await signedIn(world);
      return [sdk.getAdvertisingToken(), sdk.getIdentity().refresh_token, sdk.isLoginRequired(), world.events];
    },
    ...same(['advertising-1', wireSet(1, 0).refresh_token, false, ['SdkLoaded', 'InitCompleted advertising-1']]),
  },
  'signed-out': {
    what: 'init without an identity, then setIdentity',
    run: async (world) => {
      const sdk = world.load();
      sdk.init(OPTIONS);
      await world.complete();
      const before = [sdk.getAdvertisingToken(), sdk.getIdentity(), sdk.isLoginRequired()];
      await logIn(world, sdk, wireSet(1));
      return [before, sdk.getAdvertisingToken(), world.events];
    },
    ...same([
      [NO_TOKEN, null, true],
      'advertising-1',
      ['SdkLoaded', 'IdentityUpdated', 'InitCompleted', 'IdentityUpdated advertising-1'],
    ]),
    former3: [[NO_TOKEN, null, true], 'advertising-1', ['SdkLoaded', 'InitCompleted', 'IdentityUpdated advertising-1']],
  },
  'before-init': {
    what: 'what is known before init, where no identity is stored',
    run: async (world) => {
      const sdk = world.load();
      return [sdk.isLoginRequired(), sdk.hasOptedOut(), sdk.getIdentity(), sdk.getAdvertisingToken()];
    },
    ...same([true, undefined, null, NO_TOKEN]),
  },
  'later-page': {
    what: 'a later page without an identity, in the same task as init',
    run: async (world) => {
      await signedIn(world);
      const sdk = world.load();
      sdk.init(OPTIONS);
      return [sdk.getAdvertisingToken(), sdk.isLoginRequired()];
    },
    ...same(['advertising-1', false]),
  },
  'local-storage': {
    what: 'the identity in local storage, as servers and other scripts find it',
    run: async (world) => {
      await signedIn(world);
      await world.settle();
      const { advertising_token, refresh_token } = local();
      return [advertising_token, refresh_token === wireSet(1).refresh_token];
    },
    ...same(['advertising-1', true]),
  },
  'cookie-mode': {
    what: 'init with useCookie adopts the cookie that a server has set',
    run: async (world) => {
      putCookie(wireSet(1));
      const sdk = await nextPage(world, SHARED);
      return [sdk.getAdvertisingToken(), cookie().advertising_token];
    },
    ...same(['advertising-1', 'advertising-1']),
  },
  refresh: {
    what: 'a refresh that is due',
    run: async (world) => {
      const sdk = await signedIn(world);
      await world.advance(16 * MINUTE);
      return [sdk.getAdvertisingToken(), world.events.at(-1)];
    },
    ...same(['advertising-2', 'IdentityUpdated advertising-2']),
  },
  'opt-out': {
    what: 'a refresh that is answered with an opt-out',
    run: async (world) => {
      const sdk = await signedIn(world);
      world.serve(answersSealed({ status: 'optout' }));
      await world.advance(16 * MINUTE);
      return [sdk.getAdvertisingToken(), sdk.hasOptedOut(), world.events.slice(2)];
    },
    ...same([NO_TOKEN, true, ['OptoutReceived', 'IdentityUpdated']]),
  },
  logout: {
    what: 'disconnect',
    run: async (world) => {
      const sdk = await signedIn(world);
      await logOut(world, sdk);
      return [sdk.getAdvertisingToken(), sdk.isLoginRequired(), world.events.at(-1)];
    },
    ...same([NO_TOKEN, true, 'IdentityUpdated']),
  },
  'places-after-set-identity': {
    what: 'setIdentity: the cookie, and local storage without useCookie, when it returns',
    run: async (world) => {
      (await signedIn(world, wireSet(1), SHARED)).setIdentity(newSet(5));
      const inCookie = cookie().advertising_token;
      const sdk = await nextPage(world, { ...OPTIONS, useCookie: false });
      sdk.setIdentity(newSet(6, Date.now() + MINUTE));
      return [inCookie, local().advertising_token];
    },
    ...same(['advertising-5', 'advertising-6']),
  },
  'legacy-callback': {
    what: 'the callback of init, through sign-in, refresh and opt-out',
    run: async (world) => {
      const { received, callback } = noteStatuses();
      await signedIn(world, wireSet(1), { ...OPTIONS, callback });
      await world.advance(16 * MINUTE);
      world.serve(answersSealed({ status: 'optout' }));
      await world.advance(16 * MINUTE);
      return received;
    },
    ...same([
      [0, 'advertising-1'],
      [1, 'advertising-2'],
      [-4, NO_TOKEN],
    ]),
  },
  'legacy-callback-after-login': {
    what: 'init without an identity, setIdentity, disconnect and setIdentity: what the callback of init receives',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const sdk = await nextPage(world, { ...OPTIONS, callback });
      await logIn(world, sdk, wireSet(1));
      await logOut(world, sdk);
      await logIn(world, sdk, newSet(5));
      return statuses.filter((status) => status !== -1);
    },
    ...same([1, 0]),
  },
  'legacy-callback-first': {
    what: 'the callback of init and a function in callbacks, in the order in which they are called',
    run: async (world) => {
      const calls: unknown[] = [];
      const sdk = world.load();
      sdk.callbacks.push((event: string) => calls.push(event));
      const callback = ({ status }: Record<string, unknown>) => calls.push(status);
      sdk.init({ ...OPTIONS, identity: wireSet(1), callback });
      await world.complete();
      await world.advance(16 * MINUTE);
      return calls;
    },
    ...same(['SdkLoaded', 0, 'InitCompleted', 1, 'IdentityUpdated']),
  },
  'init-again': {
    what: 'init again, without an identity: the events that follow',
    run: async (world) => {
      const sdk = await signedIn(world);
      sdk.init(OPTIONS);
      await world.settle();
      return world.events.slice(2);
    },
    ...same(['InitCompleted advertising-1']),
  },
  'legacy-callback-after-expiry': {
    what: 'init with an identity that has expired and can be refreshed: what the callback of init receives of the refresh',
    run: async (world) => {
      const { received, callback } = noteStatuses();
      await signedIn(world, wireSet(1, Date.now() - 2 * HOUR), { ...OPTIONS, callback });
      await world.settle();
      return received.at(-1);
    },
    ...same([1, 'advertising-2']),
  },
  'token-expires-while-refreshing': {
    what: 'the token expires on an open page as its refresh starts: what the callbacks receive',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const identity = wireSet(1);
      await signedIn(world, { ...identity, refresh_from: identity.identity_expires }, { ...OPTIONS, callback });
      await world.advance(61 * MINUTE);
      return [statuses, world.events.slice(2)];
    },
    ...same([[0, 1], ['IdentityUpdated advertising-2']]),
  },
  'available-after-opt-out': {
    what: 'what is said of an identity that has opted out',
    run: async (world) => {
      world.serve(answersSealed({ status: 'optout' }));
      const sdk = await signedIn(world);
      await world.advance(16 * MINUTE);
      return [sdk.hasOptedOut(), sdk.isIdentityAvailable(), sdk.isLoginRequired()];
    },
    ...same([true, true, false]),
  },
  'available-after-expiry': {
    what: 'isIdentityAvailable before init without an identity, then with an expired one: before init, when init returns, during a refresh, after it failed',
    run: async (world) => {
      const without = world.load().isIdentityAvailable();
      putLocal(wireSet(1, Date.now() - 2 * HOUR));
      const { release, service } = held(answersPlain(503));
      world.serve(service);
      const sdk = world.load();
      const before = sdk.isIdentityAvailable();
      sdk.init(OPTIONS);
      const after = sdk.isIdentityAvailable();
      await world.complete();
      await world.settle();
      const during = sdk.isIdentityAvailable();
      release();
      await world.settle();
      return [without, before, after, during, sdk.isIdentityAvailable(), world.sent.length];
    },
    ...same([undefined, undefined, true, true, false, 1]),
    former3: [undefined, true, true, true, true, 1],
  },
  'identity-when-loaded': {
    what: 'the event SdkLoaded on a later page',
    run: async (world) => {
      await signedIn(world);
      world.load();
      return world.events[0];
    },
    ...same('SdkLoaded advertising-1'),
  },
  'opt-out-by-page': {
    what: 'setIdentity with an opt-out: the events, and what the callback of init receives',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const sdk = await signedIn(world, wireSet(1), { ...OPTIONS, callback });
      const expires = Date.now() + DAY;
      await logIn(world, sdk, { status: 'optout', identity_expires: expires, refresh_expires: expires });
      return [sdk.hasOptedOut(), statuses, world.events.slice(2)];
    },
    ...same([true, [0, -4], ['OptoutReceived', 'IdentityUpdated']]),
  },
  'legacy-callback-after-expired-login': {
    what: 'setIdentity with an identity that has expired and can be refreshed: what the callback of init receives',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const sdk = await nextPage(world, { ...OPTIONS, callback });
      await logIn(world, sdk, newSet(5, Date.now() - 2 * HOUR));
      return statuses;
    },
    ...same([-1, 100, 1]),
  },
  'expired-login': {
    what: 'setIdentity with an expired identity that can be refreshed, on a page that is signed in, then after disconnect: events and statuses',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const sdk = await signedIn(world, wireSet(1), { ...OPTIONS, callback });
      await logIn(world, sdk, newSet(5, Date.now() - 2 * HOUR));
      const events = world.events.slice(2);
      await logOut(world, sdk);
      await logIn(world, sdk, newSet(9, Date.now() - 2 * HOUR));
      return [events, statuses.filter((status) => status !== -1)];
    },
    ...same([
      ['IdentityUpdated', 'IdentityUpdated advertising-6'],
      [0, 100, 1, 100, 1],
    ]),
  },
  'legacy-callback-after-ended-login': {
    what: 'disconnect, then setIdentity with an identity that has ended, then with a valid one: the statuses',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const sdk = await signedIn(world, wireSet(1), { ...OPTIONS, callback });
      world.serve(answersPlain(400, { status: 'expired_token' }));
      sdk.disconnect();
      for (const identity of [newSet(5, Date.now() - 2 * DAY), newSet(9)]) {
        await world.settle();
        sdk.setIdentity(identity);
      }
      await world.settle();
      return statuses.filter((status) => status !== -1);
    },
    ...same([0, -3, 1]),
  },
  'sign-in-at-once': {
    what: 'init without an identity and setIdentity in one task: the events',
    run: async (world) => {
      const sdk = world.load();
      sdk.init(OPTIONS);
      await logIn(world, sdk, wireSet(1));
      return world.events;
    },
    ...same(['SdkLoaded', 'IdentityUpdated', 'InitCompleted', 'IdentityUpdated advertising-1']),
    former3: ['SdkLoaded', 'InitCompleted', 'IdentityUpdated advertising-1'],
  },
  'another-user-at-once': {
    what: 'init with an identity, disconnect and setIdentity with another user in one task: the first event and the last',
    run: async (world) => {
      const sdk = world.load();
      sdk.init({ ...OPTIONS, identity: wireSet(1) });
      sdk.disconnect();
      await logIn(world, sdk, newSet(5));
      return [world.events[1], world.events.at(-1)];
    },
    ...same(['InitCompleted advertising-1', 'IdentityUpdated advertising-5']),
  },
  'expired-login-at-once': {
    what: 'init with an identity and setIdentity with an expired one that can be refreshed in one task: the events',
    run: async (world) => {
      const sdk = world.load();
      sdk.init({ ...OPTIONS, identity: wireSet(1) });
      await logIn(world, sdk, newSet(5, Date.now() - 2 * HOUR));
      return world.events.slice(1);
    },
    ...same(['InitCompleted advertising-1', 'IdentityUpdated', 'IdentityUpdated advertising-6']),
  },
  'opt-out-at-once': {
    what: 'init and setIdentity with an opt-out in one task: the events',
    run: async (world) => {
      const sdk = world.load();
      sdk.init({ ...OPTIONS, identity: wireSet(1) });
      await logIn(world, sdk, {
        status: 'optout',
        identity_expires: Date.now() + DAY,
        refresh_expires: Date.now() + DAY,
      });
      return world.events.slice(1);
    },
    ...same(['InitCompleted advertising-1', 'OptoutReceived', 'IdentityUpdated']),
  },
  'late-callback': {
    what: 'a callback that is pushed late and calls init at SdkLoaded: the events that it receives',
    run: async (world) => {
      const events: string[] = [];
      const sdk = world.load();
      sdk.callbacks.push((event: string) => {
        events.push(event);
        if (event === 'SdkLoaded') sdk.init(OPTIONS);
      });
      await world.settle();
      return events;
    },
    ...same(['SdkLoaded', 'InitCompleted']),
  },
  'secure-signals': {
    what: "the ecosystem's Secure Signals script: the events at which it finds an identity, and the token that it collects",
    run: async (world) => {
      const sdk = world.load();
      const found: string[] = [];
      sdk.callbacks.push((event: string) => void (sdk.getIdentity() && found.push(event)));
      sdk.init({ ...OPTIONS, identity: wireSet(1) });
      await world.complete();
      const token = await sdk.getAdvertisingTokenAsync();
      await world.advance(16 * MINUTE);
      return [token, found];
    },
    ...same(['advertising-1', ['InitCompleted', 'IdentityUpdated']]),
  },
  'wrong-options': {
    what: 'init with wrong options: the type of the error',
    run: async (world) => {
      const wrong = [undefined, { callback: 1 }, { refreshRetryPeriod: '5' }, { refreshRetryPeriod: 999 }];
      return Promise.all(wrong.map((options) => failure(() => world.load().init(options))));
    },
    ...same(['TypeError', 'TypeError', 'TypeError', 'RangeError']),
  },
};

function same(observed: unknown): Pick<Scenario, 'here' | 'former'> {
  return { here: observed, former: observed };
}

const different: Record<string, Scenario> = {
  'init-completed': {
    what: 'what is known in the same task as init with an identity',
    row: '`InitCompleted`',
    run: async (world) => {
      const sdk = world.load();
      sdk.init({ ...OPTIONS, identity: wireSet(1) });
      return [sdk.isInitComplete(), sdk.getAdvertisingToken()];
    },
    here: [false, 'advertising-1'],
    former: [true, 'advertising-1'],
  },
  'cookie-not-asked-for': {
    what: 'a cookie with an identity, without useCookie',
    row: 'identity cookie without `useCookie`',
    run: async (world) => {
      putCookie(wireSet(1));
      const sdk = await nextPage(world, OPTIONS);
      return [sdk.getAdvertisingToken(), cookie()?.advertising_token];
    },
    here: [NO_TOKEN, 'advertising-1'],
    former: ['advertising-1', NO_TOKEN],
  },
  'configuration-cookie': {
    what: 'a configuration cookie and an identity in a cookie, on a page that has not called init',
    row: 'configuration cookie',
    run: async (world) => {
      putCookie({ ...SHARED, baseUrl: 'https://other.example' }, '__uid_2_config');
      putCookie(wireSet(1));
      const sdk = world.load();
      await world.settle();
      await world.advance(20 * MINUTE);
      return [sdk.getAdvertisingToken(), world.sent.map(({ url }) => new URL(url).host)];
    },
    here: [NO_TOKEN, []],
    former: [expect.any(String), expect.arrayContaining(['other.example'])],
  },
  'cookie-before-init': {
    what: 'getAdvertisingToken before init, where a cookie holds an identity',
    row: '`getAdvertisingToken` before `init`, identity in a cookie',
    run: async (world) => {
      putCookie(wireSet(1));
      return world.load().getAdvertisingToken();
    },
    here: NO_TOKEN,
    former: 'advertising-1',
  },
  'later-page-without-init': {
    what: 'a page that does not call init, of a site whose earlier page called it with useCookie before the SDK was replaced',
    row: 'a page without `init`, after earlier pages with `useCookie`',
    run: async (world) => {
      putCookie(SHARED, '__uid_2_config');
      putCookie(wireSet(1));
      const sdk = world.load();
      await world.settle();
      return sdk.isLoginRequired();
    },
    here: true,
    former: false,
  },
  'refresh-before-init': {
    what: 'a page that does not call init, of a site whose earlier page did: the hosts of its requests once the refresh is due',
    row: 'a page without `init`, after one with it',
    run: async (world) => {
      await signedIn(world);
      world.load();
      await world.settle();
      await world.advance(16 * MINUTE);
      return [...new Set(world.sent.map(({ url }) => new URL(url).host))];
    },
    here: [],
    former: ['operator.example'],
  },
  'cookie-after-logout': {
    what: 'disconnect with cookieDomain: the cookie after it',
    row: 'the cookie after `disconnect`, with `cookieDomain`',
    run: async (world) => {
      const sdk = await signedIn(world, wireSet(1), { ...SHARED, cookieDomain: location.hostname });
      await logOut(world, sdk);
      return cookie()?.status;
    },
    here: 'logout',
    former: undefined,
  },
  'client-version': {
    what: "a refresh request: whether its address or a header has the SDK's version",
    row: "the SDK's version in refresh requests",
    run: async (world) => {
      await signedIn(world);
      await world.advance(16 * MINUTE);
      const { url, init } = world.sent[0]!;
      return new URL(url).searchParams.has('client') || new Headers(init.headers).has('x-uid2-client-version');
    },
    here: false,
    former: true,
  },
  'client-side-generation': {
    what: 'setIdentityFromEmail, before a request is made',
    row: '`setIdentityFromEmail` and the other three',
    run: async (world) => {
      const sdk = await nextPage(world, OPTIONS);
      const names = [
        'setIdentityFromEmail',
        'setIdentityFromEmailHash',
        'setIdentityFromPhone',
        'setIdentityFromPhoneHash',
      ];
      return Promise.all(
        names.map((name) => failure(() => sdk[name]('', { subscriptionId: 'x', serverPublicKey: 'UID2-X-I-x' }))),
      );
    },
    here: ['TypeError', 'TypeError', 'TypeError', 'TypeError'],
    former: ['Error', 'Error', 'Error', 'Error'],
  },
  'refresh-fails': {
    what: 'ten minutes of answers 503: the greatest number of requests in one of them',
    row: 'refreshes that fail',
    run: async (world) => {
      await signedIn(world);
      world.serve(answersPlain(503));
      const from = Date.now() + 15 * MINUTE;
      await world.advance(25 * MINUTE);
      const minutes = Array.from({ length: 10 }, (_, at) => from + at * MINUTE);
      const counts = minutes.map((start) => world.sent.filter(({ at }) => at >= start && at < start + MINUTE).length);
      return Math.max(...counts) > 8 ? 'one every 5 s' : 'fewer';
    },
    here: 'fewer',
    former: 'one every 5 s',
  },
  'retry-after': {
    what: 'an answer 429 with Retry-After: 600: the requests in the ten minutes after it',
    row: '`Retry-After`',
    run: async (world) => {
      await signedIn(world);
      world.serve(answersPlain(429, '', { 'retry-after': '600' }));
      await world.advance(24 * MINUTE);
      return world.sent.length === 1 ? 'one' : 'many';
    },
    here: 'one',
    former: 'many',
  },
  'opt-out-and-identity': {
    what: 'a later page with an identity, after an opt-out, while the service does not answer',
    row: '`init` with an identity after an opt-out',
    run: async (world) => {
      await signedIn(world);
      world.serve(answersSealed({ status: 'optout' }));
      await world.advance(16 * MINUTE);
      world.serve(() => new Promise(() => {}));
      const sdk = await nextPage(world, { ...OPTIONS, identity: newSet(5) });
      return [sdk.getAdvertisingToken(), sdk.hasOptedOut()];
    },
    here: [NO_TOKEN, true],
    former: ['advertising-5', false],
  },
  'opt-out-after-days': {
    what: 'a later page, four days after an opt-out, with useCookie',
    row: 'an opt-out after 72 hours, with `useCookie`',
    run: async (world) => {
      await signedIn(world, wireSet(1), SHARED);
      world.serve(answersSealed({ status: 'optout' }));
      await world.advance(16 * MINUTE);
      world.load();
      await world.advance(4 * DAY);
      return (await nextPage(world, SHARED)).hasOptedOut();
    },
    here: true,
    former: false,
  },
  'opt-out-and-logout': {
    what: 'disconnect after an opt-out',
    row: '`disconnect` after an opt-out',
    run: async (world) => {
      const sdk = await signedIn(world);
      world.serve(answersSealed({ status: 'optout' }));
      await world.advance(16 * MINUTE);
      await logOut(world, sdk);
      return sdk.hasOptedOut();
    },
    here: true,
    former: false,
  },
  'logout-while-refreshing': {
    what: 'disconnect while a refresh is under way, whose answer comes later',
    row: '`disconnect` during a refresh',
    run: async (world) => {
      const sdk = await signedIn(world);
      const { release, service } = held(rotated);
      world.serve(service);
      await world.advance(16 * MINUTE);
      sdk.disconnect();
      release();
      await world.settle();
      return [sdk.getAdvertisingToken(), (await nextPage(world, OPTIONS)).getAdvertisingToken()];
    },
    here: [NO_TOKEN, NO_TOKEN],
    former: [expect.any(String), expect.any(String)],
  },
  'sign-in-while-refreshing': {
    what: 'setIdentity with another user while a refresh is under way, whose answer comes later',
    row: '`setIdentity` during a refresh',
    run: async (world) => {
      const sdk = await signedIn(world);
      const { release, service } = held(rotated);
      world.serve(service);
      await world.advance(16 * MINUTE);
      sdk.setIdentity(newSet(5));
      release();
      await world.settle();
      return sdk.getAdvertisingToken();
    },
    here: 'advertising-5',
    former: 'advertising-1',
  },
  'logout-on-another-host': {
    what: 'disconnect on one host that shares the cookie, while a refresh of another is under way',
    row: 'logout or another user, on hosts that share a cookie',
    run: async (world) => {
      const domain = { ...SHARED, cookieDomain: location.hostname };
      const one = await signedIn(world, wireSet(1), domain);
      const other = world.openOther();
      other.init(domain);
      await world.settle();
      const { release, service } = held(rotated);
      world.serve(service);
      await world.advance(16 * MINUTE);
      one.disconnect();
      release();
      await world.settle();
      const left = cookie()?.advertising_token;
      const token = other.getAdvertisingToken();
      other.abort?.();
      return [left, token];
    },
    here: [NO_TOKEN, NO_TOKEN],
    former: [expect.any(String), expect.any(String)],
  },
  'cached-page': {
    what: 'a page from a cache passes the identity that has been refreshed since',
    row: 'identity passed to `init` by a cached page',
    run: async (world) => {
      const cached = wireSet(1);
      await signedIn(world, cached);
      await world.advance(16 * MINUTE);
      world.serve(() => new Promise(() => {}));
      return (await nextPage(world, { ...OPTIONS, identity: cached })).getAdvertisingToken();
    },
    here: 'advertising-2',
    former: 'advertising-1',
  },
  'cookie-deleted': {
    what: 'a server deletes the cookie between two pages, with useCookie',
    row: 'the cookie is deleted',
    run: async (world) => {
      await signedIn(world, wireSet(1), SHARED);
      await world.settle();
      setCookie(`__uid_2=;expires=${new Date(0).toUTCString()}`);
      return (await nextPage(world, SHARED)).getAdvertisingToken();
    },
    here: 'advertising-1',
    former: NO_TOKEN,
  },
  'local-storage-deleted': {
    what: 'local storage is emptied between two pages, as by disconnect of the former SDK on a page that still has it',
    row: 'the copy in local storage is deleted',
    run: async (world) => {
      await signedIn(world);
      await world.settle();
      localStorage.removeItem(KEY);
      return (await nextPage(world, OPTIONS)).getAdvertisingToken();
    },
    here: 'advertising-1',
    former: NO_TOKEN,
  },
  'refresh-token-ends': {
    what: 'expired_token while the token is good, and after it has expired',
    row: 'the service ends the refresh token',
    run: async (world) => {
      const sdk = await signedIn(world);
      world.serve(answersPlain(400, { status: 'expired_token' }));
      await world.advance(16 * MINUTE);
      const before = [sdk.getAdvertisingToken(), sdk.isLoginRequired()];
      await world.advance(HOUR);
      return [before, sdk.getAdvertisingToken()];
    },
    here: [['advertising-1', true], NO_TOKEN],
    former: [[NO_TOKEN, true], NO_TOKEN],
  },
  'asynchronous-token': {
    what: 'getAdvertisingTokenAsync while the token is good and a refresh is under way',
    row: '`getAdvertisingTokenAsync` during a refresh, token valid',
    run: async (world) => {
      const sdk = await signedIn(world);
      world.serve(() => new Promise(() => {}));
      await world.advance(16 * MINUTE);
      return outcomeOf(world, sdk.getAdvertisingTokenAsync());
    },
    here: 'advertising-1',
    former: 'pending',
  },
  'init-while-waiting': {
    what: 'init with a newer identity while getAdvertisingTokenAsync waits for a refresh',
    row: '`getAdvertisingTokenAsync` while `init` passes a newer identity',
    run: async (world) => {
      world.serve(() => new Promise(() => {}));
      const sdk = await signedIn(world, wireSet(1, Date.now() - 2 * HOUR));
      const waiting = sdk.getAdvertisingTokenAsync();
      await world.settle();
      sdk.init({ ...OPTIONS, identity: newSet(5) });
      return outcomeOf(world, waiting);
    },
    here: 'advertising-5',
    former: 'pending',
  },
  'asynchronous-token-time-limit': {
    what: 'getAdvertisingTokenAsync after the token has expired, a minute after a refresh that is never answered',
    row: '`getAdvertisingTokenAsync` during a refresh, token expired',
    run: async (world) => {
      world.serve(() => new Promise(() => {}));
      const sdk = await signedIn(world, wireSet(1, Date.now() - 2 * HOUR));
      const asked = sdk.getAdvertisingTokenAsync();
      asked.catch(() => {});
      await world.advance(MINUTE);
      return outcomeOf(world, asked);
    },
    here: 'rejected',
    former: 'pending',
  },
  abort: {
    what: 'abort, then init',
    row: '`abort`',
    run: async (world) => {
      const sdk = await signedIn(world);
      const outcome = await failure(() => {
        sdk.abort();
        sdk.init(OPTIONS);
      });
      await world.settle();
      await world.advance(16 * MINUTE);
      return [outcome, sdk.getAdvertisingToken() !== 'advertising-1'];
    },
    here: ['none', true],
    former: ['TypeError', true],
    // Until 3.10, and since.
    former3: expect.toBeOneOf([
      [expect.any(String), false],
      ['TypeError', true],
    ]),
  },
  'damaged-storage': {
    what: 'init with text in local storage that is no JSON',
    row: 'damaged storage',
    run: async (world) => {
      localStorage.setItem(KEY, '{bad');
      return failure(() => world.load().init(OPTIONS));
    },
    here: 'none',
    former: 'SyntaxError',
  },
  'version-1-cookie': {
    what: 'a cookie of version 1, without times and response key',
    row: 'cookies of version 1',
    run: async (world) => {
      putCookie({ advertising_token: 'advertising-1', refresh_token: 'refresh-1' });
      return (await nextPage(world, SHARED)).getAdvertisingToken();
    },
    here: NO_TOKEN,
    former: 'advertising-1',
  },
  'malformed-identity': {
    what: 'setIdentity with times that are no numbers',
    row: '`setIdentity` with wrong values',
    run: async (world) => {
      const sdk = await signedIn(world);
      await logIn(world, sdk, {
        ...wireSet(2),
        identity_expires: 'never',
        refresh_expires: 'never',
        refresh_from: 'never',
      });
      return sdk.getAdvertisingToken();
    },
    here: 'advertising-1',
    former: 'advertising-2',
  },
  'incomplete-identity': {
    what: 'setIdentity without the members of a set',
    row: '`setIdentity` without the members of a set',
    run: async (world) => {
      const sdk = await signedIn(world);
      await logIn(world, sdk, {});
      return sdk.getAdvertisingToken();
    },
    here: 'advertising-1',
    former: NO_TOKEN,
  },
  helper: {
    what: 'the global __uid2Helper',
    row: '`__uid2Helper`',
    run: async (world) => {
      world.load();
      return '__uid2Helper' in globalThis;
    },
    here: false,
    former: true,
  },
  statics: {
    what: 'the statics of the class',
    row: 'static members (`VERSION`, `EventType`, ...)',
    run: async (world) => {
      const { VERSION, IdentityStatus, EventType, setupGoogleSecureSignals } = world.load().constructor;
      return [VERSION, IdentityStatus, EventType, setupGoogleSecureSignals].map((member) => member !== undefined);
    },
    here: [false, false, false, false],
    former: [true, true, true, true],
  },
  'error-texts': {
    what: 'setIdentity before init: the text of the error',
    row: 'error messages',
    run: async (world) => {
      try {
        world.load().setIdentity(wireSet(1));
      } catch (error) {
        return (error as Error).message;
      }
      return 'none';
    },
    here: 'setIdentity: call init first',
    former: 'Cannot set identity before calling init.',
  },
  rejections: {
    what: 'getAdvertisingTokenAsync before init, then disconnect: what it rejects with',
    row: 'rejections of `getAdvertisingTokenAsync`',
    run: async (world) => {
      const sdk = world.load();
      const outcome = sdk
        .getAdvertisingTokenAsync()
        .catch((reason: unknown) => (reason as Error)?.name ?? typeof reason);
      await logOut(world, sdk);
      return outcome;
    },
    here: 'TokenError',
    former: 'Error',
  },
  'events-after-writing': {
    what: 'setIdentity, then disconnect: the events that each has caused when it returns',
    row: '`IdentityUpdated` after `setIdentity` and `disconnect`',
    run: async (world) => {
      const sdk = await signedIn(world);
      sdk.setIdentity(newSet(5));
      const events = [...world.events];
      sdk.disconnect();
      return [events.slice(2), world.events.slice(events.length)];
    },
    here: [[], []],
    former: [['IdentityUpdated advertising-5'], ['IdentityUpdated']],
  },
  'another-user-by-init': {
    what: 'a later page passes the identity of another user to init: the token, and local storage, when it returns',
    row: 'another identity passed to `init`',
    run: async (world) => {
      await signedIn(world);
      await world.settle();
      const sdk = world.load();
      sdk.init({ ...OPTIONS, identity: newSet(5) });
      return [sdk.getAdvertisingToken(), local().advertising_token];
    },
    here: ['advertising-5', 'advertising-1'],
    former: ['advertising-5', 'advertising-5'],
  },
  'init-again-newer': {
    what: 'init again, with a newer identity: the events that follow',
    row: '`init` again, with a newer identity',
    run: async (world) => {
      const sdk = await signedIn(world);
      sdk.init({ ...OPTIONS, identity: newSet(5, Date.now() + MINUTE) });
      await world.settle();
      return world.events.slice(2);
    },
    here: ['InitCompleted advertising-5', 'IdentityUpdated advertising-5'],
    former: ['InitCompleted advertising-5'],
  },
  'init-again-after-sign-in': {
    what: 'init with an identity, setIdentity with another user, init again without an identity: local storage',
    row: 'identity of an earlier `init`, at `init` again without one',
    run: async (world) => {
      const sdk = await signedIn(world);
      await logIn(world, sdk, newSet(5));
      sdk.init(OPTIONS);
      await world.settle();
      return local().advertising_token;
    },
    here: 'advertising-5',
    former: 'advertising-1',
  },
  'ended-before-init': {
    what: 'getAdvertisingToken before init, where local storage holds an identity whose refresh token has expired',
    row: '`getAdvertisingToken` before `init`, stored identity ended',
    run: async (world) => {
      putLocal(wireSet(1, Date.now() - 2 * DAY));
      return world.load().getAdvertisingToken();
    },
    here: NO_TOKEN,
    former: 'advertising-1',
  },
  'init-again-after-logout': {
    what: 'disconnect, then init again with an identity: the events that follow, and isLoginRequired in the first of them',
    row: '`init` again after `disconnect`, with an identity',
    run: async (world) => {
      const sdk = await signedIn(world);
      await logOut(world, sdk);
      const required: unknown[] = [];
      const note = (event: string) => void (event === 'InitCompleted' && required.push(sdk.isLoginRequired()));
      sdk.callbacks.push(note);
      sdk.init({ ...OPTIONS, identity: newSet(5, Date.now() + MINUTE) });
      await world.settle();
      return [world.events.slice(3), required.at(-1)];
    },
    here: [['InitCompleted', 'IdentityUpdated advertising-5'], false],
    former: [['InitCompleted advertising-5'], false],
  },
  'earlier-options': {
    what: 'init with an identity that is due, without baseUrl, on a page after one with baseUrl: the host of the request',
    row: 'options of an earlier page that `init` omits',
    run: async (world) => {
      await nextPage(world, OPTIONS);
      const sdk = world.load();
      await world.settle();
      sdk.init({ identity: wireSet(1, Date.now() - 20 * MINUTE) });
      await world.settle();
      return world.sent.map(({ url }) => new URL(url).host);
    },
    here: ['prod.uidapi.com'],
    former: ['operator.example'],
  },
  'logout-before-init': {
    what: 'disconnect on a page that does not call init: the events, and isInitComplete',
    row: '`disconnect` before `init`',
    run: async (world) => {
      const sdk = world.load();
      await logOut(world, sdk);
      return [world.events, sdk.isInitComplete()];
    },
    here: [['SdkLoaded', 'IdentityUpdated', 'InitCompleted'], true],
    former: [['SdkLoaded', 'IdentityUpdated'], false],
    former3: [['SdkLoaded'], false],
  },
  'plain-http-operator': {
    what: 'init with a baseUrl of plain http that is not on loopback',
    row: '`baseUrl`',
    run: async (world) => failure(() => world.load().init({ baseUrl: 'http://operator.example' })),
    here: 'TypeError',
    former: 'none',
  },
  'legacy-logout': {
    what: 'disconnect: the statuses that the callback of init receives',
    row: 'legacy callback at `disconnect`',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const sdk = await signedIn(world, wireSet(1), { ...OPTIONS, callback });
      await logOut(world, sdk);
      return statuses;
    },
    here: [0, -1],
    former: [0],
  },
  'legacy-expiry': {
    what: 'the token expires while every refresh fails: the statuses that the callback of init receives',
    row: 'legacy callback when the token expires',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      await signedIn(world, wireSet(1), { ...OPTIONS, callback });
      world.serve(answersPlain(503));
      await world.advance(61 * MINUTE);
      return statuses;
    },
    here: [0, 100],
    former: [0],
  },
  'legacy-again': {
    what: 'setIdentity with an ended identity, twice, then with an opt-out: the statuses that the callback of init receives',
    row: 'legacy callback when a second set has ended',
    run: async (world) => {
      const { statuses, callback } = noteStatuses();
      const sdk = await nextPage(world, { ...OPTIONS, callback });
      world.serve(answersPlain(400, { status: 'expired_token' }));
      const ended = newSet(5, Date.now() - 2 * DAY);
      for (const identity of [ended, ended, { status: 'optout', refresh_expires: Date.now() + DAY }]) {
        await logIn(world, sdk, identity);
      }
      await world.advance(MINUTE);
      return statuses;
    },
    here: [-1, -3, -4],
    former: [-1, -3, -3, -4],
  },
  'unknown-members': {
    what: 'getIdentity, where the identity had members that no set has',
    row: 'members of an identity that no set has',
    run: async (world) => {
      const sdk = await signedIn(world, { ...wireSet(1), note: 'kept' });
      await world.settle();
      return sdk.getIdentity().note;
    },
    here: undefined,
    former: 'kept',
  },
  'local-storage-after-logout': {
    what: "disconnect: the UID2 SDK's key in local storage",
    run: async (world) => {
      const sdk = await signedIn(world);
      await logOut(world, sdk);
      return localStorage.getItem(KEY);
    },
    ...same(null),
  },
  'sign-in-twice': {
    what: 'setIdentity twice with the same set: the events after it',
    row: '`setIdentity` with the current set',
    run: async (world) => {
      const sdk = await signedIn(world);
      const identity = wireSet(1);
      await logIn(world, sdk, identity);
      return world.events.slice(2);
    },
    here: [],
    former: ['IdentityUpdated advertising-1'],
  },
  'opt-out-twice': {
    what: 'setIdentity with an opt-out, twice: the events',
    row: 'an opt-out after an opt-out',
    run: async (world) => {
      const sdk = await signedIn(world);
      for (const _ of [1, 2]) await logIn(world, sdk, { status: 'optout', refresh_expires: Date.now() + DAY });
      return world.events.slice(2);
    },
    here: ['OptoutReceived', 'IdentityUpdated'],
    former: ['OptoutReceived', 'IdentityUpdated', 'OptoutReceived', 'IdentityUpdated'],
  },
  'logout-twice': {
    what: 'disconnect twice: the events',
    row: '`disconnect` again',
    run: async (world) => {
      const sdk = await signedIn(world);
      await logOut(world, sdk);
      await logOut(world, sdk);
      return world.events.slice(2);
    },
    here: ['IdentityUpdated'],
    former: ['IdentityUpdated', 'IdentityUpdated'],
  },
  'init-again-after-opt-out': {
    what: 'init again, after an opt-out: the events that follow',
    row: '`init` again after an opt-out',
    run: async (world) => {
      world.serve(answersSealed({ status: 'optout' }));
      const sdk = await signedIn(world);
      await world.advance(16 * MINUTE);
      sdk.init(OPTIONS);
      await world.settle();
      return world.events.slice(4);
    },
    here: ['InitCompleted'],
    former: ['InitCompleted', 'OptoutReceived'],
  },
  'ended-login': {
    what: 'setIdentity with an identity whose refresh token has expired: whether login is required, the events, and the requests',
    row: 'a set past `refresh_expires`',
    run: async (world) => {
      const sdk = await signedIn(world);
      world.serve(answersPlain(400, { status: 'expired_token' }));
      await logIn(world, sdk, newSet(5, Date.now() - 2 * DAY));
      await world.advance(HOUR);
      return [sdk.isLoginRequired(), world.events.slice(2), world.sent.length];
    },
    here: [true, ['IdentityUpdated'], 1],
    former: [true, ['IdentityUpdated'], 0],
  },
  'events-of-failed-refresh': {
    what: 'a refresh that fails while the token is good: the event that follows',
    row: 'a failed refresh while the token is valid',
    run: async (world) => {
      await signedIn(world);
      world.serve(answersPlain(503));
      await world.advance(16 * MINUTE);
      return world.events[2];
    },
    here: undefined,
    former: 'IdentityUpdated advertising-1',
  },
};

export const scenarios: Readonly<Record<string, Scenario>> = { ...shared, ...different };
