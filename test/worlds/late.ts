/** Worlds of kind 2b, what answers late: a late answer counts, and what waits for it goes on. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Tab } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import {
  asking,
  call,
  causesOf,
  emitted,
  holds,
  holdsNone,
  read,
  type Story,
  succeed,
  tokenOf,
  visit,
} from './page.ts';
import type { Step, StepName } from './story.ts';
import { type Away, frozen, inCache, logOutMeanwhile, READ_WHEN_BACK } from './whole-pages.ts';
import type { World } from './world.ts';

/** How late a store is, ms, where nothing depends on it. */
const STORE_MS = 5_000;

/** A store that answers soon after memory has stood in for it, ms: while something that this has started is going on. */
const SOON_MS = 2_000;

const DELAYS = [SOON_MS, STORE_MS, 12_000];

/** `indexedDB.open` answers late while local storage says so. */
export const OPEN_LATE = `const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...args) {
    const request = open.apply(this, args);
    let { lateMs } = localStorage;
    request.addEventListener('success', (event) => {
      if (!lateMs) return;
      event.stopImmediatePropagation();
      setTimeout(() => request.dispatchEvent(new Event('success')), lateMs);
      lateMs = 0;
    });
    return request;
  };`;

/** In a worker: keep a transaction, and with it all others waiting, until the server answers. */
const HOLDER = `onmessage = ({ data: ms }) => (indexedDB.open('tessera').onsuccess = ({ target: { result: database } }) => {
  database.transaction('session', 'readwrite').objectStore('session').get(0).onsuccess = () => {
    postMessage('held');
    const request = new XMLHttpRequest();
    request.open('GET', '/hold?' + ms, false);
    request.send();
    database.close();
    postMessage('free');
  };
});`;

const routes: World['routes'] = {
  '/holder.js': () => new Response(HOLDER, { headers: { 'content-type': 'text/javascript' } }),
  '/hold': async ({ url }) => {
    await sleep(Number(new URL(url).search.slice(1)));
    return new Response();
  },
};

/** Hold the store for all tabs. Resolves once it is held; `isFree` resolves when it is free again. */
const hold = (tab: Tab, ms: number) =>
  tab.evaluate(`new Promise((resolve) => {
    window.holder = new Worker('/holder.js');
    window.isFree = new Promise((free) => (holder.onmessage = ({ data }) => (data === 'held' ? resolve(1) : free(1))));
    holder.postMessage(${ms});
  })`);

/** A page of the site without a session. */
const goAside = ({ site }: Story, tab: Tab) => tab.goto(`${site.origin}/recorder.js`);

const openLate = async (story: Story, ms: number) => {
  await goAside(story, story.tabs[0]);
  await story.tabs[0].evaluate(`void (localStorage.lateMs = ${ms})`);
};

const openInTime = ({ tabs: [one] }: Story) => one.evaluate('void localStorage.removeItem("lateMs")');

const persistenceOf = (tab: Tab) => tab.evaluate<string>('seen.session.state.persistence');

const isUsedAgain = ({ tabs }: { readonly tabs: readonly Tab[] }) =>
  eventually(
    'the store is used again',
    () => Promise.all(tabs.map(persistenceOf)),
    (kinds) => kinds.every((kind) => kind === 'indexeddb'),
  );

/** Instead of the return visit: memory stands in, so `provide` is asked, and gives way to the stored token when the store answers. */
const returnToLate =
  (ms: number, makeLate: (story: Story, ms: number) => Promise<unknown>): Step =>
  async (story) => {
    const [one] = story.tabs;
    const stored = await read(story, one);
    await asking(story, 1, 0, async () => {
      await makeLate(story, ms);
      await visit(story, one);
      await openInTime(story);
      if (ms > SOON_MS) {
        expect(await persistenceOf(one)).toBe('memory');
        await holds(story, one, 'ann');
      }
      await eventually(
        'the stored token',
        () => read(story, one),
        (token) => token === stored,
      );
      await isUsedAgain({ tabs: [one] });
      const causes = await causesOf(one);
      if (ms > SOON_MS) expect(causes).toEqual(['provide', 'load']);
      else expect(causes.at(-1)).toBe('load');
    });
  };

/** Instead of the first visit: three pages at once, one of them in a frame, none of which sees what another has stored. */
const threeFirstVisits =
  (ms: number): Step =>
  async (story) => {
    const { site, tabs } = story;
    site.user = 'ann';
    await openLate(story, ms);
    await asking(story, 3, 0, async () => {
      await Promise.all(tabs.map((tab) => visit(story, tab)));
      await tabs[0].evaluate(
        `new Promise((resolve) => { const frame = document.createElement('iframe'); frame.src = '/'; frame.onload = () => resolve(1); document.body.append(frame); })`,
      );
      await openInTime(story);
      const tokens = () =>
        Promise.all([
          ...tabs.map((tab) => tab.evaluate('seen.read()')),
          tabs[0].evaluate('frames[0].seen.session?.advertisingToken'),
        ]);
      await eventually('a token in all three', tokens, (list) => list.every(Boolean));
      await isUsedAgain(story);
      await eventually('the same token in all three', tokens, (list) => new Set(list).size === 1);
    });
  };

/** Instead of the logout: nobody confirms it in time, so the call rejects, and it is carried out all the same. */
const logOutUnconfirmed: Step = async (story) => {
  const [one, two] = story.tabs;
  story.site.user = 'nobody';
  expect(await call(two, 'clear()', 'nobody')).toBe('storage_failed');
  await holdsNone(story, one);
  for (const tab of story.tabs) {
    await visit(story, tab);
    expect(await call(tab, 'getToken()')).toBe('no_token');
  }
};

/** Instead of a step: the story is over. */
const isOver: Step = async () => false;

/** Answer late. */
const after =
  (ms: number) =>
  async (go: () => Promise<Response>): Promise<Response> => {
    await sleep(ms);
    return go();
  };

type Service = NonNullable<World['service']>;

/** A service that accepts a refresh token once. */
const once = (): Service => {
  const used = new Set<string>();
  return async (go, _, request) => {
    const sent = await request.clone().text();
    const headers = { 'access-control-allow-origin': '*' };
    if (used.has(sent)) return new Response('{"status":"invalid_token"}', { status: 400, headers });
    used.add(sent);
    return go();
  };
};

/** The answer comes in twelve parts, one a second. */
const trickled = async (go: () => Promise<Response>): Promise<Response> => {
  const response = await go();
  const bytes = new Uint8Array(await response.arrayBuffer());
  const size = Math.ceil(bytes.length / 12);
  let at = 0;
  const body = new ReadableStream({
    pull: async (controller) => {
      await sleep(1_000);
      controller.enqueue(bytes.subarray(at, (at += size)));
      if (at >= bytes.length) controller.close();
    },
  });
  return new Response(body, response);
};

/** It accepts a refresh token once: that answer is late, a refusal is not. */
const onceAfter = (ms: number): Service => {
  const accept = once();
  return (go, nth, request) => accept(() => after(ms)(go), nth, request);
};

/** Instead of `due`: the set of both tabs falls due while the store is held. */
const dueInHeldStore: Step = async (story) => {
  const { site, tabs } = story;
  const answer = await site.issue('ann', 2_500);
  // Each tab is on its own. The second one is refused, and asks for another set.
  await asking(story, 1, 2, async () => {
    await succeed(story, tabs[0], `setTokens(${answer})`);
    for (const tab of tabs)
      await eventually(
        'the set in both tabs',
        () => read(story, tab),
        (token) => token === tokenOf(answer),
      );
    await hold(tabs[0], STORE_MS);
    for (const tab of tabs) await emitted(story, tab, 'token', ({ token }) => token !== tokenOf(answer));
    await isUsedAgain(story);
    const [one, other] = await Promise.all(tabs.map((tab) => read(story, tab)));
    expect(one).toBe(other);
  });
};

/** The store is held for all tabs from before a step on. */
const heldIn = (step: StepName, next: StepName, more: Partial<World> = {}, ms = STORE_MS): World => ({
  name: `the store answers after ${ms / 1000} s: ${step}`,
  routes,
  ...more,
  before: { [step]: ({ tabs: [one] }: Story) => hold(one, ms), [next]: isUsedAgain },
});

/** The page is cached, as far as its events say. */
const dispatched: Away = async (_, tab, meanwhile) => {
  const events = (type: string) => `dispatchEvent(new PageTransitionEvent('${type}', { persisted: true }))`;
  await tab.evaluate(events('pagehide'));
  await meanwhile();
  await tab.evaluate(events('pageshow'));
};

/** A page that is away while it waits for the store keeps all other pages waiting, so it stays until the store has answered. */
const untilAnswered =
  (away: Away): Away =>
  async (story, ...more) => {
    await away(story, ...more);
    await story.tabs[1].evaluate('isFree');
    await isUsedAgain(story);
  };

const shownAgain = (
  away: Away,
  engines: NonNullable<World['engines']>,
  place: NonNullable<World['in']>,
  ms = STORE_MS,
): World => ({
  name: `the store answers after ${ms / 1000} s: a page that is shown again`,
  in: place,
  early: READ_WHEN_BACK,
  routes: {
    ...routes,
    '/elsewhere': () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }),
  },
  instead: {
    logout: logOutMeanwhile((story, tab, meanwhile) =>
      away(story, tab, async () => {
        await meanwhile();
        await hold(story.tabs[1], ms);
      }),
    ),
  },
  builds: ['tag'],
  engines,
});

/**
 * The write of a refresh finds the store held; the service accepts the refresh token once. After 12 s the other tab tries, is refused,
 * and asks for another set.
 */
const heldInRefresh = (ms: number): World => ({
  name: `the store answers after ${ms / 1000} s, and the service accepts a refresh token once: the write of a refresh`,
  in: ms === STORE_MS ? ['tag'] : [],
  routes,
  ...(ms > STORE_MS && { moreRefreshes: { due: 1 }, moreProvides: { due: 1 } }),
  before: {
    due: async ({ site, tabs: [one] }) => {
      const accept = once();
      let held: Promise<unknown> | undefined;
      site.service = async (...request) => {
        await (held ??= hold(one, ms));
        return accept(...request);
      };
    },
    'sign-in': async (story) => {
      story.site.service = undefined;
      await isUsedAgain(story);
    },
  },
});

/** Memory stands in for a late store, without an error, and what was changed meanwhile is stored when it answers. */
export const lateStores: World[] = [
  ...DELAYS.map(
    (ms): World => ({
      name: `the store opens after ${ms / 1000} s: return visit`,
      in: ms === STORE_MS ? ['npm test', 'firefox', 'webkit'] : [],
      early: OPEN_LATE,
      instead: { 'return visit': returnToLate(ms, openLate) },
    }),
  ),
  {
    name: 'the store opens after 2 s, while `provide` is asked: return visit',
    in: ['tag'],
    early: OPEN_LATE,
    publisher: after(1_000),
    instead: { 'return visit': returnToLate(SOON_MS, openLate), due: isOver },
  },
  ...DELAYS.map(
    (ms): World => ({
      name: `the store opens after ${ms / 1000} s: three first visits at once`,
      in: ms === STORE_MS ? ['tag'] : [],
      early: OPEN_LATE,
      instead: { 'first visit': threeFirstVisits(ms) },
    }),
  ),
  {
    name: 'the store answers after 5 s: return visit',
    routes,
    instead: {
      'return visit': returnToLate(STORE_MS, async (story, ms) => {
        await goAside(story, story.tabs[1]);
        await hold(story.tabs[1], ms);
      }),
    },
  },
  ...DELAYS.map(heldInRefresh),
  // After 12 s, calls are not confirmed in time.
  ...[SOON_MS, STORE_MS].flatMap((ms) => [
    // `setTokens`, and the refresh that is due meanwhile.
    heldIn('due', 'sign-in', {}, ms),
    heldIn('sign-in', 'outage', {}, ms),
    heldIn('logout', 'opt-out', {}, ms),
    shownAgain(untilAnswered(dispatched), ['shell'], ms === SOON_MS ? ['tag'] : [], ms),
  ]),
  heldIn('logout', 'opt-out', { in: ['tag'], instead: { logout: logOutUnconfirmed } }, 12_000),
  {
    name: 'the store answers after 5 s, and the service accepts a refresh token once: a set that falls due',
    routes,
    service: once(),
    instead: { due: dueInHeldStore },
  },
  shownAgain(untilAnswered(frozen), ['chromium'], ['chromium']),
  shownAgain(untilAnswered(inCache), ['firefox', 'webkit'], []),
];

/** Instead of the first visit: the set comes from the app. */
const setOfApp: Step = async (story) => {
  const [one] = story.tabs;
  story.site.user = 'ann';
  await asking(story, 1, 0, async () => {
    await visit(story, one);
    await emitted(story, one, 'needsTokens');
    await holds(story, one, 'ann');
    expect(await causesOf(one)).toEqual(['set']);
  });
  expect(await persistenceOf(one)).toBe('indexeddb');
};

/** The app around the page, which keeps its set for all pages: it answers \`hello\` and \`get\`, each so late on the first page. */
const appAfter = (ms: number) => `const ask = () => new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/token');
    request.onload = () => resolve(localStorage.set = request.responseText);
    request.send();
  });
  const answered = new Set();
  window.tesseraHost = {
    postMessage: (text) => {
      const { kind, id, type, gen } = JSON.parse(text);
      if (kind !== 'req' || answered.has(id)) return;
      answered.add(id);
      setTimeout(async () => {
        const body = type === 'get' ? JSON.parse(localStorage.set || (await ask())) : undefined;
        localStorage.hasApp = 1;
        tesseraHost.onmessage({ data: JSON.stringify({ v: 1, ns: 'tessera', kind: 'res', id, gen, type, body }) });
      }, localStorage.set ? 0 : ${ms});
    },
  };`;

/** Instead of the sign-in: the call gives up after ten seconds. The request goes on, and its answer counts. */
const signInTooLate: Step = async (story) => {
  const [, two] = story.tabs;
  story.site.user = 'ben';
  await asking(story, 1, 0, async () => {
    expect(await call(two, 'signIn()', 'ben')).toBe('timeout');
    for (const tab of story.tabs) await holds(story, tab, 'ben');
  });
  return false;
};

/** A caller stops waiting after ten seconds; the request goes on. When the lease ends, after twelve, another tab may try. */
const lateService = (name: string, ms: number, service: Service): World => ({
  name,
  lateMs: ms,
  service,
  moreRefreshes: { due: 1, leave: 1, 'opt-out': 1 },
});

/** The other tab is refused, and asks for another set. */
const lateAndStrict = (ms: number): World => ({
  ...lateService(`the service answers after ${ms / 1000} s, and accepts a refresh token once`, ms, onceAfter(ms)),
  moreProvides: { due: 1 },
  instead: { 'sign-in': isOver },
});

export const lateServices: World[] = [
  { name: 'the service accepts a refresh token once', service: once() },
  lateService('the service answers after 12 s', 12_000, after(12_000)),
  { ...lateAndStrict(12_000), in: ['tag'] },
  lateAndStrict(30_000),
  { ...lateService('the answers of the service trickle for 12 s', 12_000, trickled), instead: { 'sign-in': isOver } },
  {
    name: 'provide answers after 12 s',
    lateMs: 12_000,
    publisher: after(12_000),
    instead: { 'sign-in': signInTooLate },
  },
  {
    name: 'the consent platform loads after 12 s, on the first page',
    early: `const load = () => { window.__tcfapi = (command, version, receive) => receive({ listenerId: 1, eventStatus: 'tcloaded', gdprApplies: false }, true); };
      setTimeout(load, localStorage.loaded ? 0 : 12_000); localStorage.loaded = 1;`,
    tag: (script) =>
      script
        .replace('import', `import { tcfConsent } from '/page/consent.js'; import`)
        .replace('provide:', 'consent: tcfConsent(), provide:'),
    builds: ['module'],
  },
  {
    name: 'the app answers hello and get after 5 s each, on the first page',
    in: ['module'],
    lateMs: 10_000,
    early: appAfter(5_000),
    tag: (script) =>
      script
        .replace('import', `import { connectWebview } from '/page/webview.js'; import`)
        .replace('seen.start(createSession(', 'const session = createSession(')
        .replace(
          /provide: .*\);/s,
          `refresh: 'off' }); seen.start(session); connectWebview(session, { owner: 'host' });`,
        ),
    instead: { 'first visit': setOfApp, due: isOver },
    builds: ['module'],
  },
];
