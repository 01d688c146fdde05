/** `examples/plain-page/index.html` on a slow connection, in a real Chromium. */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openProfile, serveSite } from '../support/browser.ts';
import { startOperator } from './publisher.ts';

test('the plain page shows its session although the script runs before the body of the page has arrived', async () => {
  const { baseUrl, handler } = await startOperator();
  const text = await readFile(new URL('../../examples/plain-page/index.html', import.meta.url), 'utf8');
  const [head, body] = text.replace('%BASE_URL%', baseUrl).replace('data-user="%USER%"', '').split('  <body>');
  let scriptHasRun = () => {};
  const whenScriptHasRun = new Promise<void>((resolve) => (scriptHasRun = resolve));
  const encoder = new TextEncoder();
  const site = await serveSite({
    '/': () =>
      new Response(
        new ReadableStream({
          start: async (controller) => {
            controller.enqueue(encoder.encode(head));
            await whenScriptHasRun;
            controller.enqueue(encoder.encode(`<body>${body}`));
            controller.close();
          },
        }),
        { headers: { 'content-type': 'text/html; charset=utf-8' } },
      ),
    '/token': (request) => {
      scriptHasRun();
      return handler(request);
    },
  });
  const page = await (await openProfile()).newPage();
  const thrown: Error[] = [];
  page.on('pageerror', (error) => thrown.push(error));
  await page.goto(`${site.origin}/`);
  await page.getByText('fresh, next: refresh (refresh_from)').waitFor();
  expect(thrown).toEqual([]);
});
