/**
 * The fixture for tests in a real engine: a real operator behind a port, whose answers a test can delay; a site; tabs that
 * fail the test on any console error, uncaught error or unhandled rejection.
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
import { type Note, pageWith, sandboxWith } from './test-page.ts';

/** A refresh that reached the service; times in epoch ms. */
export interface Call {
  readonly at: number;
  answeredAt?: number;
}

/** How the service responds to a refresh: `go` returns the operator's answer; `nth` counts from 1. */
export type Responder = (go: () => Promise<Response>, nth: number) => Promise<Response>;

export const immediately: Responder = (go) => go();

/** Delay every response. */
export const delayed =
  (ms: number): Responder =>
  async (go) => {
    const response = await go();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return response;
  };

/** Hold all responses until `release` is called. */
export const holdResponses = () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const respond: Responder = async (go) => {
    const response = await go();
    await released;
    return response;
  };
  return { respond, release };
};

/** A value as JSON, with long strings (tokens) cut to their last characters. */
const summarize = (value: unknown) =>
  JSON.stringify(value, (_, part) => (typeof part === 'string' && part.length > 100 ? `...${part.slice(-8)}` : part));

/**
 * Read a value repeatedly until it matches. There is a last read after the deadline, however long the one before took:
 * WebKit's driver may not answer for longer than `withinMs` while a page navigates.
 */
export const eventually = async <T>(
  what: string,
  read: () => Promise<T>,
  matches: (value: T) => unknown,
  withinMs = 20_000,
): Promise<T> => {
  const end = Date.now() + withinMs;
  for (;;) {
    const isLast = Date.now() > end;
    const value = await read();
    if (matches(value)) return value;
    if (isLast) throw new Error(`not within ${withinMs} ms: ${what}; last seen: ${summarize(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

/** A tab with a test page. */
export interface Page extends Tab {
  /** Evaluate an expression after `harness.session.` and wait for its promise. */
  session<T>(read: string): Promise<T>;
  token(): Promise<string | undefined>;
  notes(): Promise<Note[]>;
}

const pageOf = (tab: Tab): Page => ({
  ...tab,
  session: (read) => tab.evaluate(`harness.session.${read}`),
  // Some drivers return null for undefined.
  token: async () => (await tab.evaluate<string | null | undefined>('harness.session.advertisingToken')) ?? undefined,
  notes: async () =>
    (await tab.evaluate<Note[]>('harness.notes')).map(({ token, ...note }) => ({ ...note, token: token ?? undefined })),
});

/** The token of every page's session. */
export const tokensOf = (pages: readonly Page[]) => Promise.all(pages.map((page) => page.token()));

/** Build the fixture; `more` adds routes to the site. */
export const createFixture = async (
  engine: Engine,
  options: Partial<SessionOptions> = {},
  more: Record<string, Route> = {},
) => {
  const operator = createOperator({ roles: ['GENERATOR', 'OPTOUT'] });
  const service = { calls: [] as Call[], respond: immediately };
  const { url: baseUrl, close } = await listen(
    {
      fetch: async (request) => {
        if (new URL(request.url).pathname !== '/v2/token/refresh') return operator.fetch(request);
        const call: Call = { at: Date.now() };
        const nth = service.calls.push(call);
        const response = await service.respond(() => operator.fetch(request), nth);
        call.answeredAt = Date.now();
        return response;
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(close);
  const credentials = { baseUrl, ...operator.participants[0]! };
  const client = createClient(credentials);

  const settings = { baseUrl, ...options, name: `engine-${randomUUID()}` };
  // Not `no-store`: browsers exclude such pages from the back/forward cache.
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
      const errors = [...tab.errors];
      if (!isGone) {
        errors.push(...(await tab.evaluate<string[]>('globalThis.harness?.errors ?? []')));
        await tab.close();
      }
      expect(errors).toEqual([]);
    });
    await tab.goto(url);
    return pageOf({
      ...tab,
      close: () => end(tab.close),
      ...(tab.crash && { crash: () => end(tab.crash!) }),
    });
  };

  return {
    /** The options of the sessions on its pages. */
    settings,
    service,
    site,
    client,
    open,
    /**
     * Open a number of tabs on the test page, one after the other, and wait until their sessions have read the store. If the machine
     * was too busy to open it within 1.5 s, the page is loaded again, at most twice.
     */
    openTabs: async (count: number, origin = site.origin): Promise<Page[]> => {
      const pages: Page[] = [];
      while (pages.length < count) pages.push(await open(`${origin}/page`));
      for (const page of pages) {
        const persistence = async () => {
          await page.session('ready');
          return page.session<string>('state.persistence');
        };
        for (let loads = 1; loads < 3 && (await persistence()) !== 'indexeddb'; loads++)
          await page.goto(`${origin}/page`);
        expect(await persistence()).toBe('indexeddb');
      }
      return pages;
    },
    /** Write the page and its script to disk; returns the file URL of the page. */
    writeFiles: async (): Promise<string> => {
      const folder = await mkdtemp(join(tmpdir(), 'tessera-page-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      await copyFile(fileURLToPath(new URL('../../dist/tessera.js', import.meta.url)), join(folder, 'tessera.js'));
      await writeFile(join(folder, 'page.html'), pageWith(settings));
      return pathToFileURL(join(folder, 'page.html')).href;
    },
    /**
     * Generate a set for a user; returns a call of `setTokens` with it as text, and its advertising token.
     *
     * @param dueInMs  when its refresh is due, ms from now. By default as the service sets it, in whole seconds after the
     *   time of issue.
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
