/**
 * The story: what a session promises, as steps that run in every world. `worlds.ts` says what a world changes, and what it promises
 * instead.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Tab } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import {
  asking,
  call,
  causesOf,
  emitted,
  eventsOf,
  holds,
  holdsNone,
  isShared,
  isWoken,
  leave,
  observe,
  observed,
  read,
  type Story,
  succeed,
  supply,
  tokenOf,
  visit,
} from './page.ts';

/** A step; one that returns false ends the story. */
export type Step = (story: Story) => Promise<unknown>;

const expectPersistence = async ({ build, tabs: [one] }: Story, persistence: string) => {
  if (build !== 'drop-in') expect(await one.evaluate('seen.session.state.persistence')).toBe(persistence);
};

const firstVisit: Step = async (story) => {
  const [one] = story.tabs;
  story.site.user = 'ann';
  await asking(story, 1, 0, async () => {
    await visit(story, one);
    await emitted(story, one, 'token');
    await holds(story, one, 'ann');
    if (story.build !== 'drop-in') expect(await causesOf(one)).toEqual(['provide']);
  });
  await expectPersistence(story, isShared(story) ? 'indexeddb' : 'memory');
};

const returnVisit: Step = async (story) => {
  const [one] = story.tabs;
  const token = await read(story, one);
  await asking(story, isShared(story) ? 0 : 1, 0, async () => {
    await visit(story, one);
    const held = await holds(story, one, 'ann');
    if (!isShared(story)) return;
    expect(held).toBe(token);
    const got = await one.evaluate('seen.got');
    const takenMs = async () => (await eventsOf(one, 'token'))[0]!.at - (await one.evaluate<number>('seen.startedAt'));
    // It may reject only if the token took longer.
    if (got !== token) expect(await takenMs(), `ms, getToken({ timeoutMs: 500 }): ${got}`).toBeGreaterThan(500);
    if (story.build !== 'drop-in') expect(await causesOf(one)).toEqual(['load']);
    await expectPersistence(story, 'indexeddb');
  });
};

const otherTab: Step = async (story) => {
  const [one, two] = story.tabs;
  await asking(story, isShared(story) ? 0 : 1, 0, async () => {
    await visit(story, two);
    const token = await holds(story, two, 'ann');
    if (isShared(story)) expect(token).toBe(await read(story, one));
  });
};

const due: Step = async (story) => {
  const [one] = story.tabs;
  const before = await read(story, one);
  await asking(story, 0, 1, async () => {
    const answer = await story.site.issue('ann', 700);
    await succeed(story, one, `setTokens(${answer})`);
    for (const tab of isShared(story) ? story.tabs : [one]) {
      await emitted(story, tab, 'token', ({ token }) => ![before, tokenOf(answer)].includes(token!));
      await holds(story, tab, 'ann');
    }
  });
};

const signIn: Step = async (story) => {
  const [one, two] = story.tabs;
  for (const tab of story.tabs) await tab.evaluate('seen.watch()');
  story.site.user = 'ben';
  if (isShared(story)) await one.evaluate(`seen.onlyOf('ann ben')`);
  await asking(story, 1, 0, async () => {
    // The drop-in has no such call: its page asks its server, and supplies the answer.
    const users = story.build === 'drop-in' ? 'ann ben' : 'ben';
    await succeed(story, two, 'signIn()', users);
    for (const tab of isShared(story) ? story.tabs : [two]) await holds(story, tab, 'ben');
  });
  const answer = await story.site.issue('cat');
  if (isShared(story)) await two.evaluate(`seen.onlyOf('ben cat')`);
  await asking(story, 0, 0, async () => {
    await supply(story, answer, 'cat');
    for (const tab of story.tabs) expect(await holds(story, tab, 'cat')).toBe(tokenOf(answer));
  });
};

/** The first pause after a failure, at least. */
const LEAST_PAUSE_MS = 3_750;

/** So many wake-ups may end a pause one after the other. */
const MOST_WAKES = 7;

const outage: Step = async (story) => {
  const [one] = story.tabs;
  const tabs = isShared(story) ? story.tabs : [one];
  story.errors = ['http_status'];
  // Each wake-up may end a pause.
  const startedAt = Date.now();
  const retries = () => Math.floor((Date.now() - startedAt) / LEAST_PAUSE_MS) + (isWoken(story) ? MOST_WAKES : 0);
  await asking(
    story,
    0,
    () => 2 + retries(),
    async () => {
      story.site.service = async () =>
        new Response('', { status: 503, headers: { 'access-control-allow-origin': '*' } });
      await call(one, `setTokens(${await story.site.issue('cat', 300, 1_500)})`);
      for (const tab of tabs) await emitted(story, tab, 'expired');
      for (const tab of tabs) await holdsNone(story, tab);
      if (story.build !== 'drop-in') {
        const errors = async () => (await Promise.all(tabs.map((tab) => eventsOf(tab, 'error')))).flat();
        const failures = async () => (await errors()).filter(({ code }) => code === 'http_status');
        const found = await eventually('an error', failures, (list) => list.length);
        expect(found.length, 'errors in all tabs').toBeLessThanOrEqual(1 + retries());
      }
      // Before the service is back: the page may ask it at any time.
      for (const tab of tabs) await tab.evaluate(`seen.onlyOf('cat')`);
      story.site.service = undefined;
      // The page is online again: it need not wait for its pause.
      await one.evaluate(`dispatchEvent(new Event('online'))`);
      for (const tab of tabs) await holds(story, tab, 'cat');
    },
  );
};

const leaveInTheMiddle: Step = async (story) => {
  const [one, two] = story.tabs;
  // Only this tab can make the attempt.
  await observe(story, two);
  await two.goto(`${story.site.origin}/recorder.js`);
  await asking(story, isShared(story) ? 0 : 1, 3, async () => {
    let isAsked = false;
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    story.site.service = async (go) => {
      isAsked = true;
      await released;
      return go();
    };
    story.site.user = 'cat';
    const answer = await story.site.issue('cat', 200);
    await call(one, `setTokens(${answer})`);
    await eventually('the service is asked', async () => isAsked, Boolean);
    await leave(story, one);
    const { reason } = await one.evaluate<{ reason: string }>('seen.session.state?.next ?? {}');
    expect(['back_off', 'woken'], 'a page that was left is no failure').not.toContain(reason);
    story.site.isSlow = false;
    story.site.service = undefined;
    release();
    const isNext = (token: string | null) => token && token !== tokenOf(answer);
    if (isShared(story)) await eventually('the next token', () => read(story, one), isNext);
  });
  await visit(story, two);
  story.site.user = 'nobody';
  await leave(story, one, `seen.session.clear().then(() => localStorage.setItem('out', 1))`);
  if (await one.evaluate(`!!localStorage.getItem('out')`)) await holdsNone(story, one);
  await supply(story, await story.site.issue('cat'), 'cat');
  await holds(story, two, 'cat');
};

const expectNoToken = async ({ build }: Story, tab: Tab, code: string) => {
  const outcome = await call(tab, 'getToken()');
  if (build === 'drop-in') expect(outcome).not.toBe('resolved');
  else expect(outcome, await tab.evaluate('JSON.stringify(seen.session.state)')).toBe(code);
};

/** If a logout resolves, no later page finds the user. */
const logOut: Step = async (story) => {
  const [one, two] = story.tabs;
  story.site.user = 'nobody';
  for (const tab of isShared(story) ? [two] : story.tabs) await succeed(story, tab, 'clear()', 'nobody');
  await holdsNone(story, one);
  for (const tab of story.tabs) {
    await visit(story, tab);
    // A store that has not answered may bring a token.
    await expectNoToken(story, tab, story.world.isSilent ? 'timeout' : 'no_token');
  }
};

const optOut: Step = async (story) => {
  const [one, two] = story.tabs;
  const tabs = isShared(story) ? story.tabs : [one];
  story.site.user = 'dan';
  await two.evaluate(`seen.onlyOf('dan')`);
  await visit(story, one);
  for (const tab of tabs) await holds(story, tab, 'dan');
  story.site.service = async (go) => {
    await story.site.client.optOut({ email: 'dan@example.com' });
    return go();
  };
  story.site.user = 'nobody';
  await asking(story, 4, 1, async () => {
    await call(one, `setTokens(${await story.site.issue('dan', 100)})`);
    await emitted(story, one, 'optout');
    for (const tab of tabs) await holdsNone(story, tab);
    if (isShared(story)) await visit(story, one);
    await expectNoToken(story, one, 'opted_out');
  });
  story.site.service = undefined;
  // The set of another user is held back until the service has accepted it.
  const answer = await story.site.issue('eve');
  await one.evaluate('seen.watch()');
  await two.evaluate(`seen.onlyOf('eve')`);
  // The page of the drop-in asks by itself, and nobody is signed in.
  await asking(story, story.build === 'drop-in' ? 2 : 0, 1, async () => {
    await call(one, `setTokens(${answer})`, 'eve');
    await holds(story, one, 'eve');
    const reads = (await observed(one)).reads.map((each) => 'token' in each && each.token);
    expect(reads, 'no token before the service accepts the set').not.toContain(tokenOf(answer));
  });
};

const close: Step = async (story) => {
  const [one, two] = story.tabs;
  if (story.build === 'tag') {
    await one.evaluate('seen.fail()');
    const problems = async () => (await observed(one)).problems.join();
    // WebKit hides the text from a page whose origin is opaque.
    await eventually('the page hears its own exception', problems, (found) =>
      /of the page|^Script error\.$/.test(found),
    );
    await one.evaluate('seen.forget()');
  }
  for (const tab of story.tabs) await tab.evaluate('void seen.session.close()');
  const leftovers = (tab: Tab) => () => tab.evaluate<string[]>('seen.leftovers()');
  for (const tab of [two, one])
    await eventually('nothing is left after close()', leftovers(tab), (left) => left.length === 0);
};

/** The steps in order. A world may do something before a step, or promise something else instead. */
const STEPS = {
  'first visit': firstVisit,
  'return visit': returnVisit,
  'other tab': otherTab,
  due,
  'sign-in': signIn,
  outage,
  leave: leaveInTheMiddle,
  logout: logOut,
  'opt-out': optOut,
  close,
} as const;

export type StepName = keyof typeof STEPS;

/** Tell the story. */
export const tell = async (story: Story) => {
  for (const [name, step] of Object.entries(STEPS) as [StepName, Step][]) {
    const { before, instead } = story.world;
    story.step = name;
    try {
      await before?.[name]?.(story);
      const isOver = (await (instead?.[name] ?? step)(story)) === false;
      if (isOver) return;
      for (const tab of story.tabs) await observe(story, tab);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    }
    story.errors = [];
  }
};

/** Instead of a step: this page cannot confirm that no later page finds the former user, so the call rejects. */
export const unconfirmed =
  (method: 'clear()' | 'signIn()', user: 'nobody' | 'ben'): Step =>
  async (story) => {
    story.site.user = user;
    expect(await call(story.tabs[1], method, user)).toBe('storage_failed');
    return false;
  };

/** Instead of a step: two tabs, whatever their clocks, make few requests in six seconds. */
export const fewRequests: Step = async (story) => {
  await asking(story, 2, 4, async () => {
    await visit(story, story.tabs[1]);
    await sleep(6_000);
  });
  return false;
};
