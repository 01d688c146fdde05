/** Steps that several stories take: what a page saw and when, what it is made to do, where it goes. */

import { expect, type TestContext } from 'vitest';
import type { Engine, Tab } from '../support/engine.ts';
import { eventually, type Page, tokensOf } from './fixtures.ts';
import type { Note } from './page.ts';

/** What a story is told with. */
export interface Teller {
  readonly engine: Engine;
  /** Pass a story over that this engine cannot be told, and say so. */
  passOver(context: TestContext, why: string): Promise<void>;
}

/** When a page first saw what `so` looks for; after `sinceAt` where given. */
export const firstAt = async (page: Page, so: (note: Note) => boolean, sinceAt = 0): Promise<number> =>
  (await page.notes()).find((note) => note.at >= sinceAt && so(note))?.at ?? Number.POSITIVE_INFINITY;

/** Wait until every page holds one and the same token that `so` agrees with, or none. */
export const allHold = (pages: readonly Page[], so: (token: string | undefined) => unknown, what: string) =>
  eventually(
    what,
    () => tokensOf(pages),
    ([one, ...others]) => so(one) && others.every((other) => other === one),
  );

/** Do something in a page. Gives the instant just before, by the page's clock. */
export const act = (page: Page, call: string): Promise<number> =>
  page.evaluate(`(async () => { const at = Date.now(); await story.session.${call}; return at; })()`);

/**
 * Follow `step` in a tab; settles when `there` reads true. The page itself goes, as by a link: after a page was restored,
 * Firefox's driver does not hear the end of the next `goto`. What is asked while a page goes fails, and counts for nothing.
 */
export const go = async (tab: Tab, step: string, there: string): Promise<void> => {
  await tab.evaluate(`void setTimeout(() => ${step})`);
  await eventually(step, () => tab.evaluate(there).catch(() => false), Boolean);
};

/** Go to `/elsewhere`, and come back when `meanwhile` is done, to the page as it was. Gives what `meanwhile` does. */
export const leaveAndReturn = async <T>(page: Page, meanwhile: () => Promise<T>): Promise<T> => {
  const leftAt = (await page.notes()).at(-1)!.at;
  await go(
    page,
    'location.assign("/elsewhere")',
    'location.pathname === "/elsewhere" && document.readyState === "complete"',
  );
  const done = await meanwhile();
  await go(
    page,
    'history.back()',
    `!!globalThis.story?.notes.some(({ at, what }) => at > ${leftAt} && what.startsWith('pageshow'))`,
  );
  const since = (await page.notes()).filter(({ at }) => at > leftAt).map(({ what }) => what);
  const why = await page.evaluate('JSON.stringify(performance.getEntriesByType("navigation")[0]?.notRestoredReasons)');
  expect(since, `why the page was not kept: ${why}`).toContain('pageshow persisted');
  return done;
};
