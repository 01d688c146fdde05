/** The pages of the comparison, the services behind them and a browser, all on loopback. */

import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createAdaptorServer } from '@hono/node-server';
import type { BrowserContext, Page } from 'playwright-core';
import { toWire } from '../../src/token/index.ts';
import { sleep } from '../measure.ts';
import { launchBrowser } from '../support/browser.ts';
import { builtNode, builtOperator, builtServer } from '../support/built.ts';
import { createAuthority } from './authority.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { type PageName, peers } from './list.ts';
import type { Visited } from './pages/visit.ts';
import { type Scripts, scriptsOf } from './scripts.ts';

/** Seconds after which a token is due that is not measured. */
export const NOT_DUE_S = 7200;
/** How long a page may take to obtain its token, ms: a machine may be busy. */
const VISIT_TIMEOUT_MS = 60_000;

/** What to open. */
export interface Visit {
  readonly page: PageName;
  /** The run that the ledger counts for. The pages of one profile have one. */
  readonly run: string;
  readonly signIn?: boolean;
  /** Seconds from the sign-in until the client means to refresh. Default: not during the bench. */
  readonly dueS?: number;
  /** How long the page is left alone before Playwright's own script waits in it, ms. That script takes its main thread. Default 0. */
  readonly quietMs?: number;
}

export interface Comparison {
  readonly engine: string;
  readonly ledger: Ledger;
  /** How long the operator takes to answer a refresh, ms; at first 0. */
  refreshMs: number;
  /** A new profile. */
  profile(): Promise<BrowserContext>;
  /** Open a page in a tab of a profile, and wait until its token is readable. `before` runs before the navigation. */
  open(profile: BrowserContext, visit: Visit, before?: (page: Page) => Promise<void>): Promise<Page>;
  close(): Promise<void>;
}

const htmlOf = (name: PageName, query: URLSearchParams): string => {
  const data =
    name === 'tessera' ? ` data-base-url="${query.get('operator')}" data-provide="/uid2/token?${query}"` : '';
  return `<!doctype html><title>${name}</title><link rel="icon" href="data:,">
    <script src="/before/${name}.js"></script>
    <script>performance.mark('started');</script>
    <script async src="/client/${name}.js"${data.replaceAll('&', '&amp;')}></script>`;
};

/** The operator of `dist/`, whose refreshes the ledger counts, and the publisher's route that fetches a token set. */
const startOperator = async (ledger: Ledger, delay: () => Promise<void>) => {
  const [{ createOperator }, { listen }, { createClient }] = await Promise.all([
    builtOperator(),
    builtNode(),
    builtServer(),
  ]);
  const operator = createOperator({
    roles: ['GENERATOR'],
    refreshFrom: NOT_DUE_S,
    identityExpires: 2 * NOT_DUE_S,
    refreshExpires: 10 * NOT_DUE_S,
  });
  const listening = await listen(
    {
      fetch: async (request) => {
        // The UID2 JavaScript SDK adds its version as a query.
        const isRefresh = request.method === 'POST' && new URL(request.url).pathname === '/v2/token/refresh';
        if (!isRefresh) return operator.fetch(request);
        const body = await request.text();
        ledger.refreshed(body);
        await delay();
        return operator.fetch(new Request(request.url, { method: 'POST', headers: request.headers, body }));
      },
    },
    { port: 0, graceMs: 0 },
  );
  const client = createClient({ baseUrl: listening.url, ...operator.participants[0]! });
  /** A generate answer. Its `refresh_from` is the page's own: the service keeps it in no token. */
  const token = async (run: string, dueS: number): Promise<unknown> => {
    const answer = await client.generate({ email: `${run}@example.com` });
    if (answer.status !== 'success') throw new Error(`peers: expected a token set, got ${answer.status}`);
    const { tokens } = answer;
    const dueAt = Date.now() + dueS * 1000;
    ledger.issued(tokens.refreshToken, run, dueAt);
    return { status: 'success', body: toWire({ ...tokens, refreshAt: dueAt }) };
  };
  return { listening, token };
};

const serve = async (fetch: (request: Request) => Response | Promise<Response>) => {
  const server = createAdaptorServer({ fetch });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    },
  };
};

/** Build the pages, start the services and a browser. */
async function startComparison(names: readonly PageName[]): Promise<Comparison> {
  const ledger = createLedger();
  const scripts = new Map<string, Scripts>();
  for (const name of names) scripts.set(name, await scriptsOf(name));
  const { listening, token } = await startOperator(ledger, () => sleep(comparison.refreshMs));
  const authority = await serve(createAuthority(ledger).fetch);
  const answer = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } });
  const site = await serve(async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/uid2/token')
      return Response.json(await token(searchParams.get('run')!, Number(searchParams.get('due'))));
    const [, kind, file = ''] = pathname.split('/');
    const found = scripts.get(file.replace('.js', ''));
    if (kind === 'before' && found) return answer(found.before, 'text/javascript');
    if (kind === 'client' && found) {
      const headers = { 'content-type': 'text/javascript', 'content-encoding': 'gzip' };
      return new Response(gzipSync(found.client), { headers });
    }
    return answer(htmlOf(kind as PageName, searchParams), 'text/html');
  });
  const { browser, engine } = await launchBrowser();

  const open: Comparison['open'] = async (
    profile,
    { page: name, run, signIn, dueS = NOT_DUE_S, quietMs = 0 },
    before,
  ) => {
    const marginS = peers.find((peer) => peer.name === name)?.marginS ?? 0;
    const query = new URLSearchParams({
      issuer: `${authority.url}/${run}/${dueS + marginS}/${dueS}`,
      operator: listening.url,
      run,
      due: String(dueS),
      ...(signIn && { 'sign-in': '' }),
    });
    const page = await profile.newPage();
    await before?.(page);
    await page.goto(`${site.url}/${name}?${query}`);
    await sleep(quietMs);
    await page.waitForFunction(
      () => {
        const { doneAt, failure } = window as never as Visited;
        if (failure) throw new Error(failure);
        return doneAt > 0;
      },
      undefined,
      { timeout: VISIT_TIMEOUT_MS },
    );
    return page;
  };
  const comparison: Comparison = {
    engine,
    ledger,
    refreshMs: 0,
    profile: () => browser.newContext(),
    open,
    close: async () => {
      await browser.close();
      await listening.close();
      authority.close();
      site.close();
    },
  };
  return comparison;
}

const ALL: readonly PageName[] = [...peers.map(({ name }) => name), 'indexeddb', 'localstorage'];

/** Measure in a comparison of some pages, which is closed afterwards, also after a failure. */
export async function inComparison<T>(
  measure: (comparison: Comparison) => Promise<T>,
  names: readonly PageName[] = ALL,
): Promise<T> {
  const comparison = await startComparison(names);
  try {
    return await measure(comparison);
  } finally {
    await comparison.close();
  }
}
