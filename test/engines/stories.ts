/** What every engine is asked to live through: the built script tag, several tabs, a real operator. */

import { appendFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, inject, type TestContext, test } from 'vitest';
import { areAllRequired, type Engine, type EngineKind } from '../support/engine.ts';
import { tellDepartures } from './departures.ts';
import { after, atOnce, createFixture, eventually, held, type Page, tokensOf } from './fixtures.ts';
import type { Note } from './page.ts';
import { act, allHold, firstAt } from './steps.ts';
import { tellVersions } from './versions.ts';
import { tellWorkers } from './workers.ts';

/** How much longer than its own deadline another tab's refresh is waited for, ms. */
const PATIENCE_MS = 2_000;
/** What a busy machine may add to a span that is counted between processes, ms. */
const SLACK_MS = 1_000;

/** What was going on when a page could read a token. */
const withToken = (notes: readonly Note[]): string[] => notes.filter(({ token }) => token).map(({ what }) => what);

/** The page that has a refresh under way. */
const refresherOf = async (pages: readonly Page[]): Promise<Page> => {
  for (const page of pages) if (await page.evaluate('story.asked > story.answered')) return page;
  throw new Error('no page has a refresh under way');
};

export const tellStories = (kind: EngineKind): void => {
  const missing = inject('missingEngines')[kind.name];
  describe.skipIf(missing && !areAllRequired)(kind.name, () => {
    let engine: Engine;
    const tell = (line: string) => appendFile(inject('engineLog'), `${kind.name} ${line}\n`);
    beforeAll(async () => {
      if (missing) throw new Error(`${kind.name} is not on this machine: install ${missing}`);
      engine = await kind.launch();
      await tell(engine.version);
    });
    const teller = {
      get engine() {
        return engine;
      },
      passOver: async ({ skip, task }: TestContext, why: string) => {
        await tell(`cannot: ${task.name} (${why})`);
        skip(why);
      },
    };
    afterAll(() => engine?.close());

    tellDepartures(teller);
    tellVersions(teller);
    tellWorkers(teller);

    test('ten tabs cross the refresh point while the service takes five seconds: one call, and all have its token', async () => {
      const { openTabs, service, setFor } = await createFixture(engine);
      const pages = await openTabs(10);
      service.manner = after(5_000);
      const { call, token } = await setFor('ten@example.com', 3_000);
      await pages[0]!.session(call);
      await eventually('the service is asked', async () => service.calls.length, Boolean);
      await allHold(pages, (held) => held && held !== token, 'all tabs hold the new token');

      const answeredAt = service.calls[0]!.answeredAt!;
      for (const page of pages) {
        expect(await page.evaluate('document.visibilityState')).toBe('visible');
        expect(await firstAt(page, (note) => note.token === token)).toBeLessThan(service.calls[0]!.at);
        expect((await firstAt(page, (note) => !!note.token && note.token !== token)) - answeredAt).toBeLessThan(2_000);
      }
      expect(service.calls).toHaveLength(1);
    });

    test('when the refreshing tab dies, another takes over', async () => {
      const timeoutMs = 3_000;
      const { openTabs, service, setFor } = await createFixture(engine, { timeoutMs });
      const pages = await openTabs(3);
      const { manner } = held();
      service.manner = (go, nth) => (nth === 1 ? manner : atOnce)(go, nth);
      const { call, token } = await setFor('heir@example.com', 1_000);
      await pages[0]!.session(call);
      await eventually('the service is asked', async () => service.calls.length, Boolean);
      const refresher = await refresherOf(pages);
      await (refresher.crash ?? refresher.close)();

      const heirs = pages.filter((page) => page !== refresher);
      await allHold(heirs, (held) => held && held !== token, 'the other tabs hold a new token');
      expect(service.calls).toHaveLength(2);
      expect(service.calls[1]!.at - service.calls[0]!.at).toBeLessThan(timeoutMs + PATIENCE_MS + SLACK_MS);
    });

    test('after a logout while another tab refreshes, nobody gets a token back', async () => {
      const { openTabs, service, setFor } = await createFixture(engine);
      const pages = await openTabs(3);
      const { manner, release } = held();
      service.manner = manner;
      await pages[0]!.session((await setFor('leaver@example.com', 1_000)).call);
      await eventually('the service is asked', async () => service.calls.length, Boolean);
      const refresher = await refresherOf(pages);
      const leaver = pages.find((page) => page !== refresher)!;
      const loggedOutAt = await act(leaver, 'clear()');
      release();
      await eventually('the refresh is over', () => refresher.evaluate('story.asked === story.answered'), Boolean);
      await allHold(pages, (token) => !token, 'no tab holds a token');

      // What comes late has come by the time that another page has loaded, and the first ones look again.
      const [late] = await openTabs(1);
      for (const page of [...pages, late!]) {
        expect(await page.session('getToken({ timeoutMs: 500 }).then(() => "a token", ({ code }) => code)')).toBe(
          'no_token',
        );
        expect(await page.session('state.phase')).toBe('empty');
        const notes = await page.notes();
        const out = notes.findIndex(({ at, phase }) => at >= loggedOutAt && phase === 'empty');
        expect(withToken(notes.slice(out))).toEqual([]);
      }
      expect(service.calls).toHaveLength(1);
    });

    test('a frame that is refused storage keeps its session in memory, and rotates it', async () => {
      const { open, site, service, setFor } = await createFixture(engine);
      const page = await open(`${site.origin}/sandbox`);
      const ask = <T>(expression: string) => page.evaluate<T>(`askFrame(${JSON.stringify(expression)})`);
      await ask('story.session.ready');
      expect(await ask('self.origin')).toBe('null');
      expect(await ask('story.session.state.persistence')).toBe('memory');

      const { call, token } = await setFor('guest@example.com', 500);
      await ask(`story.session.${call}`);
      await eventually(
        'the token is rotated',
        () => ask<string | undefined>('story.session.advertisingToken'),
        (held) => held && held !== token,
      );
      expect(service.calls).toHaveLength(1);
      expect(await ask('story.session.state.persistence')).toBe('memory');
      expect(await ask('story.complaints')).toEqual([]);
    });

    test('three tabs on plain http, without Web Crypto and locks, make one call', async () => {
      const { openTabs, site, client, service, setFor } = await createFixture(engine);
      const pages = await openTabs(3, site.plainOrigin);
      expect(await pages[0]!.evaluate('[isSecureContext, !!crypto.subtle, !!navigator.locks]')).toEqual([
        false,
        false,
        false,
      ]);
      service.manner = after(1_000);
      const { call, token } = await setFor('plain@example.com', 1_500);
      await pages[0]!.session(call);
      await allHold(pages, (held) => held && held !== token, 'all tabs hold the new token');
      expect(service.calls).toHaveLength(1);
      const [renewed] = await tokensOf(pages);
      expect(await client.validate(renewed!, { email: 'plain@example.com' })).toBe(true);
      expect(await pages[0]!.session('state.persistence')).toBe('indexeddb');
      expect(site.requests).toContain('GET /tessera-noble.js');
    });

    test('two tabs on one file keep a session through a rotation and a reload', async () => {
      // Where a file's tabs cannot tell one another, a tab looks again by itself: the shorter, the sooner.
      const { open, writeFiles, service, setFor } = await createFixture(engine, { timeoutMs: 1_500 });
      const address = await writeFiles();
      const page = await open(address);
      await page.session('ready');
      const { call, token } = await setFor('file@example.com', 1_500);
      await page.session(call);
      const other = await open(address);
      await other.session('ready');
      await allHold([page, other], (held) => held && held !== token, 'both tabs hold the new token');
      expect(service.calls).toHaveLength(1);

      const [renewed] = await tokensOf([page]);
      await other.goto(address);
      await other.session('ready');
      expect(await other.token()).toBe(renewed);
      expect(await other.session('state.persistence')).toBe('indexeddb');
    });
  });
};
