/**
 * The real Prebid.js in a real Chromium: which token the bid request carries that leaves the page. The bidder is Prebid's
 * own server adapter, pointed at loopback; the operator is real.
 */

import type { Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { INSTALL_MS, install } from '../../build/packages.ts';
import { prebidScript } from '../../demo/prebid.ts';
import { createOperator, type OperatorOptions } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient, tokenHandler } from '../../src/server/index.ts';
import { openProfile, serveSite } from '../support/browser.ts';

beforeAll(() => install('demo/prebid'), INSTALL_MS);

const READER = { email: 'reader@example.com' };
const SCRIPTS: Record<string, string> = {
  stub: `<script>
    window.pbjs = window.pbjs || { que: [] };
    pbjs.que.push(() => pbjs.setConfig({
      s2sConfig: { accountId: '1', enabled: true, adapter: 'prebidServer', bidders: ['local'], timeout: 30000, endpoint: location.origin + '/auction' },
      userSync: {
        auctionDelay: 5000,
        userIds: [{ name: 'pubProvidedId', params: { eids: [{ source: 'page.example', uids: [{ id: 'own', atype: 1 }] }] } }],
      },
    }));
  </script>`,
  prebid: '<script src="/prebid.js"></script>',
  session: '<script src="/tessera.js" data-base-url="{{operator}}" data-provide="/token"></script>',
  adapter: `<script type="module">
    import { connectPrebid } from '/page/user-id-module.js';
    tessera.push(({ session }) => (window.disconnect = connectPrebid(session, { name: '{{name}}' })));
  </script>`,
  lateAdapter: `<script>
    import('/page/user-id-module.js').then(({ connectPrebid }) =>
      (window.tessera = window.tessera || []).push(({ session }) => (window.disconnect = connectPrebid(session, { name: '{{name}}' }))));
  </script>`,
  latePrebid: '<script src="/slow/prebid.js" async></script>',
};

interface Eid {
  source: string;
  uids: { id: string }[];
}

/** Start a publisher whose page has these scripts, in this order. */
const startPublisher = async (
  order: string[],
  { name = 'uid2', reader = READER, ...options }: OperatorOptions & { name?: string; reader?: typeof READER } = {},
) => {
  const operator = createOperator({ roles: ['GENERATOR'], ...options });
  const asked: string[] = [];
  let down = false;
  const { url: baseUrl, close } = await listen(
    {
      fetch: async (request) => {
        asked.push(new URL(request.url).pathname);
        return down ? new Response(null, { status: 503 }) : operator.fetch(request);
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(close);
  const client = createClient({ baseUrl, ...operator.participants[0]! });
  let user: typeof READER | null = reader;

  const modules = ['userId', `${name}IdSystem`, 'pubProvidedIdSystem', 'prebidServerBidAdapter'];
  const prebid = await prebidScript(modules);
  const asScript = () => new Response(prebid, { headers: { 'content-type': 'text/javascript' } });
  let letPrebidCome = () => {};
  const mayCome = new Promise<void>((resolve) => (letPrebidCome = resolve));
  const bids: Eid[][] = [];
  const page = order
    .map((part) => SCRIPTS[part])
    .join('\n')
    .replaceAll('{{operator}}', baseUrl)
    .replaceAll('{{name}}', name);
  const site = await serveSite({
    '/': `<!doctype html><title>publisher</title>${page}`,
    '/token': tokenHandler({ client, user: () => user }),
    '/prebid.js': asScript,
    '/slow/prebid.js': () => mayCome.then(asScript),
    '/auction': async (request) => {
      const { user } = (await request.json()) as { user?: { eids?: Eid[]; ext?: { eids?: Eid[] } } };
      bids.push([...(user?.eids ?? []), ...(user?.ext?.eids ?? [])]);
      return Response.json({ id: '1', seatbid: [] });
    },
  });
  return {
    site,
    asked,
    bids,
    letPrebidCome,
    signOut: () => (user = null),
    takeDown: () => (down = true),
  };
};
type Publisher = Awaited<ReturnType<typeof startPublisher>>;

const openPage = async ({ site }: Publisher): Promise<Page> => {
  const page = await (await openProfile()).newPage();
  const thrown: Error[] = [];
  page.on('pageerror', (error) => thrown.push(error));
  onTestFinished(() => expect(thrown).toEqual([]));
  await page.goto(`${site.origin}/`, { waitUntil: 'commit' });
  await page.waitForFunction(() => (window as never as { disconnect: unknown }).disconnect);
  return page;
};

const run = <T = string>(page: Page, code: string): Promise<T> => page.evaluate<T>(code);
const token = (page: Page) => run<string | undefined>(page, 'tessera.session.advertisingToken');

/** Hold an auction; returns the user IDs of its bid request, by source. */
const auction = async (page: Page, { bids }: Publisher): Promise<Record<string, string>> => {
  const before = bids.length;
  await run(
    page,
    `new Promise((done) => pbjs.que.push(() => pbjs.requestBids({
      timeout: 30000,
      adUnits: [{ code: 'top', mediaTypes: { banner: { sizes: [[300, 250]] } }, bids: [{ bidder: 'local', params: {} }] }],
      bidsBackHandler: () => done(),
    })))`,
  );
  expect(bids).toHaveLength(before + 1);
  return Object.fromEntries(bids.at(-1)!.map(({ source, uids }) => [source, uids.map(({ id }) => id).join()]));
};

const PAGES_OWN = { 'page.example': 'own' };

test.each([
  [['stub', 'prebid', 'session', 'adapter']],
  [['lateAdapter', 'session', 'stub', 'prebid']],
  [['session', 'adapter', 'latePrebid', 'stub']],
])('%j: each bid request has the token in force, even after a refresh', async (order) => {
  const publisher = await startPublisher(order);
  const page = await openPage(publisher);
  const first = await run(page, 'tessera.session.getToken()');
  publisher.letPrebidCome();
  expect(await auction(page, publisher)).toEqual({ ...PAGES_OWN, 'uidapi.com': first });

  const seen = [first];
  for (let rotation = 1; rotation <= 2; rotation++) {
    await run(page, 'tessera.session.refresh()');
    seen.push((await token(page))!);
    expect(await auction(page, publisher)).toEqual({ ...PAGES_OWN, 'uidapi.com': seen.at(-1) });
  }
  expect(new Set(seen).size).toBe(3);

  publisher.signOut();
  await run(page, 'void tessera.session.clear()');
  expect(await auction(page, publisher)).toEqual(PAGES_OWN);

  // The session is the only one who asked; Prebid keeps no token of its own.
  expect(publisher.asked).toEqual(['/v2/token/generate', '/v2/token/refresh', '/v2/token/refresh']);
  expect(await run<string[]>(page, 'Object.keys(localStorage)')).not.toContain('__uid2_advertising_token');
  expect(await run<number>(page, "pbjs.getConfig('userSync').auctionDelay")).toBe(5000);
});

const ORDER = ['stub', 'prebid', 'session', 'adapter'];
const ids = (page: Page) => run<Record<string, unknown>>(page, 'pbjs.getUserIds()');
/** Wait until Prebid has no token; no auction begins meanwhile. */
const untilGone = (page: Page, name = 'uid2') => page.waitForFunction(`!pbjs.getUserIds().${name}?.id`);

/** Advance the page's clock by hours without firing a timer. */
const passHours = (page: Page, hours: number) =>
  run(page, `void ((real) => (Date.now = () => real() + ${hours * 3_600_000}))(Date.now)`);

test.each([
  ['when the page wakes', "document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))"],
  ['when an auction begins', undefined],
])('a token that expires without a new one is removed from Prebid %s', async (_, wake) => {
  const publisher = await startPublisher(ORDER, { identityExpires: 3600 });
  const page = await openPage(publisher);
  const first = await run(page, 'tessera.session.getToken()');
  expect(await auction(page, publisher)).toEqual({ ...PAGES_OWN, 'uidapi.com': first });
  publisher.takeDown();
  await passHours(page, 2);
  if (wake) {
    await run(page, `void ${wake}`);
    await untilGone(page);
  }
  expect(await auction(page, publisher)).toEqual(PAGES_OWN);
});

test('an opt-out removes the token from Prebid', async () => {
  const publisher = await startPublisher(ORDER, { reader: { email: 'refresh-optout@example.com' } });
  const page = await openPage(publisher);
  const first = await run(page, 'tessera.session.getToken()');
  expect(await auction(page, publisher)).toEqual({ ...PAGES_OWN, 'uidapi.com': first });
  await run(page, 'tessera.session.refresh().catch(() => {})');
  await untilGone(page);
  expect(await run(page, 'tessera.session.state.phase')).toBe('optedOut');
  expect(await auction(page, publisher)).toEqual(PAGES_OWN);
});

test('the next login after a logout reaches Prebid; disconnecting removes its token', async () => {
  const publisher = await startPublisher(ORDER);
  const page = await openPage(publisher);
  await run(page, 'tessera.session.getToken()');
  await run(page, 'tessera.session.clear()');
  await untilGone(page);
  await run(
    page,
    "fetch('/token', { method: 'POST' }).then((r) => r.json()).then((set) => tessera.session.setTokens(set))",
  );
  expect(await auction(page, publisher)).toEqual({ ...PAGES_OWN, 'uidapi.com': await token(page) });

  await run(page, 'disconnect()');
  await untilGone(page);
  await run(page, 'tessera.session.refresh()');
  expect(await token(page)).toBeDefined();
  expect(await auction(page, publisher)).toEqual(PAGES_OWN);
});

test('an entry of the page for the same module is replaced, even a later one, and keeps its bidders', async () => {
  const publisher = await startPublisher(ORDER);
  const page = await openPage(publisher);
  const first = await run(page, 'tessera.session.getToken()');
  await auction(page, publisher);
  // What a page does that does not know of the adapter: its own list, in place of the whole one.
  await run(
    page,
    `pbjs.setConfig({ userSync: { auctionDelay: 5000, userIds: [
      { name: 'UID2', params: { uid2ApiBase: location.origin }, bidders: ['local'] },
      { name: 'pubProvidedId', params: { eids: [{ source: 'page.example', uids: [{ id: 'other', atype: 1 }] }] } },
    ] } })`,
  );
  await run(page, 'tessera.session.refresh()');
  const next = await token(page);
  expect(next).not.toBe(first);
  await auction(page, publisher);
  expect(await run(page, "pbjs.getConfig('userSync').userIds")).toEqual([
    { name: 'pubProvidedId', params: { eids: [{ source: 'page.example', uids: [{ id: 'other', atype: 1 }] }] } },
    { name: 'uid2', bidders: ['local'], value: { uid2: { id: next } } },
  ]);
  expect(publisher.site.requests.filter((request) => request.includes('/v2/token'))).toEqual([]);
});

test('EUID has its own module name', async () => {
  const publisher = await startPublisher(ORDER, { name: 'euid', scope: 'EUID' });
  const page = await openPage(publisher);
  const first = await run(page, 'tessera.session.getToken()');
  expect(await auction(page, publisher)).toEqual({ ...PAGES_OWN, 'euid.eu': first });
  expect(Object.keys(await ids(page))).not.toContain('uid2');
});
