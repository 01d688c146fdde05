/** A user signs out in one tab: no other tab, be it open, in the back/forward cache or frozen, gives out the old token. */

import { expect, test } from 'vitest';
import { createFixture, eventually, type Fixture, type Page } from './fixtures.ts';
import { act, allHold, firstAt, go, leaveAndReturn, type SuiteContext } from './steps.ts';
import type { Note } from './test-page.ts';

/** A tab without messages finds a change when its timer runs, once a minute. Earlier than that, it was a message. */
const MESSAGE_MS = 45_000;

const USER = 'first@example.com';

/** The expected state after the user has signed out. */
interface Expected {
  /** Time just before the call, by the clock of the page where it was made. */
  readonly at: number;
  readonly phase: string;
  /** The only token that may be given out: that of the next user, if there is one. */
  readonly token?: string;
}

/** Sign {@link USER} out on a page. The three ways take turns below: what they do to the record is tested without a browser. */
type SignOut = (page: Page, fixture: Fixture) => Promise<Expected>;

const switchUser: SignOut = async (page, { setFor }) => {
  const { call, token } = await setFor('next@example.com');
  return { at: await act(page, call), phase: 'fresh', token };
};
const logOut: SignOut = async (page) => ({ at: await act(page, 'clear()'), phase: 'empty' });
const optOut: SignOut = async (page, fixture) => {
  await fixture.optOut(USER);
  return { at: await act(page, 'refresh().catch(() => {})'), phase: 'optedOut' };
};

/** Sign the user in on the first page; returns the token once all pages have it. */
const signIn = async (pages: readonly Page[], { setFor }: Fixture): Promise<string> => {
  const { call, token } = await setFor(USER);
  await pages[0]!.session(call);
  await allHold(pages, (held) => held === token, 'all tabs hold the token');
  return token;
};

const isExpected =
  ({ phase, token }: Expected) =>
  (note: Note): boolean =>
    note.phase === phase && note.token === token;

/** All tokens that a page has given out since a time. */
const tokensSince = async (page: Page, sinceAt: number): Promise<string[]> => [
  ...new Set((await page.notes()).flatMap(({ at, token }) => (at >= sinceAt && token ? [token] : []))),
];

/** Wait until the first getToken() after the return of a page has settled. */
const waitForGetToken = (page: Page, sinceAt: number) =>
  eventually(
    'getToken() has settled',
    () => firstAt(page, ({ what }) => what === 'getToken', sinceAt),
    Number.isFinite,
  );

/** Expect that a page has adopted the new state after its return, and has given out no old token. */
const expectSignedOut = async (page: Page, expected: Expected, sinceAt: number) => {
  await eventually('the new state is adopted', () => firstAt(page, isExpected(expected), sinceAt), Number.isFinite);
  await waitForGetToken(page, sinceAt);
  expect(await tokensSince(page, sinceAt)).toEqual(expected.token ? [expected.token] : []);
};

/** Whether the engine has a back/forward cache: an old headless Chromium has none. */
const keepsPages = async ({ open, site }: Fixture): Promise<boolean> => {
  const bare = await open(`${site.origin}/elsewhere`);
  await bare.evaluate('void (window.isKept = true)');
  await go(bare, 'location.assign("?next")', 'location.search && document.readyState === "complete"');
  await go(bare, 'history.back()', '!location.search');
  return bare.evaluate('!!window.isKept');
};

export const testSignOut = (suite: SuiteContext): void => {
  test('a switch of user reaches three other tabs by a message, and they stop giving out the token', async () => {
    const fixture = await createFixture(suite.engine);
    const pages = await fixture.openTabs(4);
    await signIn(pages, fixture);
    const expected = await switchUser(pages[0]!, fixture);
    for (const page of pages.slice(1)) {
      const seenAt = await eventually('told', () => firstAt(page, isExpected(expected), expected.at), Number.isFinite);
      expect(seenAt - expected.at).toBeLessThan(MESSAGE_MS);
      const { token } = expected;
      expect((await page.session('getToken().catch(() => null)')) ?? undefined).toBe(token);
      expect(await tokensSince(page, seenAt)).toEqual([token]);
    }
  });

  test('after a logout in another tab, a page from the back/forward cache gives out no token of that user', async (context) => {
    const fixture = await createFixture(suite.engine);
    if (!(await keepsPages(fixture))) await suite.skipUnsupported(context, 'it has no back/forward cache');
    const pages = (await fixture.openTabs(2)) as [Page, Page];
    const [page, other] = pages;
    const token = await signIn(pages, fixture);

    const keptAt = await leaveAndReturn(page, async () => Date.now());
    await allHold(pages, (held) => held === token, 'the page holds its token again');
    await waitForGetToken(page, keptAt);
    expect(await tokensSince(page, keptAt)).toEqual([token]);

    const expected = await leaveAndReturn(page, () => logOut(other, fixture));
    await expectSignedOut(page, expected, expected.at);
  });

  test('after an opt-out in another tab, a page that was frozen gives out no token of that user', async (context) => {
    const fixture = await createFixture(suite.engine);
    const pages = (await fixture.openTabs(2)) as [Page, Page];
    const [page, other] = pages;
    if (!page.setFrozen) await suite.skipUnsupported(context, 'its driver cannot freeze a page');
    await signIn(pages, fixture);

    await page.setFrozen!(true);
    await eventually('frozen', () => firstAt(page, ({ what }) => what === 'freeze'), Number.isFinite);
    const expected = await optOut(other, fixture);
    await page.setFrozen!(false);
    const thawedAt = await eventually('thawed', () => firstAt(page, ({ what }) => what === 'resume'), Number.isFinite);
    expect(thawedAt).toBeGreaterThanOrEqual(expected.at);
    await expectSignedOut(page, expected, thawedAt);
  });
};
