/** A publisher's page with the built script tag in a real Chromium, and an operator of `dist/`, all on loopback. */

import { readFile } from 'node:fs/promises';
import type { BrowserContext } from 'playwright-core';
import type { OperatorOptions } from '../../src/operator/index.ts';
import { launchBrowser } from './browser.ts';
import { builtNode, builtOperator, builtServer } from './built.ts';

export interface Pages {
  /** URL of the page. */
  readonly url: string;
  /** URL of the refresh endpoint. */
  readonly refreshUrl: string;
  /** Name and version of the browser. */
  readonly engine: string;
  /** Open a new profile. */
  open(): Promise<BrowserContext>;
  close(): Promise<void>;
}

/**
 * Serve a page and start a browser.
 *
 * @param script  runs on the page before the script tag.
 * @param more    further pages and files by path, for the URL of the operator.
 */
export const startPages = async (
  lifetimes: OperatorOptions,
  script: string,
  more: (operatorUrl: string) => Promise<Record<string, Response>> = async () => ({}),
): Promise<Pages> => {
  const [{ createOperator }, { listen }, { createClient, tokenHandler }] = await Promise.all([
    builtOperator(),
    builtNode(),
    builtServer(),
  ]);
  const operator = createOperator({ ...lifetimes, roles: ['GENERATOR'] });
  const operatorAt = await listen(operator, { port: 0, graceMs: 0 });
  const client = createClient({ baseUrl: operatorAt.url, ...operator.participants[0]! });
  const tokens = tokenHandler({ client, user: () => ({ email: 'reader@example.com' }) });
  const file = await readFile(new URL('../../dist/tessera.js', import.meta.url), 'utf8');
  const routes = await more(operatorAt.url);
  const html = `<!doctype html><title>bench</title><link rel="icon" href="data:,">
    <script>${script}</script>
    <script async src="/tessera.js" data-base-url="${operatorAt.url}" data-provide="/token"></script>`;
  const answer = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } });
  const site = await listen(
    {
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === '/token') return tokens(request);
        if (pathname === '/tessera.js') return answer(file, 'text/javascript');
        if (pathname === '/echo') return new Response(request.body);
        return routes[pathname]?.clone() ?? answer(html, 'text/html');
      },
    },
    { port: 0, graceMs: 0 },
  );
  const { browser, engine } = await launchBrowser();
  return {
    url: `${site.url}/`,
    refreshUrl: `${operatorAt.url}/v2/token/refresh`,
    engine,
    open: () => browser.newContext(),
    close: async () => {
      await browser.close();
      await Promise.all([site.close(), operatorAt.close()]);
    },
  };
};
