/** A page that Chromium prerenders by speculation rules, and then shows. A debugger would turn prerendering off. */

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serveSite } from '../support/browser.ts';
import { findWholeChromium } from '../support/chromium.ts';
import { startOperator } from './publisher.ts';

const RULES = JSON.stringify({ prerender: [{ source: 'list', urls: ['/next'], eagerness: 'immediate' }] });
const html = (body: string) => `<!doctype html><title>page</title><body>${body}`;

test('a prerendered page asks for nothing until it is shown, and then has a token', async () => {
  const { baseUrl, handler } = await startOperator(15);
  const happened: string[] = [];
  let isPrerendered = () => {};
  const prerendered = new Promise<void>((resolve) => (isPrerendered = resolve));
  let isShown = (_: string) => {};
  const shown = new Promise<string>((resolve) => (isShown = resolve));
  const site = await serveSite({
    '/': html(`<a href="/next">next</a><script type="speculationrules">${RULES}</script>
      <script>fetch('/when-prerendered').then(() => document.querySelector('a').click());</script>`),
    '/when-prerendered': () => prerendered.then(() => new Response()),
    '/next': html(`<script src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script>
      <script>
        const { session } = tessera;
        session.ready.then(() => fetch('/is-prerendered?' + document.prerendering + '-' + session.state.next.reason));
        document.addEventListener('prerenderingchange', async () => {
          await fetch('/is-shown');
          fetch('/has-token?' + typeof (await session.getToken()));
        });
      </script>`),
    '/is-prerendered': ({ url }) => {
      happened.push(new URL(url).search);
      isPrerendered();
      return new Response();
    },
    '/is-shown': () => {
      happened.push('shown');
      return new Response();
    },
    '/token': (request) => {
      // Chromium sends `sec-purpose: prefetch;prerender` until the page is shown.
      happened.push(`token ${request.headers.get('sec-purpose')}`);
      return handler(request);
    },
    '/has-token': ({ url }) => {
      isShown(new URL(url).search);
      return new Response();
    },
  });
  const profile = await mkdtemp(join(tmpdir(), 'tessera-prerender-'));
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${profile}`];
  const chromium = spawn(await findWholeChromium(), [...flags, `${site.origin}/`], { stdio: 'ignore', detached: true });
  onTestFinished(async () => {
    process.kill(-chromium.pid!, 'SIGKILL');
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  expect(await shown).toBe('?string');
  expect(happened).toEqual(['?true-hidden', expect.any(String), expect.any(String)]);
  expect(happened.slice(1).sort()).toEqual(['shown', 'token null']);
});
