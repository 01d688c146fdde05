/** A publisher for browser tests: an operator whose tokens are due after a second, and a token handler. */

import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient, tokenHandler } from '../../src/server/index.ts';
import { type OnEnd, openProfile } from '../support/browser.ts';

export const READER = { email: 'reader@example.com' };

export interface Publisher {
  readonly baseUrl: string;
  readonly client: ReturnType<typeof createClient>;
  /** Requests to the operator so far, as `METHOD /path`. */
  readonly asked: string[];
  /** Answers the requests of `data-provide`. */
  readonly handler: (request: Request) => Promise<Response>;
  /** How the service answers a refresh; `go` returns the operator's answer. A test may assign it. */
  answerRefresh(go: () => Promise<Response>, request: Request): Promise<Response>;
}

/**
 * Start an operator until the test ends.
 *
 * @param refreshFrom  seconds. Its tokens live for 20 s more.
 * @param onEnd        receives what to do at the end of the test: a test that runs beside others passes its own `onTestFinished`.
 */
export const startOperator = async (refreshFrom = 1, onEnd: OnEnd = onTestFinished): Promise<Publisher> => {
  const operator = createOperator({
    refreshFrom,
    identityExpires: refreshFrom + 20,
    refreshExpires: refreshFrom + 60,
    roles: ['GENERATOR', 'OPTOUT'],
  });
  const asked: string[] = [];
  const { url: baseUrl, close } = await listen(
    {
      fetch: (request) => {
        const { pathname } = new URL(request.url);
        asked.push(`${request.method} ${pathname}`);
        const go = async () => operator.fetch(request);
        return pathname === '/v2/token/refresh' ? publisher.answerRefresh(go, request) : go();
      },
    },
    { port: 0, graceMs: 0 },
  );
  onEnd(close);
  const client = createClient({ baseUrl, ...operator.participants[0]! });
  const handler = tokenHandler({ client, user: () => READER });
  const publisher: Publisher = { baseUrl, client, asked, handler, answerRefresh: (go) => go() };
  return publisher;
};

export const openPage = async (url: string): Promise<Page> => {
  const page = await (await openProfile()).newPage();
  const thrown: Error[] = [];
  page.on('pageerror', (error) => thrown.push(error));
  onTestFinished(() => expect(thrown).toEqual([]));
  await page.goto(url);
  return page;
};
