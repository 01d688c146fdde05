/** Steps that several engine tests share: find and wait for records, call the session, navigate. */

import { expect, type TestContext } from 'vitest';
import type { Engine, Tab } from '../support/engine.ts';
import { eventually, type Page, tokensOf } from './fixtures.ts';
import type { Note } from './test-page.ts';

/** The engine under test, and how to skip what it cannot do. */
export interface SuiteContext {
  readonly engine: Engine;
  /** Skip a test that this engine cannot run, and report it. */
  skipUnsupported(context: TestContext, why: string): Promise<void>;
}

/** Time of the first record that matches, not before `sinceAt`; `Infinity` if there is none. */
export const firstAt = async (page: Page, matches: (note: Note) => boolean, sinceAt = 0): Promise<number> =>
  (await page.notes()).find((note) => note.at >= sinceAt && matches(note))?.at ?? Number.POSITIVE_INFINITY;

/** Wait until all pages have the same token, or all none, and it matches. */
export const allHold = (pages: readonly Page[], matches: (token: string | undefined) => unknown, what: string) =>
  eventually(
    what,
    () => tokensOf(pages),
    ([one, ...others]) => matches(one) && others.every((other) => other === one),
  );

/** Call a method of a page's session; returns the time just before, by the page's clock. */
export const act = (page: Page, call: string): Promise<number> =>
  page.evaluate(`(async () => { const at = Date.now(); await harness.session.${call}; return at; })()`);

/**
 * Navigate a tab by evaluating `step`; resolves when `there` evaluates to true. The page navigates by itself, as by a link:
 * after a page was restored, Firefox's driver never reports the end of the next `goto`. Evaluations that fail during the
 * navigation are repeated.
 */
export const go = async (tab: Tab, step: string, there: string): Promise<void> => {
  await tab.evaluate(`void setTimeout(() => ${step})`);
  await eventually(step, () => tab.evaluate(there).catch(() => false), Boolean);
};

/** Go to `/elsewhere`, wait for `meanwhile`, and go back to the cached page; returns the result of `meanwhile`. */
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
    `!!globalThis.harness?.notes.some(({ at, what }) => at > ${leftAt} && what.startsWith('pageshow'))`,
  );
  const since = (await page.notes()).filter(({ at }) => at > leftAt).map(({ what }) => what);
  const why = await page.evaluate('JSON.stringify(performance.getEntriesByType("navigation")[0]?.notRestoredReasons)');
  expect(since, `why the page was not cached: ${why}`).toContain('pageshow persisted');
  return done;
};
