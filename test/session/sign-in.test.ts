/** `signIn()`: another user signs in on a page where a set is in force. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { useFakeClock } from '../support/clock.ts';
import { createFixture, openLoaded, restoreGlobals, success } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

describe('signIn()', () => {
  test('asks `provide` although a good set is in force, and replaces it', async () => {
    const provide = vi.fn(async () => success(8));
    const { session, store, sent } = await openLoaded({ provide });
    await session.signIn();
    expect(provide).toHaveBeenCalledOnce();
    expect(session.advertisingToken).toBe('advertising-8');
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-8' } });
    expect(sent).toEqual([]);
  });

  test('withdraws the previous token at once, in the same task', async () => {
    const { session } = await openLoaded({ provide: () => new Promise(() => {}) });
    expect(session.advertisingToken).toBe('advertising-1');
    void session.signIn();
    expect(session.advertisingToken).toBeUndefined();
  });

  test.each([
    ['fails', () => Promise.reject(new Error('down')), 'provide_failed'],
    ['says that nobody is signed in', async () => null, 'no_token'],
    ['is missing', undefined, 'no_token'],
  ])('ends the former set even if `provide` %s', async (_, provide, code) => {
    const { session, store } = await openLoaded({ provide });
    await expect(session.signIn()).rejects.toMatchObject({ code });
    expect(session.advertisingToken).toBeUndefined();
    expect(await store.read()).not.toMatchObject({ set: expect.anything() });
  });

  test('rejects with no_token if the stored record is damaged: the erasure is stored', async () => {
    const { session, store } = await openLoaded();
    await store.update(() => 'damaged');
    await expect(session.signIn()).rejects.toMatchObject({ code: 'no_token' });
    expect(await store.read()).toMatchObject({ changedAt: expect.any(Number) });
    expect(await store.read()).not.toMatchObject({ set: expect.anything() });
  });

  test('on a page that is still loading, followed by a set, does not refresh that set', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored();
    const signedIn = session.signIn();
    await Promise.all([session.setTokens(success(8)), signedIn]);
    expect(session.advertisingToken).toBe('advertising-8');
    expect(fixture.sent).toEqual([]);
  });
});
