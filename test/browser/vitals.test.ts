/**
 * `tessera-vitals.js` as a publisher deploys it: its tag, a real Chromium, `vitalsHandler` at the other end of `sendBeacon`. What each
 * value means is told in test/page/vitals.test.ts.
 */

import { expect, test } from 'vitest';
import { type VitalsReport, vitalsHandler } from '../../src/server/index.ts';
import { serveSite } from '../support/browser.ts';
import { openPage, startOperator } from './publisher.ts';

test('each page view sends one report: a first visit, a return visit, a reload', async () => {
  const { baseUrl, handler } = await startOperator();
  const reports: VitalsReport[] = [];
  const site = await serveSite({
    '/': `<!doctype html><title>publisher</title>
      <script src="/tessera-vitals.js" data-to="/vitals"></script>
      <script async src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script>`,
    '/elsewhere': '<!doctype html><title>elsewhere</title>',
    '/token': handler,
    '/vitals': vitalsHandler({ record: (report) => reports.push(report as VitalsReport) }),
  });
  const page = await openPage(`${site.origin}/`);
  const hasToken = () => page.waitForFunction('window.tessera?.session?.advertisingToken && window.tesseraVitals');
  const received = (count: number) => expect.poll(() => reports.length, { timeout: 20_000 }).toBe(count);

  await hasToken();
  await page.goto(`${site.origin}/elsewhere`);
  await received(1);
  expect(reports[0]).toMatchObject({
    integration: 'script',
    navigation: 'navigate',
    cause: 'provide',
    phase: expect.stringMatching(/fresh|due/),
    persistence: 'indexeddb',
  });
  expect(reports[0]!.tokenMs).toBeGreaterThan(0);

  await page.goto(`${site.origin}/`);
  await hasToken();
  await page.reload();
  await received(2);
  expect(reports[1]!.calls.provide).toBe(0);
  await hasToken();
  await page.goto(`${site.origin}/elsewhere`);
  await received(3);
  expect(reports[2]).toMatchObject({ navigation: 'reload' });
  expect(JSON.stringify(reports)).not.toContain(site.origin);
});
