/** The tests that run in every engine: the built script file, several tabs, a real operator. */

import { appendFile, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, inject, type TestContext, test } from 'vitest';
import { areAllRequired, type Engine, type EngineKind } from '../support/engine.ts';
import { createFixture, delayed, eventually, holdResponses, immediately, type Page, tokensOf } from './fixtures.ts';
import { testSignOut } from './sign-out.ts';
import { act, allHold, firstAt } from './steps.ts';
import type { Note } from './test-page.ts';
import { testVersions } from './versions.ts';
import { testWorker } from './worker.ts';

/** A tab that receives no message reads the store after 12 s. Earlier than that, it was a message, however busy the machine. */
const MESSAGE_MS = 11_000;
/** A tab looks at its timer once a minute. Earlier than that, it was the end of its wait for the other tab. */
const TAKEOVER_MS = 45_000;

/** Names of the records at which a page could read a token. */
const withToken = (notes: readonly Note[]): string[] => notes.filter(({ token }) => token).map(({ what }) => what);

/** The page that has a refresh in progress. */
const refresherOf = async (pages: readonly Page[]): Promise<Page> => {
  for (const page of pages) if (await page.evaluate('harness.asked > harness.answered')) return page;
  throw new Error('no page has a refresh in progress');
};

export const testEngine = (kind: EngineKind): void => {
  const missing = inject('missingEngines')[kind.name];
  describe.skipIf(missing && !areAllRequired)(kind.name, () => {
    let engine: Engine;
    const tell = (line: string) => appendFile(inject('engineLog'), `${kind.name} ${line}\n`);
    beforeAll(async () => {
      if (missing) throw new Error(`${kind.name} is not on this machine: install ${missing}`);
      engine = await kind.launch();
      await tell(engine.version);
    });
    const suite = {
      get engine() {
        return engine;
      },
      skipUnsupported: async ({ skip, task }: TestContext, why: string) => {
        await tell(`cannot: ${task.name} (${why})`);
        skip(why);
      },
    };
    afterAll(() => engine?.close());

    testSignOut(suite);
    testVersions(suite);
    testWorker(suite);

    test('ten tabs whose refresh is due while the service takes 5 s send one request, and all adopt its token', async () => {
      const { openTabs, service, setFor } = await createFixture(engine);
      const pages = await openTabs(10);
      service.respond = delayed(5_000);
      const { call, token } = await setFor('ten@example.com', 3_000);
      await pages[0]!.session(call);
      await eventually('the service is asked', async () => service.calls.length, Boolean);
      await allHold(pages, (held) => held && held !== token, 'all tabs hold the new token');

      const answeredAt = service.calls[0]!.answeredAt!;
      for (const page of pages) {
        expect(await page.evaluate('document.visibilityState')).toBe('visible');
        expect(await firstAt(page, (note) => note.token === token)).toBeLessThan(service.calls[0]!.at);
        expect((await firstAt(page, (note) => !!note.token && note.token !== token)) - answeredAt).toBeLessThan(
          MESSAGE_MS,
        );
      }
      expect(service.calls).toHaveLength(1);
    });

    test('another tab takes over when the refreshing tab crashes', async () => {
      const timeoutMs = 3_000;
      const { openTabs, service, setFor } = await createFixture(engine, { timeoutMs });
      const pages = await openTabs(3);
      const { respond } = holdResponses();
      service.respond = (go, nth) => (nth === 1 ? respond : immediately)(go, nth);
      const { call, token } = await setFor('takeover@example.com', 1_000);
      await pages[0]!.session(call);
      await eventually('the service is asked', async () => service.calls.length, Boolean);
      const refresher = await refresherOf(pages);
      await (refresher.crash ?? refresher.close)();

      const others = pages.filter((page) => page !== refresher);
      await allHold(others, (held) => held && held !== token, 'the other tabs hold a new token');
      expect(service.calls).toHaveLength(2);
      expect(service.calls[1]!.at - service.calls[0]!.at).toBeLessThan(TAKEOVER_MS);
    });

    test('after a logout during another tab’s refresh, no tab has a token', async () => {
      const { openTabs, service, setFor } = await createFixture(engine);
      const pages = await openTabs(3);
      const { respond, release } = holdResponses();
      service.respond = respond;
      await pages[0]!.session((await setFor('leaver@example.com', 1_000)).call);
      await eventually('the service is asked', async () => service.calls.length, Boolean);
      const refresher = await refresherOf(pages);
      const other = pages.find((page) => page !== refresher)!;
      const loggedOutAt = await act(other, 'clear()');
      release();
      await eventually('the refresh is over', () => refresher.evaluate('harness.asked === harness.answered'), Boolean);
      await allHold(pages, (token) => !token, 'no tab holds a token');

      // Loading another page gives late messages the time to arrive.
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

    test('a sandboxed frame without storage keeps its session in memory, and refreshes it', async () => {
      const { open, site, service, setFor } = await createFixture(engine);
      const page = await open(`${site.origin}/sandbox`);
      const ask = <T>(expression: string) => page.evaluate<T>(`askFrame(${JSON.stringify(expression)})`);
      await ask('harness.session.ready');
      expect(await ask('self.origin')).toBe('null');
      expect(await ask('harness.session.state.persistence')).toBe('memory');

      const { call, token } = await setFor('guest@example.com', 500);
      // Nothing can be confirmed where nothing can be read.
      expect(await ask(`harness.session.${call}.catch(({ code }) => code)`)).toBe('storage_failed');
      await eventually(
        'the token is rotated',
        () => ask<string | undefined>('harness.session.advertisingToken'),
        (held) => held && held !== token,
      );
      expect(service.calls).toHaveLength(1);
      expect(await ask('harness.session.state.persistence')).toBe('memory');
      expect(await ask('harness.errors')).toEqual([]);
    });

    test('a page on plain http loads tessera-noble.js again after its server has failed once', async () => {
      let asked = 0;
      const failsOnce = async () => {
        if (++asked === 1) return new Response(null, { status: 503 });
        const code = await readFile(new URL('../../dist/tessera-noble.js', import.meta.url));
        return new Response(code, { headers: { 'content-type': 'text/javascript', 'cache-control': 'no-store' } });
      };
      const { openTabs, site, setFor } = await createFixture(engine, {}, { '/tessera-noble.js': failsOnce });
      const [page] = await openTabs(1, site.plainOrigin);
      const { call, token } = await setFor('again@example.com', 60_000);
      await page!.session(call);
      expect(await page!.session('refresh().catch(({ code }) => code)')).toBe('decrypt_failed');
      await page!.session('refresh()');
      expect(await page!.token()).not.toBe(token);
      expect(asked).toBe(2);
      // The browser logs the failed request.
      page!.errors.length = 0;
    });

    test('two tabs on a file: URL keep a session through a rotation and a reload', async () => {
      // In engines where tabs of a file: URL have no common channel, a tab reads the store again after this time-out.
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
