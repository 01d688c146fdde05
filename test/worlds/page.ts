/** What the story reads and calls on the pages of a world, and what holds at every step. */

import { expect } from 'vitest';
import type { Tab } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import type { SeenEvent, SeenRead } from './recorder.ts';
import type { Build, WorldSite } from './site.ts';
import type { StepName } from './story.ts';
import type { World } from './world.ts';

/** A story in progress. */
export interface Story {
  readonly world: World;
  readonly build: Build;
  readonly engine: string;
  readonly site: WorldSite;
  readonly tabs: readonly [Tab, Tab];
  /** The process of the browser, if it belongs to these tests alone. */
  readonly pid?: number | undefined;
  /** End the story, because this browser cannot be in this world. */
  readonly skip: (why: string) => void;
  /** The current step, and codes of errors that the page may be told of in it. */
  step?: StepName;
  errors: readonly string[];
}

interface Observed {
  readonly events: readonly SeenEvent[];
  readonly reads: readonly SeenRead[];
  readonly problems: readonly string[];
}

/** Whether the tabs and later pages share one identity. */
export const isShared = ({ world }: Story) => world.promises !== 'memory only';

/** The tabs in which the story has to do what it does: with shared storage, the first one is enough. */
export const actors = (story: Story): readonly Tab[] => (isShared(story) ? story.tabs.slice(0, 1) : story.tabs);

/** Whether a tab learns of another only when it wakes up, because it gets no messages. */
export const isWoken = ({ world }: Story) => world.promises === 'a tab learns of others when it wakes up';

export const observed = ({ evaluate }: Tab) =>
  evaluate<Observed>('({ events: seen.events, reads: seen.reads, problems: seen.problems })');

export const eventsOf = async (tab: Tab, name: string) =>
  (await observed(tab)).events.filter((event) => event.name === name);

export const causesOf = async (tab: Tab) => (await eventsOf(tab, 'token')).map(({ cause }) => cause);

/** What holds at every step, on the page that a tab shows now. */
export const observe = async (story: Story, tab: Tab) => {
  if (!(await tab.evaluate('!!window.seen'))) return;
  const { events, reads, problems } = await observed(tab);
  const unexpected = problems.filter((problem) => problem !== story.world.thrown);
  expect(unexpected, 'nothing is thrown into the page').toEqual([]);
  const codes = events.flatMap(({ name, code }) => (name === 'error' ? [code!] : []));
  const explained = [...story.errors, ...(story.world.errors ?? [])];
  expect(
    codes.filter((code) => !explained.includes(code)),
    'no error that nothing explains',
  ).toEqual([]);
  let users: string[] | undefined;
  for (const each of reads) {
    if ('onlyOf' in each) users = each.onlyOf.split(' ');
    else if (each.token) {
      const { user, expiresAt = Number.POSITIVE_INFINITY } = await story.site.find(each.token);
      if (users) expect(users, 'no token of a former user').toContain(user);
      users = users?.slice(users.indexOf(user));
      expect(each.to - expiresAt, 'ms after the expiry of a token that was read').toBeLessThan(0);
    }
  }
  await tab.evaluate('seen.forget()');
};

/** Load the page in a tab: only tokens of the user who is signed in at the server may be read there. */
export const visit = async (story: Story, tab: Tab) => {
  await observe(story, tab);
  await tab.goto(`${story.site.page}?${story.site.user}`);
  await eventually('there is a session', () => tab.evaluate<boolean>('!!seen.session'), Boolean);
  await tab.evaluate('seen.session.ready');
};

/** Leave the page as by a link, after a `last` call, and wait for the next one. */
export const leave = async (story: Story, tab: Tab, last = '') => {
  await observe(story, tab);
  await tab.evaluate(
    `void (window.isLeft = true, setTimeout(() => { ${last}; location.href = location.href.split('?')[0]; }))`,
  );
  const isThere = '!window.isLeft && !!window.seen?.session';
  await eventually('the next page', () => tab.evaluate<boolean>(isThere).catch(() => false), Boolean);
  await tab.evaluate('seen.session.ready');
};

/**
 * Call a method of the session. Returns `resolved` or the code of the error.
 *
 * @param user  from the call on, only tokens of this user may be read.
 */
export const call = (tab: Tab, method: string, user?: string) =>
  tab.evaluate<string>(`(${user ? `seen.onlyOf('${user}')` : 0}, seen.outcome(() => seen.session.${method}))`);

/** Expect that a call resolves, or rejects as the world says. It counts in memory all the same. */
export const succeed = async ({ world }: Story, tab: Tab, method: string, user?: string) =>
  expect(await call(tab, method, user), method.slice(0, 9)).toBe(world.rejects ?? 'resolved');

/** Supply a set, where it is needed. */
export const supply = async (story: Story, answer: string, user?: string) => {
  for (const tab of actors(story)) await succeed(story, tab, `setTokens(${answer})`, user);
};

export const tokenOf = (answer: string) => JSON.parse(answer).body.advertising_token as string;

/** Read the token. */
export const read = async (story: Story, tab: Tab): Promise<string | null> => {
  if (isWoken(story)) await tab.evaluate(`dispatchEvent(new Event('online'))`);
  return tab.evaluate('seen.read()');
};

/** How long the story waits for something. */
const limitOf = ({ world: { lateMs = 0 } }: Story) => 20_000 + lateMs;

/** Wait until a tab returns a token of a user, and return it. From then on it may return no other user's. */
export const holds = async (story: Story, tab: Tab, user: string): Promise<string> => {
  const ownerOf = async () => {
    const token = await read(story, tab);
    return { token, user: token && (await story.site.find(token)).user };
  };
  const what = `the page has a token of ${user}`;
  const { token } = await eventually(what, ownerOf, (found) => found.user === user, limitOf(story));
  await tab.evaluate(`seen.onlyOf('${user}')`);
  return token!;
};

/** Wait until a tab returns no token. From then on it may return none. */
export const holdsNone = async (story: Story, tab: Tab) => {
  await eventually(
    'the page has no token',
    () => read(story, tab),
    (token) => token === null,
  );
  await tab.evaluate(`seen.onlyOf('nobody')`);
};

/** Wait until the last event of a name matches, without a read of the token: the session's own timer must emit it. */
export const emitted = (story: Story, tab: Tab, name: string, matches = (_: SeenEvent): unknown => true) => {
  const last = async () => {
    if (isWoken(story)) await tab.evaluate(`dispatchEvent(new Event('online'))`);
    return (await eventsOf(tab, name)).at(-1);
  };
  return eventually(`the event ${name}`, last, (event) => event && matches(event), limitOf(story));
};

/** Do something that makes at most so many requests. */
export const asking = async (
  { site, world, step }: Story,
  provide: number,
  refresh: number | (() => number),
  work: () => Promise<unknown>,
) => {
  const countOf = (list: readonly string[], what: string) => list.filter((request) => request === what).length;
  const provided = () => countOf(site.requests, 'POST /token');
  const refreshed = () => countOf(site.asked, 'POST /v2/token/refresh');
  const before = { provided: provided(), refreshed: refreshed() };
  await work();
  const most = typeof refresh === 'function' ? refresh() : refresh;
  expect(provided() - before.provided, 'calls of provide').toBeLessThanOrEqual(
    provide + (world.moreProvides?.[step!] ?? 0),
  );
  expect(refreshed() - before.refreshed, 'refreshes').toBeLessThanOrEqual(most + (world.moreRefreshes?.[step!] ?? 0));
};
