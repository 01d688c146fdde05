/** Withdrawn consent: the session erases what it holds and stores, and nothing brings it back. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store, type TokenAnswer } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, until } from '../support/clock.ts';
import { controlledConsent, openAsking } from './consent-fixture.ts';
import { BASE_URL, fixtureForEachTest, recordOf, rotate, success, watchRejections } from './fixtures.ts';

const fixture = fixtureForEachTest();

describe('consent withdrawn', () => {
  test('erases page and store at once; no request, event or timer follows', async () => {
    const { session, grant, withdraw, inner, events, sent, settle, advance } = openAsking(recordOf(1));
    grant();
    await until(() => session.advertisingToken);
    await settle();
    withdraw();
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state).toMatchObject({ waitingFor: 'consent', phase: 'empty' });
    await settle();
    // Nothing tells which user was here, or when.
    const nothing = { offsetMs: 0, receivedAt: 0, acceptedUntil: 0, changedAt: 0 };
    expect(await inner.read()).toEqual({ v: 2, generation: 2, baseUrl: BASE_URL, ...nothing });
    await advance(2 * HOUR);
    expect(sent).toEqual([]);
    expect(names(events)).toEqual(['token load']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('during a refresh: the request is aborted, and its answer is ignored', async () => {
    const { session, grant, withdraw, serve, sent, inner, events, settle, advance } = openAsking(recordOf(1));
    let answer = (_: Response) => {};
    serve(() => new Promise((resolve) => (answer = resolve)));
    grant();
    await advance(15 * MINUTE);
    expect(sent).toHaveLength(1);
    withdraw();
    expect(sent[0]?.init.signal?.aborted).toBe(true);
    answer(await rotate(sent[0]!));
    await settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
    expect(names(events)).toEqual(['token load']);
  });

  test('before a supplied set was written: it is never written', async () => {
    const { session, grant, withdraw, inner, settle } = openAsking();
    const updates = vi.spyOn(inner, 'update');
    const write = session.setTokens(success(3));
    grant();
    withdraw();
    await expect(write).rejects.toMatchObject({ code: 'no_consent' });
    await settle();
    const results = await Promise.all(updates.mock.results.map(({ value }) => value));
    expect(results.length).toBeGreaterThan(0);
    expect(JSON.stringify(results)).not.toMatch(/advertising-|refresh-|real/);
  });

  test('before the first read, then close(): the store is still erased', async () => {
    const { session, grant, withdraw, inner, settle } = openAsking(recordOf(1));
    grant();
    withdraw();
    session.close();
    await settle();
    expect(JSON.stringify(await inner.read())).not.toMatch(/advertising-|refresh-|real/);
  });

  test('during a call of `provide`: the signal is aborted, and the answer is ignored', async () => {
    let answer = (_: TokenAnswer) => {};
    let received: AbortSignal | undefined;
    const { session, grant, withdraw, inner, events, settle } = openAsking(undefined, {
      provide: ({ signal }: { signal: AbortSignal }) => {
        received = signal;
        return new Promise((resolve) => (answer = resolve));
      },
    });
    grant();
    await until(() => received);
    withdraw();
    expect(received?.aborted).toBe(true);
    answer(success(5));
    await settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
    expect(events).toEqual([]);
  });

  test('a set supplied afterwards reaches neither store nor page until consent is given again', async () => {
    const { session, grant, withdraw, inner, touched, settle } = openAsking(recordOf(1));
    grant();
    await until(() => session.advertisingToken);
    withdraw();
    await settle();
    touched.mockClear();
    session.setTokens(success(4)).catch(() => {});
    await settle();
    expect(touched).not.toHaveBeenCalled();
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
    expect(session.advertisingToken).toBeUndefined();
  });

  test('then given again: the session starts empty, and accepts a new set', async () => {
    const { session, grant, withdraw, events, settle } = openAsking(recordOf(1));
    grant();
    await until(() => session.advertisingToken);
    await settle();
    withdraw();
    await settle();
    grant();
    await settle();
    expect(session.state).toMatchObject({ phase: 'empty', waitingFor: undefined });
    await session.setTokens(success(6));
    await settle();
    expect(session.advertisingToken).toBe('advertising-6');
    expect(names(events)).toEqual(['token load', 'needsTokens empty', 'token set']);
  });
});

test('consent withdrawn in a tab whose store had failed: the set in the store is erased as well', async () => {
  const { consent, withdraw } = controlledConsent(true);
  const inner = memoryStore({ ...recordOf(1), generation: 8 });
  let fails = true;
  const store: Store = {
    read: async () => (fails ? Promise.reject(new Error('out of order')) : inner.read()),
    update: async (change) => (fails ? Promise.reject(new Error('out of order')) : inner.update(change)),
  };
  const { session } = await loaded(fixture.open({ store, consent }));
  fails = false;
  await session.setTokens(success(3));
  withdraw();
  await fixture.settle();
  expect(await inner.read()).toBeUndefined();
});

test.each([
  ['consent is withdrawn', 'no_consent'],
  ['the session is closed', 'closed'],
])('if %s while an attempt takes its lease, `provide` is not called', async (how, code) => {
  const provide = vi.fn(async () => null);
  const { consent, withdraw } = controlledConsent(true);
  const inner = memoryStore();
  let release: (() => void) | undefined;
  let holds = false;
  const update: Store['update'] = async (change) => {
    if (holds) await new Promise<void>((resolve) => (release = resolve));
    return inner.update(change);
  };
  const { session } = await loaded(fixture.open({ provide, store: { ...inner, update }, consent }));
  await fixture.settle();
  provide.mockClear();
  holds = true;
  const refreshed = session.refresh().catch(({ code }) => code);
  await until(() => release !== undefined);
  if (how === 'consent is withdrawn') withdraw();
  else session.close();
  await fixture.settle();
  holds = false;
  release!();
  expect(await refreshed).toBe(code);
  await fixture.settle();
  expect(provide).not.toHaveBeenCalled();
});

test('a change of consent after close() has no effect', async () => {
  const { seen, stop } = watchRejections();
  const { consent, withdraw } = controlledConsent(true);
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() };
  const { session } = await loaded(fixture.open({ store, consent }));
  session.close();
  await fixture.settle();
  withdraw();
  await fixture.settle();
  expect(await store.read()).toMatchObject({ set: {} });
  stop();
  expect(seen).toEqual([]);
});
