/** An older and a newer version of the runtime in two tabs over one database: neither blocks the other. */

import { expect, test } from 'vitest';
import type { Tab } from '../support/engine.ts';
import { createFixture, eventually, type Page } from './fixtures.ts';
import { allHold, type SuiteContext } from './steps.ts';

/** A request to IndexedDB, as an expression; its promise rejects if the request is blocked. */
const unblocked = (request: string, give = 'true') => `new Promise((resolve, reject) => {
  const request = indexedDB.${request};
  request.onblocked = () => reject(new Error('blocked'));
  request.onerror = () => reject(request.error);
  request.onsuccess = () => resolve(${give});
})`;

/** The stored record. */
const storedIn = (tab: Tab, name: string): Promise<{ v: number; set?: { advertisingToken: string } } | undefined> =>
  tab.evaluate(`${unblocked(`open(${JSON.stringify(name)})`, 'request.result')}.then((database) =>
    new Promise((resolve) => {
      const request = database.transaction('session').objectStore('session').get('session');
      request.onsuccess = () => {
        database.close();
        resolve(request.result);
      };
    }))`);

/** The errors that a session has emitted so far. */
const errorsOf = async (page: Page): Promise<string[]> =>
  (await page.notes()).map(({ what }) => what).filter((what) => what.startsWith('error'));

export const testVersions = (suite: SuiteContext): void => {
  test('another tab can upgrade and delete a database that two tabs have open: no request is blocked', async () => {
    const { settings, open, openTabs, site, setFor } = await createFixture(suite.engine);
    const quoted = JSON.stringify(settings.name);
    const pages = await openTabs(2);
    const supply = async (email: string): Promise<string> => {
      const { call, token } = await setFor(email);
      await pages[0]!.session(call);
      await allHold(pages, (held) => held === token, 'both tabs hold the token');
      return token;
    };
    await supply('first@example.com');

    const other = await open(`${site.origin}/elsewhere`);
    await other.evaluate(unblocked(`open(${quoted}, 2)`, 'void (window.database = request.result)'));
    expect(await other.evaluate('database.version')).toBe(2);
    const token = await supply('second@example.com');
    expect(await storedIn(other, settings.name)).toMatchObject({ set: { advertisingToken: token } });

    await other.evaluate('database.close()');
    await other.evaluate(unblocked(`deleteDatabase(${quoted})`));
    await allHold(pages, (held) => held === token, 'both tabs hold the token still');
    const last = await supply('third@example.com');
    expect(await storedIn(other, settings.name)).toMatchObject({ set: { advertisingToken: last } });
    for (const page of pages) {
      expect(await page.session('state.persistence')).toBe('indexeddb');
      expect(await errorsOf(page)).toEqual([]);
    }
  });

  test('a tab of an older version leaves the record of a newer one alone, and explicit calls still work in both', async () => {
    const { settings, open, openTabs, service, site, setFor } = await createFixture(suite.engine);
    const [old] = (await openTabs(1)) as [Page];
    const next = await open(`${site.origin}/next`);
    await next.session('ready');
    const supply = async (page: Page, email: string, dueInMs?: number): Promise<string> => {
      const { call, token } = await setFor(email, dueInMs);
      await page.session(call);
      return token;
    };
    const answerOf = (page: Page) => page.session<string>('getToken({ timeoutMs: 500 }).catch(({ code }) => code)');

    const first = await supply(old, 'first@example.com');
    await allHold([old, next], (held) => held === first, 'the newer version reads what the older one stores');
    expect(await errorsOf(old)).toEqual([]);

    const second = await supply(next, 'second@example.com', 500);
    await eventually(
      'the older one has no set any more',
      () => old.session('state.phase'),
      (phase) => phase === 'empty',
    );
    await eventually(
      'the set is rotated',
      () => next.token(),
      (held) => held && held !== second,
    );
    expect(await storedIn(old, settings.name)).toMatchObject({ v: 3, set: { advertisingToken: await next.token() } });
    expect(await answerOf(old)).toBe('no_token');

    const third = await supply(old, 'third@example.com');
    await allHold([old, next], (held) => held === third, 'the newer version adopts what the older one stores');
    await next.session('clear()');
    await old.session('clear()');
    await allHold([old, next], (held) => !held, 'no tab has a token');
    expect([await answerOf(old), await answerOf(next)]).toEqual(['no_token', 'no_token']);

    expect(service.calls).toHaveLength(1);
    expect(await errorsOf(old)).toEqual([]);
    expect(await errorsOf(next)).toEqual([]);
    for (const page of [old, next]) expect(await page.session('state.persistence')).toBe('indexeddb');
  });
};
