/** A user leaves in one tab: what the others give out from then on, be they open, kept for the way back, or frozen. */

import { expect, test } from 'vitest';
import { createFixture, eventually, type Fixture, type Page } from './fixtures.ts';
import type { Note } from './page.ts';
import { act, allHold, firstAt, go, leaveAndReturn, type Teller } from './steps.ts';

/** How soon an act in one tab is seen in the others, ms. */
const SOON_MS = 1_000;

const LEAVER = 'leaver@example.com';

/** What is so once the user has left. */
interface Aftermath {
  /** The instant just before, by the clock of the page where it was done. */
  readonly at: number;
  readonly phase: string;
  /** The only token that may be given out: that of the next user, where there is one. */
  readonly token?: string;
}

/** A way for the user {@link LEAVER} to leave: do it in a page. */
type Departure = readonly [what: string, leave: (page: Page, fixture: Fixture) => Promise<Aftermath>];

const departures: readonly Departure[] = [
  [
    'a switch of user',
    async (page, { setFor }) => {
      const { call, token } = await setFor('next@example.com');
      return { at: await act(page, call), phase: 'fresh', token };
    },
  ],
  ['a logout', async (page) => ({ at: await act(page, 'clear()'), phase: 'empty' })],
  [
    'an opt-out',
    async (page, { optOut }) => {
      await optOut(LEAVER);
      return { at: await act(page, 'refresh().catch(() => {})'), phase: 'optedOut' };
    },
  ],
];

/** Sign the user in, in the first of the pages; gives the token that all of them hold. */
const signIn = async (pages: readonly Page[], { setFor }: Fixture): Promise<string> => {
  const { call, token } = await setFor(LEAVER);
  await pages[0]!.session(call);
  await allHold(pages, (held) => held === token, 'all tabs hold the token');
  return token;
};

const isOf =
  ({ phase, token }: Aftermath) =>
  (note: Note): boolean =>
    note.phase === phase && note.token === token;

/** Every token that a page gave out from an instant on, to whoever looked or asked. */
const givenSince = async (page: Page, sinceAt: number): Promise<string[]> => [
  ...new Set((await page.notes()).flatMap(({ at, token }) => (at >= sinceAt && token ? [token] : []))),
];

/** A page that was away is back, and whoever asked it first for a token has been answered. */
const answeredSince = (page: Page, sinceAt: number) =>
  eventually('asked for a token', () => firstAt(page, ({ what }) => what === 'getToken', sinceAt), Number.isFinite);

/** Once back, a page knows that the user has left, and has given out nothing of theirs. */
const expectGone = async (page: Page, aftermath: Aftermath, sinceAt: number) => {
  await eventually('told', () => firstAt(page, isOf(aftermath), sinceAt), Number.isFinite);
  await answeredSince(page, sinceAt);
  expect(await givenSince(page, sinceAt)).toEqual(aftermath.token ? [aftermath.token] : []);
};

/** Whether an engine keeps any page at all: an old headless Chromium does not. */
const keepsPages = async ({ open, site }: Fixture): Promise<boolean> => {
  const bare = await open(`${site.origin}/elsewhere`);
  await bare.evaluate('void (window.isKept = true)');
  await go(bare, 'location.assign("?next")', 'location.search && document.readyState === "complete"');
  await go(bare, 'history.back()', '!location.search');
  return bare.evaluate('!!window.isKept');
};

export const tellDepartures = (teller: Teller): void => {
  test.for(departures)(
    '%s reaches three other tabs within a second, and the token is given out no more',
    async ([, leave]) => {
      const fixture = await createFixture(teller.engine);
      const pages = await fixture.openTabs(4);
      await signIn(pages, fixture);
      const aftermath = await leave(pages[0]!, fixture);
      for (const page of pages.slice(1)) {
        const seenAt = await eventually('told', () => firstAt(page, isOf(aftermath), aftermath.at), Number.isFinite);
        expect(seenAt - aftermath.at).toBeLessThan(SOON_MS);
        const { token } = aftermath;
        expect((await page.session('getToken().catch(() => null)')) ?? undefined).toBe(token);
        expect(await givenSince(page, seenAt)).toEqual(token ? [token] : []);
      }
    },
  );

  test.for(departures)(
    'after %s elsewhere, a page that was kept for the way back gives out no token of that user',
    async ([, leave], context) => {
      const fixture = await createFixture(teller.engine);
      if (!(await keepsPages(fixture))) await teller.passOver(context, 'it keeps no page for the way back');
      const pages = (await fixture.openTabs(2)) as [Page, Page];
      const [page, other] = pages;
      const token = await signIn(pages, fixture);

      const keptAt = await leaveAndReturn(page, async () => Date.now());
      await allHold(pages, (held) => held === token, 'the page holds its token again');
      await answeredSince(page, keptAt);
      expect(await givenSince(page, keptAt)).toEqual([token]);

      const aftermath = await leaveAndReturn(page, () => leave(other, fixture));
      await expectGone(page, aftermath, aftermath.at);
    },
  );

  test.for(departures)(
    'after %s elsewhere, a page that was frozen gives out no token of that user',
    async ([, leave], context) => {
      const fixture = await createFixture(teller.engine);
      const pages = (await fixture.openTabs(2)) as [Page, Page];
      const [page, other] = pages;
      if (!page.setFrozen) await teller.passOver(context, 'it cannot be told to freeze a page');
      await signIn(pages, fixture);

      await page.setFrozen!(true);
      await eventually('frozen', () => firstAt(page, ({ what }) => what === 'freeze'), Number.isFinite);
      const aftermath = await leave(other, fixture);
      await page.setFrozen!(false);
      const thawedAt = await eventually(
        'thawed',
        () => firstAt(page, ({ what }) => what === 'resume'),
        Number.isFinite,
      );
      expect(thawedAt).toBeGreaterThanOrEqual(aftermath.at);
      await expectGone(page, aftermath, thawedAt);
    },
  );
};
