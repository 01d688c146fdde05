/**
 * What the drop-in finds on a device: the stored record, local storage, cookies, and what a page passes to it.
 *
 * What must hold: no method throws or rejects but as documented; a good identity of the page is in force, unless the user has
 * opted out.
 */

import { IDBFactory } from 'fake-indexeddb';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { installUid2 } from '../../src/page/uid2/index.ts';
import { indexedDbStore } from '../../src/session/index.ts';
import { clearPlaces, KEY, newSet, putCookie } from '../page/uid2/fixtures.ts';
import { BASE_URL, recordOf, restoreGlobals, watchRejections, wireSet } from '../session/fixtures.ts';
import { until, useFakeClock } from '../support/clock.ts';
import { altered, anything, json } from './inputs.ts';
import { fuzz } from './run.ts';

const NOW = Date.UTC(2030, 0, 15, 12);

let rejections: ReturnType<typeof watchRejections>;
let failures: unknown[];
beforeEach(() => {
  useFakeClock();
  vi.setSystemTime(NOW);
  rejections = watchRejections();
  failures = [];
  vi.stubGlobal('reportError', (failure: unknown) => failures.push(failure));
  vi.stubGlobal('fetch', () => new Promise(() => {}));
});
afterEach(async () => {
  rejections.stop();
  expect([rejections.seen, failures]).toEqual([[], []]);
  await restoreGlobals();
});

const store = (value: unknown): Promise<unknown> =>
  indexedDbStore('tessera-uid2')
    .update(() => value)
    .catch(() => {});

describe('the drop-in', () => {
  const records = fc.oneof(altered({ ...recordOf(1, NOW), actAt: NOW - 1 }, anything), anything);
  const copies = fc.oneof(
    altered({ ...wireSet(2, NOW), tessera: NOW }),
    altered({ status: 'logout', tessera: NOW, identity_expires: NOW + 1, refresh_expires: NOW + 1 }),
    json,
  );
  const devices = fc.record({
    record: records,
    copy: copies,
    cookie: copies,
    text: fc.option(fc.string()),
    useCookie: fc.boolean(),
  });

  fuzz('starts on any device', 2, devices, async ({ record, copy, cookie, text, useCookie }) => {
    vi.stubGlobal('indexedDB', new IDBFactory());
    delete window.__uid2;
    await store(record);
    localStorage.setItem(KEY, text ?? JSON.stringify(copy) ?? '');
    putCookie(cookie ?? null);
    const sdk = installUid2();
    try {
      sdk.init({ baseUrl: BASE_URL, useCookie });
      const look = () => {
        const token = sdk.getAdvertisingToken();
        expect(token === undefined || (typeof token === 'string' && token !== '')).toBe(true);
        expect(sdk.getIdentity() === null).toBe(token === undefined);
        if (sdk.hasOptedOut()) expect(token).toBeUndefined();
        expect(typeof sdk.isLoginRequired()).toBe('boolean');
      };
      look();
      await until(() => sdk.isInitComplete(), 'InitCompleted');
      look();
      sdk.setIdentity(newSet(5, NOW));
      await until(() => sdk.hasOptedOut() || sdk.getAdvertisingToken() === 'advertising-5', 'the identity of the page');
      look();
      sdk.disconnect();
      expect(sdk.getAdvertisingToken()).toBeUndefined();
    } finally {
      sdk.abort();
      clearPlaces();
    }
  });
});
