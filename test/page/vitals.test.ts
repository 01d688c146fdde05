/** The report of a page view: exactly one, whose values are what the page saw. Real pages: test/worlds/vitals.ts. */

import { expect, onTestFinished, test, vi } from 'vitest';
import { installUid2 } from '../../src/page/uid2/index.ts';
import { onVitals, type VitalsCounts, type VitalsOptions, type VitalsReport } from '../../src/page/vitals.ts';
import { memoryStore, type Session, type Store } from '../../src/session/index.ts';
import {
  answersPlain,
  dispatch,
  fixtureForEachTest,
  recordOf,
  setVisible,
  success,
  wireSet,
} from '../session/fixtures.ts';
import { MINUTE } from '../support/clock.ts';

const fixture = fixtureForEachTest();

const watch = (session: Session, options?: VitalsOptions) => {
  const reports: (VitalsReport | VitalsCounts)[] = [];
  onVitals(session, (report) => void reports.push(report), options);
  return reports;
};
/** A store that answers its first read after `ms`. */
const slowStore = (ms: number): Store => {
  const inner = memoryStore(recordOf(1));
  let wait: Promise<void> | undefined;
  const late = <T>(work: () => Promise<T>) => (wait ??= new Promise((done) => setTimeout(done, ms))).then(work);
  return { kind: 'slow', read: () => late(inner.read), update: (change) => late(() => inner.update(change)) };
};
const hide = async () => {
  setVisible(false);
  await fixture.settle();
};

test('a stored token: one report when the page is hidden, none when it is hidden again or left', async () => {
  const { session } = fixture.openStored();
  const reports = watch(session);
  await session.ready;
  await fixture.advance(40);
  await hide();
  expect(reports).toEqual([
    {
      version: 1,
      integration: 'npm',
      navigation: 'navigate',
      tokenMs: expect.any(Number),
      cause: 'load',
      auctionHadToken: undefined,
      phase: 'fresh',
      waitingFor: undefined,
      persistence: 'memory',
      lateStoreMs: undefined,
      calls: { provide: 0, refresh: 0, failed: 0 },
      lastError: undefined,
      nextReason: 'refresh_from',
    },
  ]);
  setVisible(true);
  await hide();
  dispatch('pagehide');
  expect(reports).toHaveLength(1);
  expect(JSON.stringify(reports)).not.toMatch(/advertising-|refresh-|https?:/);
});

test('a page that is left reports what it was before it was left', async () => {
  const { session } = fixture.openStored();
  const reports = watch(session);
  await session.ready;
  await fixture.advance(40);
  dispatch('pagehide');
  expect(reports).toMatchObject([{ phase: 'fresh', nextReason: 'refresh_from' }]);
});

test('a token that the page has set', async () => {
  const { session } = fixture.open();
  const reports = watch(session);
  await session.ready;
  await session.setTokens(wireSet(1));
  await fixture.advance(100);
  await hide();
  expect(reports).toMatchObject([{ tokenMs: expect.any(Number), cause: 'set' }]);
});

test('a token that was there before: it counts until the call of onVitals, and nobody knows where it came from', async () => {
  const { session } = fixture.openStored();
  await session.ready;
  await fixture.advance(40);
  const reports = watch(session);
  const calledAt = performance.now();
  await fixture.advance(16 * MINUTE);
  await hide();
  expect(reports).toMatchObject([{ calls: { refresh: 1 }, cause: undefined }]);
  expect((reports[0] as VitalsReport).tokenMs).toBeCloseTo(calledAt, -2);
});

test('a token of provide, and whether the auction had it', async () => {
  let answer = (_: unknown) => {};
  const provide = () => new Promise((resolve) => (answer = resolve)) as never;
  const { session } = fixture.open({ provide });
  const marks: ((moment: 'auction') => void)[] = [];
  const reports = watch(session, { mark: (mark) => marks.push(mark) });
  await fixture.advance(100);
  marks[0]!('auction');
  answer(success(3));
  await fixture.advance(100);
  marks[0]!('auction');
  await hide();
  expect(reports).toMatchObject([
    { cause: 'provide', auctionHadToken: false, calls: { provide: 1, refresh: 0, failed: 0 } },
  ]);
  expect((reports[0] as VitalsReport).tokenMs).toBeGreaterThanOrEqual(100);
});

test('an outage: calls, failures, the last error and the wait', async () => {
  fixture.serve(answersPlain(503));
  const { session } = fixture.openStored();
  const reports = watch(session);
  await session.ready;
  await fixture.advance(16 * MINUTE);
  await hide();
  const { refresh, failed } = (reports[0] as VitalsReport).calls;
  expect(refresh).toBe(fixture.sent.length);
  expect(failed).toBe(refresh);
  expect(reports).toMatchObject([{ phase: 'due', lastError: 'http_status', nextReason: 'back_off' }]);
});

test('a call that is in progress when the page is hidden has been made', async () => {
  const { session } = fixture.open({ provide: () => new Promise(() => {}) });
  const reports = watch(session);
  await fixture.advance(100);
  await hide();
  expect(reports).toMatchObject([{ waitingFor: 'provide', calls: { provide: 1, refresh: 0, failed: 0 } }]);
});

test('a call that had begun before onVitals was called counts, and has failed if it fails', async () => {
  let answer = (_: unknown) => {};
  const { session } = fixture.open({ provide: () => new Promise((resolve) => (answer = resolve)) as never });
  await fixture.advance(100);
  const reports = watch(session);
  answer('not a token set');
  await fixture.advance(100);
  await hide();
  expect(reports).toMatchObject([{ calls: { provide: 1, refresh: 0, failed: 1 } }]);
});

test('a page that was rendered in advance begins when it is shown, also if that is after onVitals was called', async () => {
  const entry = { type: 'navigate', activationStart: 0 };
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(performance, 'getEntriesByType').mockReturnValue([entry] as never);
  let answer = (_: unknown) => {};
  const { session } = fixture.open({ provide: () => new Promise((resolve) => (answer = resolve)) as never });
  const reports = watch(session);
  await fixture.advance(5_000);
  entry.activationStart = performance.now();
  await fixture.advance(300);
  answer(success(3));
  await fixture.advance(100);
  await hide();
  expect(reports).toMatchObject([{ navigation: 'prerender', tokenMs: expect.closeTo(300, -2), cause: 'provide' }]);
});

test('of two tabs, the one that made no request reports none', async () => {
  const store = memoryStore(recordOf(1));
  const [one, two] = [fixture.open({ name: 'vitals', store }), fixture.open({ name: 'vitals', store })];
  const reports = [watch(one.session), watch(two.session)];
  await fixture.advance(16 * MINUTE);
  await hide();
  expect(fixture.sent).toHaveLength(1);
  expect(
    reports
      .flat()
      .map((report) => (report as VitalsReport).calls.refresh)
      .sort(),
  ).toEqual([0, 1]);
});

test('a late store: how long memory stood in for it', async () => {
  const { session } = fixture.open({ store: slowStore(4_000) });
  const reports = watch(session);
  await fixture.advance(6_000);
  await hide();
  expect(reports).toMatchObject([{ persistence: 'custom', lateStoreMs: 2_500, cause: 'load', phase: 'fresh' }]);
});

test('a store that was late and has then failed is not late', async () => {
  const late = () => new Promise<never>((_, reject) => setTimeout(() => reject(new Error('lost')), 4_000));
  const { session } = fixture.open({ store: { kind: 'slow', read: late, update: late } });
  const reports = watch(session);
  await fixture.advance(6_000);
  await hide();
  expect(reports).toMatchObject([{ persistence: 'memory', lastError: 'storage_failed', lateStoreMs: undefined }]);
});

test('a logout of another tab', async () => {
  const store = memoryStore(recordOf(1));
  const [one, two] = [fixture.open({ name: 'logout', store }), fixture.open({ name: 'logout', store })];
  const reports = watch(one.session);
  await fixture.advance(50);
  await two.session.clear();
  await fixture.advance(50);
  await hide();
  expect(reports).toMatchObject([{ phase: 'empty', cause: 'load', nextReason: 'host' }]);
});

test('a page that comes back from the cache begins a new page view', async () => {
  const { session } = fixture.openStored();
  const reports = watch(session);
  await session.ready;
  dispatch('pagehide');
  window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }));
  await fixture.advance(200);
  await hide();
  expect(reports.map((report) => (report as VitalsReport).navigation)).toEqual(['navigate', 'back_forward_cache']);
  expect(reports[1]).toMatchObject({ cause: 'load', phase: 'fresh' });
});

test.each([
  ['that has not answered', () => new Promise<boolean>(() => {})],
  ['that refuses', () => false],
])('with a consent gate %s nothing is reported, unless the page asks for counts', async (_, consent) => {
  const { session } = fixture.open({ consent });
  const [nothing, counts] = [watch(session), watch(session, { withoutConsent: 'counts' })];
  await fixture.advance(100);
  await hide();
  expect(nothing).toEqual([]);
  expect(counts).toEqual([{ version: 1, phase: 'empty', waitingFor: 'consent' }]);
});

test('a report that throws stops nothing, and is reported to the page', async () => {
  const report = vi.fn();
  vi.stubGlobal('reportError', report);
  const { session } = fixture.openStored();
  const wrong = new Error('not sent');
  onVitals(session, () => {
    throw wrong;
  });
  await session.ready;
  await hide();
  expect(report).toHaveBeenCalledExactlyOnceWith(wrong);
});

test('the integration: a page in an app, and the drop-in, whose session there is after `init`', async () => {
  const { session } = fixture.openStored();
  const inApp = watch(session);
  dispatchEvent(new CustomEvent('tessera:message', { detail: { type: 'hello' } }));
  const uid2 = installUid2();
  onTestFinished(() => {
    uid2.abort();
    Reflect.deleteProperty(window, '__uid2');
  });
  expect(uid2.session).toBeUndefined();
  uid2.init({ baseUrl: 'https://operator.example', identity: wireSet(1) });
  const inDropIn = watch(uid2.session!);
  await fixture.advance(50);
  await hide();
  expect([inApp, inDropIn].flat()).toMatchObject([{ integration: 'webview' }, { integration: 'uid2', phase: 'fresh' }]);
});
