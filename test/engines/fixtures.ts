/**
 * The fixture of a story in a real engine: a real operator behind a port, whose answers may be held up; a site; tabs that
 * fail the test where anything on them goes wrong in the open.
 */

import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createCall } from '../../src/server/call.ts';
import { answerOf, createClient } from '../../src/server/index.ts';
import { settingsOf } from '../../src/server/options.ts';
import type { SessionOptions } from '../../src/session/index.ts';
import { type Route, serveSite } from '../support/browser.ts';
import type { Engine, Tab } from '../support/engine.ts';
import { type Note, pageWith, sandboxWith } from './page.ts';

/** One refresh that reached the service. */
export interface Call {
  readonly at: number;
  answeredAt?: number;
}

/** What becomes of a refresh: `go` lets the operator answer. */
export type Manner = (go: () => Promise<Response>, nth: number) => Promise<Response>;

export const atOnce: Manner = (go) => go();

/** A service that takes its time. */
export const after =
  (ms: number): Manner =>
  async (go) => {
    const response = await go();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return response;
  };

/** A service that answers when it is told to, and then everyone. */
export const held = () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const manner: Manner = async (go) => {
    const response = await go();
    await released;
    return response;
  };
  return { manner, release };
};

/** A value as JSON, with no more of a token than tells it from others. */
const inShort = (value: unknown) =>
  JSON.stringify(value, (_, part) => (typeof part === 'string' && part.length > 100 ? `...${part.slice(-8)}` : part));

/**
 * Look again and again, until `so`; for the last time when the time is up, however long the look before took: WebKit's
 * driver may keep silent for longer than that when it is asked while a page goes.
 */
export const eventually = async <T>(
  what: string,
  read: () => Promise<T>,
  so: (value: T) => unknown,
  withinMs = 20_000,
): Promise<T> => {
  const end = Date.now() + withinMs;
  for (;;) {
    const isLast = Date.now() > end;
    const value = await read();
    if (so(value)) return value;
    if (isLast) throw new Error(`not within ${withinMs} ms: ${what}; last seen: ${inShort(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

/** A tab with a page of the stories. */
export interface Page extends Tab {
  /** The session's, as an expression after `story.session.`; a promise is waited for. */
  session<T>(read: string): Promise<T>;
  token(): Promise<string | undefined>;
  notes(): Promise<Note[]>;
}

const pageOf = (tab: Tab): Page => ({
  ...tab,
  session: (read) => tab.evaluate(`story.session.${read}`),
  // What is undefined comes over some wires as null.
  token: async () => (await tab.evaluate<string | null | undefined>('story.session.advertisingToken')) ?? undefined,
  notes: async () =>
    (await tab.evaluate<Note[]>('story.notes')).map(({ token, ...note }) => ({ ...note, token: token ?? undefined })),
});

/** What the session of every page holds. */
export const tokensOf = (pages: readonly Page[]) => Promise.all(pages.map((page) => page.token()));

/** Put up the fixture, with `more` pages where a story needs them. */
export const createFixture = async (
  engine: Engine,
  options: Partial<SessionOptions> = {},
  more: Record<string, Route> = {},
) => {
  const operator = createOperator({ roles: ['GENERATOR', 'OPTOUT'] });
  const service = { calls: [] as Call[], manner: atOnce };
  const { url: baseUrl, close } = await listen(
    {
      fetch: async (request) => {
        if (new URL(request.url).pathname !== '/v2/token/refresh') return operator.fetch(request);
        const call: Call = { at: Date.now() };
        const nth = service.calls.push(call);
        const response = await service.manner(() => operator.fetch(request), nth);
        call.answeredAt = Date.now();
        return response;
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(close);
  const credentials = { baseUrl, ...operator.participants[0]! };
  const client = createClient(credentials);

  const settings = { baseUrl, ...options, name: `story-${randomUUID()}` };
  // A page that may not be kept at all is not kept for the way back either.
  const html = (text: string) => () =>
    new Response(text, { headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' } });
  const site = await serveSite({
    '/page': html(pageWith(settings)),
    '/next': html(pageWith(settings, true)),
    '/sandbox': html(sandboxWith('/page')),
    '/elsewhere': html('<!doctype html><title>elsewhere</title><link rel="icon" href="data:,">'),
    ...more,
  });

  const open = async (url: string): Promise<Page> => {
    const tab = await engine.open();
    let isGone = false;
    const end = async (how: () => Promise<void>) => {
      isGone = true;
      await how();
    };
    onTestFinished(async () => {
      const complaints = [...tab.complaints];
      if (!isGone) {
        complaints.push(...(await tab.evaluate<string[]>('globalThis.story?.complaints ?? []')));
        await tab.close();
      }
      expect(complaints).toEqual([]);
    });
    await tab.goto(url);
    return pageOf({
      ...tab,
      close: () => end(tab.close),
      ...(tab.crash && { crash: () => end(tab.crash!) }),
    });
  };

  return {
    /** What the sessions of its pages are created with. */
    settings,
    service,
    site,
    client,
    open,
    /** Open so many tabs on the page of the site, one after the other; their sessions are ready. */
    openTabs: async (count: number, origin = site.origin): Promise<Page[]> => {
      const pages: Page[] = [];
      while (pages.length < count) pages.push(await open(`${origin}/page`));
      for (const page of pages) {
        await page.session('ready');
        expect(await page.session('state.persistence')).toBe('indexeddb');
      }
      return pages;
    },
    /** The page and its script as files on disk: the address of the page. */
    writeFiles: async (): Promise<string> => {
      const folder = await mkdtemp(join(tmpdir(), 'tessera-page-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      await copyFile(fileURLToPath(new URL('../../dist/tessera.js', import.meta.url)), join(folder, 'tessera.js'));
      await writeFile(join(folder, 'page.html'), pageWith(settings));
      return pathToFileURL(join(folder, 'page.html')).href;
    },
    /**
     * A call of `setTokens` with a fresh set for a user, and the advertising token in it.
     *
     * @param dueInMs  when it is to be refreshed, counted from now: the service itself says in whole seconds, and from
     *   when it has made the set.
     */
    setFor: async (email: string, dueInMs?: number) => {
      const result = await client.generate({ email });
      if (result.status !== 'success') throw new Error(`expected a set, got ${result.status}`);
      const due = dueInMs === undefined ? {} : { refreshAt: Date.now() + dueInMs };
      const answer = answerOf({ ...result, tokens: { ...result.tokens, ...due } });
      return { call: `setTokens(${JSON.stringify(answer)})`, token: result.tokens.advertisingToken };
    },
    optOut: (email: string) =>
      createCall(settingsOf(credentials)).sealed(
        '/v2/token/logout',
        { email },
        { signal: undefined, timeoutMs: 10_000 },
      ),
  };
};

export type Fixture = Awaited<ReturnType<typeof createFixture>>;
