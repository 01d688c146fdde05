/** Safeguards whose absence no state at the end shows: what a page sees in between, or hears only later. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { memoryStore, type Store, type TokenAnswer } from '../../src/session/index.ts';
import { loaded, MINUTE, names, until, useFakeClock } from '../support/clock.ts';
import { controlledConsent, openAsking } from './consent-fixture.ts';
import { createFixture, dispatch, openTwoTabs, recordOf, restoreGlobals, setVisible, success } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

test('a late answer of `provide` is never shown if another page has supplied a set meanwhile', async () => {
  const { open, settle, advance } = createFixture();
  const inner = memoryStore();
  let pauseMs = 0;
  const store: Store = {
    ...inner,
    update: async (change) => {
      if (pauseMs) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      return inner.update(change);
    },
  };
  let answer = (_: TokenAnswer) => {};
  const provide = vi.fn(() => new Promise<TokenAnswer>((resolve) => (answer = resolve)));
  const { session } = open({ store, provide });
  const shown = new Set<string | undefined>();
  session.subscribe(() => shown.add(session.advertisingToken));
  await until(() => provide.mock.calls.length);
  // No message announces it.
  await inner.update(() => recordOf(3));
  pauseMs = 500;
  answer(success(2));
  await settle();
  shown.add(session.advertisingToken);
  await advance(1_000);
  shown.add(session.advertisingToken);
  expect([...shown]).not.toContain('advertising-2');
  expect(session.advertisingToken).toBe('advertising-3');
});

test('a page whose store has failed keeps its user, whatever that store contains', async () => {
  const { open, advance, settle } = createFixture();
  const loggedOut = { v: 2, generation: 4, baseUrl: recordOf(1).baseUrl, offsetMs: 0, changedAt: Date.now() };
  const store: Store = {
    read: async () => loggedOut,
    update: async () => {
      throw new DOMException('refused', 'QuotaExceededError');
    },
  };
  const { session } = await loaded(open({ store }));
  await advance(MINUTE);
  await session.setTokens(success(2));
  setVisible(false);
  await advance(10_000);
  setVisible(true);
  await settle();
  expect(session.advertisingToken).toBe('advertising-2');
});

test('a page that leaves and comes back at once still notices a logout in another tab', async () => {
  const { fixture, a, b } = await openTwoTabs();
  dispatch('pagehide');
  dispatch('pageshow');
  await fixture.settle();
  expect(b.session.advertisingToken).toBe('advertising-1');
  await a.session.clear();
  await until(() => b.session.advertisingToken === undefined);
  expect(b.session.state.phase).toBe('empty');
});

test('consent given again: the page reads its store before it asks for a set', async () => {
  const { session, grant, withdraw, inner, events, settle } = openAsking();
  grant();
  await settle();
  withdraw();
  await settle();
  events.length = 0;
  // No message announces it.
  await inner.update(() => recordOf(2));
  grant();
  expect(session.state.waitingFor).toBe('storage');
  await settle();
  expect(session.advertisingToken).toBe('advertising-2');
  expect(names(events)).toEqual(['token tab']);
});

test.each([
  ['was opened in the background', () => {}],
  [
    'was thawed in the background',
    () => {
      dispatch('freeze');
      dispatch('resume');
    },
  ],
])(
  'a page that %s and was suspended without an event gives out nothing before it has read again',
  async (_, before) => {
    setVisible(false);
    const { open, advance, settle } = createFixture();
    const store = memoryStore(recordOf(1));
    const { session } = await loaded(open({ store }));
    await settle();
    before();
    await settle();
    expect(session.advertisingToken).toBe('advertising-1');
    await advance(10_000);
    // Another user signs in; the message is lost.
    await store.update(() => recordOf(2));
    setVisible(true);
    expect(session.advertisingToken).toBeUndefined();
    await settle();
    expect(session.advertisingToken).toBe('advertising-2');
  },
);

test('an opt-out before consent holds back the set supplied after it, even if the store fails before its first read', async () => {
  let isHanging = false;
  const inner = memoryStore();
  const store: Store = {
    read: () => (isHanging ? new Promise(() => {}) : inner.read()),
    update: (change) => (isHanging ? new Promise(() => {}) : inner.update(change)),
  };
  const { consent, grant } = controlledConsent();
  const { open, serve, advance, settle } = createFixture();
  serve(() => new Promise(() => {}));
  const { session } = open({ store, consent });
  await session.setTokens({ status: 'optout' });
  isHanging = true;
  session.setTokens(success(2)).catch(() => {});
  grant();
  await advance(10_000);
  await settle();
  expect(session.state.phase).toBe('optedOut');
  expect(session.advertisingToken).toBeUndefined();
});
