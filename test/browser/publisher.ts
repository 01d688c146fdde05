/** A publisher for browser tests: an operator whose tokens are due after a second, and a token handler. */

import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient, tokenHandler } from '../../src/server/index.ts';
import { openProfile } from '../support/browser.ts';

export const READER = { email: 'reader@example.com' };

export interface Publisher {
  /** Address of the operator. */
  readonly baseUrl: string;
  readonly client: ReturnType<typeof createClient>;
  /** Requests to the operator so far, as `METHOD /path`. */
  readonly asked: string[];
  /** Answers the requests of `data-provide`. */
  readonly handler: (request: Request) => Promise<Response>;
}

/** Start an operator until the test ends. `refreshFrom`: seconds. */
export const startOperator = async (refreshFrom = 1): Promise<Publisher> => {
  const operator = createOperator({
    refreshFrom,
    identityExpires: 20,
    refreshExpires: 60,
    roles: ['GENERATOR', 'OPTOUT'],
  });
  const asked: string[] = [];
  const { url: baseUrl, close } = await listen(
    {
      fetch: (request) => {
        asked.push(`${request.method} ${new URL(request.url).pathname}`);
        return operator.fetch(request);
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(close);
  const client = createClient({ baseUrl, ...operator.participants[0]! });
  return { baseUrl, client, asked, handler: tokenHandler({ client, user: () => READER }) };
};

/** Open a page; an uncaught error on it fails the test. */
export const openPage = async (url: string): Promise<Page> => {
  const page = await (await openProfile()).newPage();
  const thrown: Error[] = [];
  page.on('pageerror', (error) => thrown.push(error));
  onTestFinished(() => expect(thrown).toEqual([]));
  await page.goto(url);
  return page;
};
