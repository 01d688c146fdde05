/** The base of browser tests: a fresh profile in the shared Chromium, and a site on loopback. */

import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { type BrowserContext, chromium } from 'playwright-core';
import { inject, onTestFinished } from 'vitest';
import { PLAIN_HOST } from './chromium.ts';

/** Receives what to do at the end of the test: a test that runs beside others passes its own `onTestFinished`. */
export type OnEnd = (end: () => Promise<void> | void) => void;

/** Open a new browser profile: only its own tabs share storage, locks and channels. */
export const openProfile = async (onEnd: OnEnd = onTestFinished): Promise<BrowserContext> => {
  const browser = await chromium.connect(inject('chromiumAt'));
  onEnd(() => browser.close());
  return browser.newContext();
};

/** The content of a path on a site: the HTML of a page, or a handler. */
export type Route = string | ((request: Request) => Response | Promise<Response>);

export interface Site {
  /** `http://127.0.0.1:PORT`: a secure origin. */
  readonly origin: string;
  /** The same server on an insecure origin, without Web Crypto and Web Locks. */
  readonly plainOrigin: string;
  readonly requests: readonly string[];
}

const TYPES: Record<string, string> = { js: 'text/javascript', html: 'text/html' };

/** A file of `dist/`, as a site serves it; 404 if there is none. */
export const fileOf = async (name: string): Promise<Response> => {
  const type = TYPES[name.split('.').at(-1)!];
  const body = type && (await readFile(new URL(`../../dist/${name}`, import.meta.url)).catch(() => null));
  return body ? typed(body, type) : new Response(null, { status: 404 });
};

const typed = (body: BodyInit, type: string) =>
  new Response(body, { headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' } });

/** Serve pages and handlers by path, and the files of `dist/` at the root, until the test ends. */
export const serveSite = async (routes: Record<string, Route>, onEnd: OnEnd = onTestFinished): Promise<Site> => {
  const requests: string[] = [];
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    requests.push(`${request.method} ${pathname}`);
    const route = routes[pathname];
    if (typeof route === 'function') return route(request);
    return route ? typed(route, TYPES['html']!) : fileOf(pathname.slice(1));
  };
  const server = createAdaptorServer({ fetch: answer });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onEnd(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, plainOrigin: `http://${PLAIN_HOST}:${port}`, requests };
};
