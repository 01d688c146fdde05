/** The other end of `onVitals`: a report from anyone, rebuilt from a closed list. */

import { expect, test, vi } from 'vitest';
import { type VitalsCounts, type VitalsReport, vitalsHandler } from '../../src/server/index.ts';

const URL = 'https://www.publisher.example/vitals';
const REPORT: VitalsReport = {
  version: 1,
  integration: 'script',
  navigation: 'reload',
  tokenMs: 812,
  cause: 'provide',
  auctionHadToken: true,
  phase: 'fresh',
  persistence: 'indexeddb',
  calls: { provide: 1, refresh: 0, failed: 0 },
  nextReason: 'refresh_from',
};

const send = async (body: unknown, init: RequestInit = {}, origins?: readonly string[]) => {
  const record = vi.fn<(report: VitalsReport | VitalsCounts) => void>();
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await vitalsHandler({ record, origins })(new Request(URL, { method: 'POST', body: text, ...init }));
  expect(response.headers.get('cache-control')).toBe('no-store');
  return [response.status, ...record.mock.calls.flat()];
};

test.each([
  ['a whole one', REPORT],
  ['one without a token', { ...REPORT, tokenMs: undefined, cause: undefined, phase: 'empty', lastError: 'timeout' }],
  ['one without consent', { version: 1, phase: 'empty', waitingFor: 'consent' }],
])('a report is recorded as it is: %s', async (_, report) => {
  const [status, recorded] = await send(report);
  expect([status, recorded]).toEqual([204, JSON.parse(JSON.stringify(report))]);
});

test('members that no report has are left out', async () => {
  const given = { ...REPORT, token: 'AAAA', calls: { ...REPORT.calls, url: 'https://a.example' } };
  expect(await send(given)).toEqual([204, REPORT]);
});

test.each<[what: string, body: unknown]>([
  ['no JSON', 'AAAA'],
  ['null', null],
  ['a list', [REPORT]],
  ['another version', { ...REPORT, version: 2 }],
  ['a version as text', { ...REPORT, version: '1' }],
  ['a phase that does not exist', { ...REPORT, phase: 'fresh"} 1' }],
  ['a member of every object', { ...REPORT, phase: 'constructor' }],
  ['no phase', { ...REPORT, phase: undefined }],
  ['a negative time', { ...REPORT, tokenMs: -1 }],
  ['a time that is not whole', { ...REPORT, tokenMs: 1.5 }],
  ['a time beyond any page view', { ...REPORT, tokenMs: 1e12 }],
  ['a count as text', { ...REPORT, calls: { ...REPORT.calls, failed: '1' } }],
  ['no counts', { ...REPORT, calls: null }],
  ['an answer that is no boolean', { ...REPORT, auctionHadToken: 'yes' }],
])('anything else is refused: %s', async (_, body) => {
  expect(await send(body)).toEqual([400]);
});

test('more than 2 KiB are not read', async () => {
  expect(await send({ ...REPORT, more: 'x'.repeat(2048) })).toEqual([413]);
});

test('what a link has put on Object.prototype is no member of a report', async () => {
  Object.assign(Object.prototype, { phase: 'fresh', waitingFor: 'storage' });
  try {
    expect(await send({ ...REPORT, phase: undefined })).toEqual([400]);
  } finally {
    for (const name of ['phase', 'waitingFor']) Reflect.deleteProperty(Object.prototype, name);
  }
});

test.each([
  ['another method', { method: 'GET', body: null }, 405],
  ['a page on another origin', { headers: { origin: 'https://other.example' } }, 403],
  ['a page on the same origin', { headers: { origin: 'https://www.publisher.example' } }, 204],
])('%s', async (_, init, status) => {
  expect((await send(REPORT, init))[0]).toBe(status);
});

test('a page on a listed origin may send reports', async () => {
  const headers = { origin: 'https://news.example' };
  expect((await send(REPORT, { headers }, ['https://news.example']))[0]).toBe(204);
  expect(await send('', { method: 'OPTIONS', body: null, headers }, ['https://news.example'])).toEqual([204]);
});

test('what `record` throws is left to the server', async () => {
  const wrong = new Error('the histogram is gone');
  const handler = vitalsHandler({ record: () => Promise.reject(wrong) });
  await expect(handler(new Request(URL, { method: 'POST', body: JSON.stringify(REPORT) }))).rejects.toBe(wrong);
});

test.each<[given: object, fault: string]>([
  [{}, 'record: expected function, got undefined'],
  [{ record: () => {}, recod: 1 }, 'expected one of'],
  [{ record: () => {}, origins: ['*'] }, 'origins: expected each as'],
])('an invalid option is named: %o', (given, fault) => {
  expect(() => vitalsHandler(given as never)).toThrow(fault);
});
