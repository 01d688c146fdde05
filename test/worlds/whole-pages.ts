/** Worlds of kind 1 and 5 for which a browser must do something with a whole page: keep it, freeze it, end it, or place it elsewhere. */

import { expect } from 'vitest';
import type { Tab } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { asking, call, holds, holdsNone, observe, type Story, visit } from './page.ts';
import type { Step } from './story.ts';
import { inTabs, type World } from './world.ts';

/** How a page is where it cannot run, while `meanwhile` happens. */
export type Away = (story: Story, tab: Tab, meanwhile: () => Promise<unknown>) => Promise<void>;

/** Navigate as by a link, and wait: evaluations during the navigation fail. */
const go = async (tab: Tab, step: string, there: string) => {
  await tab.evaluate(`void setTimeout(() => ${step})`);
  await eventually(step, () => tab.evaluate<boolean>(there).catch(() => false), Boolean);
};

export const goElsewhere = (tab: Tab) =>
  go(tab, 'location.assign("/elsewhere")', 'location.pathname === "/elsewhere" && document.readyState === "complete"');

export const inCache: Away = async ({ skip }, tab, meanwhile) => {
  await tab.evaluate('void (window.isBack = false)');
  await goElsewhere(tab);
  await meanwhile();
  await go(tab, 'history.back()', 'document.readyState === "complete" && location.pathname === "/"');
  if (!(await tab.evaluate('window.isBack'))) skip('it has no back/forward cache');
};

export const frozen: Away = async (_, tab, meanwhile) => {
  await tab.evaluate('void (window.isBack = false)');
  await tab.setFrozen!(true);
  await meanwhile();
  await tab.setFrozen!(false);
  await eventually('the page runs again', () => tab.evaluate<boolean>('isBack'), Boolean);
};

/** A page reads and asks for the token at the earliest moment after it was away: before the session is told. */
export const READ_WHEN_BACK = `for (const type of ['pageshow', 'resume'])
  addEventListener(type, ({ persisted }) => {
    if (type === 'pageshow' && !persisted) return;
    window.isBack = true;
    seen.read();
    window.asked = seen.outcome(() => seen.session.getToken());
  }, true);`;

/** Instead of a logout: while the page is away the user signs out in another tab. It has no token of that user when it is back. */
export const logOutMeanwhile =
  (away: Away): Step =>
  async (story) => {
    const [one, two] = story.tabs;
    story.site.user = 'cat';
    await visit(story, one);
    await visit(story, two);
    for (const tab of story.tabs) await holds(story, tab, 'cat');
    await away(story, one, async () => {});
    expect(await one.evaluate('asked'), 'a page that comes back with its user').toBe('resolved');
    await holds(story, one, 'cat');
    story.site.user = 'nobody';
    await one.evaluate(`seen.onlyOf('nobody')`);
    await away(story, one, async () => expect(await call(two, 'clear()', 'nobody')).toBe('resolved'));
    expect(await one.evaluate('asked'), 'a page that comes back after the logout').toBe('no_token');
    await holdsNone(story, one);
    // After a page was restored, Firefox's driver never reports the end of the next navigation.
    await observe(story, one);
    return false;
  };

/** Instead of the refresh: the only tab that makes it ends in the middle. Another one waits 12 s for it, and makes its own. */
const endInRefresh: Step = async (story) => {
  const [one, two] = story.tabs;
  await observe(story, two);
  await two.goto(`${story.site.origin}/recorder.js`);
  await asking(story, 0, 2, async () => {
    let asked = 0;
    story.site.service = async (go) => (++asked === 1 ? new Promise(() => {}) : go());
    const answer = await story.site.issue('ann', 200);
    await call(one, `setTokens(${answer})`);
    await eventually('the service is asked', async () => asked, Boolean);
    await visit(story, two);
    const before = await holds(story, two, 'ann');
    await (one.crash ?? one.close)();
    const token = () => two.evaluate<string | null>('seen.read()');
    // A tab looks at its timer once a minute: this is the end of its wait.
    await eventually('the next token', token, (held) => held && held !== before, 45_000);
  });
  return false;
};

/** From the next write on, the page runs no task any more: it does not hear that the write succeeded. It asks for `/written` before. */
const HANG_AFTER_WRITE = `const { put } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.put = function (...args) {
    queueMicrotask(() => {
      const request = new XMLHttpRequest();
      request.open('GET', '/written', false);
      request.send();
      for (;;);
    });
    return put.apply(this, args);
  };`;

/** Instead of a logout: the process of the page ends once it has sent the write. */
const endInWrite: Step = async (story) => {
  const [one, two] = story.tabs;
  story.site.user = 'nobody';
  await inTabs(`${HANG_AFTER_WRITE} setTimeout(() => seen.session.clear());`, 1)(story);
  await eventually(
    'the write',
    async () => story.site.requests,
    (requests) => requests.includes('GET /written'),
  );
  await two.crash!();
  await visit(story, one);
  expect(await call(one, 'getToken()')).toBe('no_token');
  return false;
};

const elsewhere = () =>
  new Response('<!doctype html><title>elsewhere</title>', { headers: { 'content-type': 'text/html' } });

/** Kind 1: what other tabs do while a page cannot run counts, and so does what an ended page has begun. */
export const ended: World[] = [
  {
    name: 'a logout while a page is in the back/forward cache',
    in: ['chromium', 'firefox', 'webkit'],
    early: READ_WHEN_BACK,
    routes: { '/elsewhere': elsewhere },
    instead: { logout: logOutMeanwhile(inCache) },
    builds: ['tag'],
    engines: ['chromium', 'firefox', 'webkit'],
  },
  {
    // Only this driver can freeze a page.
    name: 'a logout while a page is frozen',
    in: ['chromium'],
    early: READ_WHEN_BACK,
    instead: { logout: logOutMeanwhile(frozen) },
    builds: ['tag'],
    engines: ['chromium'],
  },
  {
    name: 'the tab that makes the refresh ends',
    in: ['chromium', 'firefox', 'webkit'],
    instead: { due: endInRefresh },
    builds: ['tag'],
  },
  {
    // Only this driver can end the process of a page.
    name: 'the process of a page ends before it hears that a logout was written',
    in: ['chromium'],
    instead: { logout: endInWrite },
    builds: ['tag'],
    engines: ['chromium'],
  },
];

/** Kind 5: a page that has another kind of origin. */
export const placed: World[] = [
  {
    // The files of a script tag; a module cannot be loaded from a file.
    name: 'two tabs of a page that is a file on a disk',
    in: ['drop-in', 'webkit'],
    isFile: true,
    // WebKit delivers no message between files.
    promises: 'a tab learns of others when it wakes up',
    builds: ['tag', 'drop-in'],
  },
  {
    name: 'a sandboxed page, whose origin is opaque: it has no storage',
    in: ['tag'],
    policy: () => 'sandbox allow-scripts',
    promises: 'memory only',
    errors: ['storage_failed'],
    rejects: 'storage_failed',
    // The story keeps the outcome of a logout in local storage.
    instead: { leave: async () => {} },
    builds: ['tag'],
  },
];
