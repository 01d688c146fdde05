/** The snippet of docs/start/migrate.md, as a reader pastes it into every page. */

import { readFileSync } from 'node:fs';
import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { installUid2, type Uid2 } from '../../../src/page/uid2/index.ts';
import { createFixture, restoreGlobals, rotate, wireSet } from '../../session/fixtures.ts';
import { until, useFakeClock } from '../../support/clock.ts';
import { clearPlaces, putLocal } from './fixtures.ts';

const fixture = createFixture(rotate);
const bid = vi.fn<(token: string | undefined) => void>();
const askServer = vi.fn(async () => wireSet(1));

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
  vi.stubGlobal('fetch', fixture.fetch);
  vi.stubGlobal('bid', bid);
  vi.stubGlobal('askServer', askServer);
});
afterEach(async () => {
  clearPlaces();
  delete window.__uid2;
  bid.mockClear();
  askServer.mockClear();
  await restoreGlobals();
});

const page = readFileSync('docs/start/migrate.md', 'utf8');
const rules = readFileSync('docs/migration.md', 'utf8');
const [, snippet] = /<script>\n(.*?)<\/script>/s.exec(page)!;

const visit = async () => {
  delete window.__uid2;
  bid.mockClear();
  askServer.mockClear();
  new Function(snippet!)();
  vi.stubGlobal('__uid2', installUid2());
  const sdk = window.__uid2 as unknown as Uid2;
  await until(() => sdk.isInitComplete());
  await fixture.settle();
  sdk.abort();
};

test('the server is asked on the first page only, and each page bids', async () => {
  await visit();
  expect(askServer).toHaveBeenCalledOnce();
  expect(bid).toHaveBeenLastCalledWith('advertising-1');
  await visit();
  expect(askServer).not.toHaveBeenCalled();
  expect(bid).toHaveBeenLastCalledWith('advertising-1');
});

test('after an opt-out the server is not asked', async () => {
  putLocal({ status: 'optout' });
  await visit();
  expect(askServer).not.toHaveBeenCalled();
  expect(bid).toHaveBeenLastCalledWith(undefined);
});

test('the drop-in lacks the method of version 3 that the page lists, and has its replacement', () => {
  const [, former = '', current = ''] = /^\| `(\w+)\(\)`.*absent: call `(\w+)\(\)`/m.exec(rules) ?? [];
  const sdk: Record<string, unknown> = { ...installUid2() };
  expect([former, typeof sdk[former], typeof sdk[current]]).toEqual(['hasIdentity', 'undefined', 'function']);
});
