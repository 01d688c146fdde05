/** An operator whose database opens slowly, or not at all. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { operatorFrom } from '../../src/operator/operator.ts';
import { resolveOptions } from '../../src/operator/options/resolve.ts';
import { BASE } from './fixtures.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

test('a request during a start that takes long is answered 503 after 30 s, in a form that pages can read', async () => {
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  let fail = (_: Error): void => {};
  const opening = new Promise<never>((_, reject) => (fail = reject));
  const operator = operatorFrom(resolveOptions({ database: 'folder', logger }), () => opening);
  const request = () =>
    new Request(`${BASE}/v2/token/refresh`, { method: 'POST', headers: { origin: 'https://page.test' } });
  const answers = Promise.all([operator.fetch(request()), operator.metrics.fetch(new Request(`${BASE}/metrics`))]);
  await vi.advanceTimersByTimeAsync(30_000);
  const [answer, metrics] = await answers;
  expect([answer.status, metrics.status]).toEqual([503, 503]);
  expect(answer.headers.get('access-control-allow-origin')).toBe('https://page.test');
  expect(answer.headers.get('retry-after')).toBe('5');
  expect(await answer.json()).toEqual({ status: 'unavailable', message: 'The operator has not started' });
  // If the start fails, nobody waits.
  const waiting = operator.fetch(request());
  fail(new Error('no'));
  expect((await waiting).status).toBe(503);
  expect(vi.getTimerCount()).toBe(0);
});
