/** The inspector, over a real session and a real operator. */

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { inspect } from '../../src/page/inspector.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { MINUTE, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

test('the report has times from now, events, counts and the last error', async () => {
  const fixture = createOperatorFixture();
  const { session } = fixture.open();
  const { report } = inspect(session);
  expect(report()).toMatchObject({ phase: 'empty', hasToken: false, waitingFor: 'storage', events: [], counts: {} });
  await session.setTokens(await fixture.answerFor('user@example.com'));
  await fixture.advance(15 * MINUTE);
  fixture.network(async () => new Response(null, { status: 503 }));
  await fixture.advance(16 * MINUTE);

  const { refreshAt, expiresAt, endsAt } = session.state;
  expect(report()).toMatchObject({
    phase: 'due',
    hasToken: true,
    lastError: 'http_status 503',
    refreshInMs: refreshAt! - Date.now(),
    expiresInMs: expiresAt! - Date.now(),
    endsInMs: endsAt! - Date.now(),
    counts: { 'token set': 1, 'token refresh': 1, token: 2, 'error http_status 503': 1 },
  });
  expect(report().refreshInMs).toBeLessThan(0);
  const seen = report().events.map(({ event, detail }) => `${event} ${detail}`);
  expect(seen).toEqual(expect.arrayContaining(['token set', 'phase due', 'token refresh', 'error http_status 503']));
  expect(seen.indexOf('token set')).toBeLessThan(seen.indexOf('token refresh'));
  const ages = report().events.map(({ msAgo }) => msAgo);
  expect(ages).toEqual([...ages].sort((a, b) => b - a));
  fixture.close();
});

test('the report contains no token, key or error message', async () => {
  const fixture = createOperatorFixture();
  const answer = await fixture.answerFor('refresh-optout@example.com');
  const { session } = fixture.open({
    tokens: answer,
    provide: async () => {
      throw new Error(JSON.stringify(answer));
    },
  });
  const printed: unknown[] = [];
  vi.spyOn(console, 'table').mockImplementation((said) => void printed.push(said));
  const inspector = inspect(session);
  await session.ready;
  await fixture.settle();
  inspector.print();
  await session.clear();
  await session.refresh().catch(() => {});
  await session.setTokens(answer).catch(() => {});
  await fixture.advance(20 * MINUTE);
  inspector.print();
  const text = JSON.stringify(printed);
  expect(text).toContain('optout');
  expect(text).toContain('error');
  for (const value of Object.values((answer as { body: Record<string, unknown> }).body)) {
    expect(text).not.toContain(String(value));
  }
  expect(text).not.toContain('refresh-optout');
  fixture.close();
});

test('keeps the newest events, counts all, and records nothing after stop', async () => {
  const fixture = createOperatorFixture();
  const { session } = fixture.open();
  const { report, stop } = inspect(session, { keep: 3 });
  for (let round = 0; round < 5; round++) await session.setTokens(await fixture.answerFor(`user${round}@example.com`));
  await fixture.settle();
  expect(report().events).toHaveLength(3);
  expect(report().counts['token set']).toBe(5);
  stop();
  await session.clear();
  await fixture.settle();
  expect(report().counts['phase empty']).toBeUndefined();
  expect(report().phase).toBe('empty');
  fixture.close();
});

test('the script tag of the inspector queues its call even if an element of the page has the id `tessera`', async () => {
  // As in a browser: a named element is a property of an object in the prototype chain of `window`.
  const prototype = Object.getPrototypeOf(window) as object;
  const element = document.createElement('div');
  Object.defineProperty(prototype, 'tessera', { value: element, configurable: true, writable: true });
  onTestFinished(() => {
    Reflect.deleteProperty(prototype, 'tessera');
    Reflect.deleteProperty(window, 'tessera');
  });
  await import('../../src/page/inspector/script.ts');
  expect(window.tessera).toEqual([expect.any(Function)]);
});
