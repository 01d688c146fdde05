/** The life of a token across the whole system: real sessions and a real operator under one fake clock. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { TokenAnswer } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, recordEvents, until, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

const tokenOf = (answer: unknown) => (answer as { body: { advertising_token: string } }).body.advertising_token;

beforeEach(() => void useFakeClock());
afterEach(() => void vi.useRealTimers());

describe('the first set', () => {
  test('a set from the publisher’s server is in force at once, and emitted after it is stored', async () => {
    const fixture = createOperatorFixture();
    const { session, store, events } = fixture.open();
    await session.ready;
    const answer = await fixture.answerFor('user@example.com');
    const done = session.setTokens(answer);
    expect(session.advertisingToken).toBe(tokenOf(answer));
    expect(names(events)).toEqual(['needsTokens empty']);
    await done;
    expect(await store.read()).toMatchObject({ set: { advertisingToken: session.advertisingToken }, generation: 1 });
    expect(names(events)).toEqual(['needsTokens empty', 'token set']);
    expect(session.state.phase).toBe('fresh');
    fixture.close();
  });

  test('`provide` is called when there is no set, and its answer is used', async () => {
    const fixture = createOperatorFixture();
    const provide = vi.fn(() => fixture.answerFor('user@example.com') as Promise<TokenAnswer | null>);
    const { session, events } = fixture.open({ provide });
    expect(await session.getToken()).toBe(session.advertisingToken);
    await fixture.settle();
    expect(provide).toHaveBeenCalledOnce();
    expect(provide.mock.calls[0]).toMatchObject([{ reason: 'empty' }]);
    expect(names(events)).toEqual(['token provide']);
    fixture.close();
  });

  test('if `provide` finds nobody signed in, one `needsTokens` is emitted and it is not called again', async () => {
    const fixture = createOperatorFixture();
    const provide = vi.fn(async () => null);
    const { session, events } = fixture.open({ provide });
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
    await fixture.advance(HOUR);
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
    expect(provide).toHaveBeenCalledOnce();
    expect(names(events)).toEqual(['needsTokens empty']);
    fixture.close();
  });
});

describe('rotation', () => {
  test('each of five rotations happens when it is due, and is stored before it is emitted', async () => {
    const fixture = createOperatorFixture();
    const { session, store, events } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await session.ready;
    const stored: unknown[] = [];
    session.on('token', async ({ advertisingToken }) => {
      const record = (await store.read()) as { set: { advertisingToken: string } };
      stored.push(record.set.advertisingToken === advertisingToken);
    });
    for (let generation = 1; generation <= 5; generation++) {
      const { refreshAt } = session.state;
      expect(fixture.requests).toHaveLength(generation - 1);
      await fixture.advance(refreshAt! - Date.now() - 1);
      expect(fixture.requests).toHaveLength(generation - 1);
      await fixture.advance(1);
      expect(fixture.requests).toHaveLength(generation);
      expect(session.state).toMatchObject({ phase: 'fresh', refreshAt: refreshAt! + 900_000 });
    }
    expect(names(events)).toEqual(['token set', ...Array(5).fill('token refresh')]);
    expect(new Set(events.map((event) => (event as unknown[])[2])).size).toBe(6);
    expect(stored).toEqual(Array(5).fill(true));
    fixture.close();
  });

  test('a valid token is returned while its refresh is in progress', async () => {
    const fixture = createOperatorFixture();
    const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    const token = await session.getToken();
    let release = () => {};
    fixture.network(async (_, go) => {
      await new Promise<void>((resolve) => (release = resolve));
      return go();
    });
    vi.setSystemTime(session.state.refreshAt!);
    expect(await session.getToken()).toBe(token);
    await until(() => fixture.requests.length === 1);
    expect(await session.getToken()).toBe(token);
    release();
    await until(() => session.advertisingToken !== token);
    fixture.close();
  });
});

describe('opt-out', () => {
  test('an opt-out answer leaves no token and causes no request, even after a reload and a logout', async () => {
    const fixture = createOperatorFixture();
    const { session, store, events } = fixture.open({ tokens: await fixture.answerFor('refresh-optout@example.com') });
    await session.ready;
    await fixture.advance(15 * MINUTE);
    expect(names(events)).toEqual(['token set', 'optout']);
    expect(session.state.phase).toBe('optedOut');
    await expect(session.getToken()).rejects.toMatchObject({ code: 'opted_out' });
    await session.clear();
    session.close();

    const again = fixture.open({ store });
    await again.session.ready;
    expect(again.session.state.phase).toBe('optedOut');
    await fixture.advance(DAY);
    expect(fixture.requests).toHaveLength(1);
    expect(names(again.events)).toEqual(['optout']);
    expect(JSON.stringify(await store.read())).not.toContain('advertisingToken');
    fixture.close();
  });

  test('a set supplied after an opt-out is held back until the service accepts it', async () => {
    const fixture = createOperatorFixture();
    const { session, events } = fixture.open();
    await session.setTokens({ status: 'optout' });
    expect(session.state.phase).toBe('optedOut');
    let release = () => {};
    fixture.network(async (_, go) => {
      await new Promise<void>((resolve) => (release = resolve));
      return go();
    });
    await session.setTokens(await fixture.answerFor('user@example.com'));
    await until(() => fixture.requests.length === 1);
    expect(session.advertisingToken).toBeUndefined();
    const token = session.getToken();
    release();
    expect(await token).toBe(session.advertisingToken);
    expect(names(events)).toEqual(['optout', 'token refresh']);
    fixture.close();
  });

  test.each([
    ['an opt-out', 'refresh-optout@example.com', undefined],
    [
      'a refusal',
      'user@example.com',
      () => Promise.resolve(new Response('{"status":"invalid_token"}', { status: 400 })),
    ],
    ['an outage', 'user@example.com', () => Promise.reject(new TypeError('network'))],
  ])('%s as the answer to a held-back set keeps the tombstone', async (_, email, fault) => {
    const fixture = createOperatorFixture();
    const { session } = fixture.open();
    await session.setTokens({ status: 'optout' });
    fixture.network(fault);
    await session.setTokens(await fixture.answerFor(email));
    await fixture.settle();
    expect(fixture.requests).toHaveLength(1);
    expect(session.state.phase).toBe('optedOut');
    expect(session.advertisingToken).toBeUndefined();
    fixture.close();
  });
});

describe('the end of a set', () => {
  test('after the service ended the refresh token, a valid advertising token stays in force until it expires', async () => {
    const fixture = createOperatorFixture();
    const { session, events } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    const token = await session.getToken();
    fixture.network(async () => new Response('{"status":"expired_token"}', { status: 400 }));
    await fixture.advance(15 * MINUTE);
    expect(names(events)).toEqual(['token set', 'needsTokens ended', 'expired refresh']);
    expect(session.state.phase).toBe('ended');
    expect(session.advertisingToken).toBe(token);
    await fixture.advance(DAY);
    expect(names(events).slice(3)).toEqual(['expired advertising']);
    expect(session.advertisingToken).toBeUndefined();
    expect(fixture.requests).toHaveLength(1);
    await expect(session.getToken()).rejects.toMatchObject({ code: 'refresh_rejected' });
    fixture.close();
  });

  test('after the service ended the refresh token, `provide` is called before `needsTokens` is emitted', async () => {
    const fixture = createOperatorFixture();
    const provide = vi.fn(async () => fixture.answerFor('user@example.com'));
    const { session, events } = fixture.open({ provide, tokens: await fixture.answerFor('user@example.com') });
    await session.ready;
    fixture.network(async () => new Response('{"status":"invalid_token"}', { status: 400 }));
    await fixture.advance(15 * MINUTE);
    expect(provide.mock.calls).toMatchObject([[{ reason: 'ended' }]]);
    expect(names(events)).toEqual(['token set', 'expired refresh', 'token provide']);
    expect(session.state.phase).toBe('fresh');
    fixture.close();
  });

  test('a refresh token past its end by the local clock ends only with the service’s answer', async () => {
    const fixture = createOperatorFixture();
    const { session, store } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await session.ready;
    session.close();
    vi.setSystemTime(Date.now() + 2 * DAY);
    let release = () => {};
    fixture.network(async (_, go) => {
      await new Promise<void>((resolve) => (release = resolve));
      return go();
    });
    const late = fixture.open({ store });
    await until(() => fixture.requests.length === 1);
    expect(late.session.state.phase).toBe('stale');
    expect(late.session.advertisingToken).toBeUndefined();
    expect(late.events).toEqual([]);
    release();
    await until(() => late.session.state.phase === 'ended');
    expect(names(late.events)).toEqual(['needsTokens ended', 'expired refresh']);
    fixture.close();
  });

  test('a token that expires during an outage is withheld, and replaced when the service is back', async () => {
    const fixture = createOperatorFixture();
    const { session, events } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await session.ready;
    fixture.network(() => Promise.reject(new TypeError('network')));
    await fixture.advance(HOUR);
    expect(names(events)).toEqual(['token set', 'error network', 'expired advertising']);
    expect(session.state).toMatchObject({ phase: 'stale', lastError: { code: 'network' } });
    fixture.network();
    await fixture.advance(5 * MINUTE);
    expect(names(events).slice(3)).toEqual(['token refresh']);
    expect(session.state.lastError).toBeUndefined();
    fixture.close();
  });
});

describe('outages and late answers', () => {
  test('an outage of 15 minutes emits one error and spaces its retries; the service’s return brings a token', async () => {
    const fixture = createOperatorFixture();
    const { session, events } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await session.ready;
    fixture.network(() => Promise.reject(new TypeError('offline')));
    await fixture.advance(30 * MINUTE);
    const tries = fixture.requests.length;
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(25);
    fixture.network();
    await fixture.advance(5 * MINUTE);
    expect(names(events)).toEqual(['token set', 'error network', 'token refresh']);
    fixture.close();
  });

  test('an answer that arrives after setTokens() of another user is ignored', async () => {
    const fixture = createOperatorFixture();
    const { session, events } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await session.ready;
    let release = () => {};
    fixture.network(async (_, go) => {
      const answer = await go();
      await new Promise<void>((resolve) => (release = resolve));
      return answer;
    });
    vi.setSystemTime(session.state.refreshAt!);
    void session.getToken();
    await until(() => fixture.requests.length === 1);
    const other = await fixture.answerFor('user2@example.com');
    await session.setTokens(other);
    release();
    fixture.network();
    await fixture.settle();
    expect(session.advertisingToken).toBe(tokenOf(other));
    expect(names(events)).toEqual(['token set', 'token set']);
    fixture.close();
  });

  test('an answer that arrives after a logout is ignored', async () => {
    const fixture = createOperatorFixture();
    const { session, store, events } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await session.ready;
    let release = () => {};
    fixture.network(async (_, go) => {
      const answer = await go();
      await new Promise<void>((resolve) => (release = resolve));
      return answer;
    });
    vi.setSystemTime(session.state.refreshAt!);
    void session.getToken();
    await until(() => fixture.requests.length === 1);
    await session.clear();
    release();
    fixture.network();
    await fixture.advance(HOUR);
    expect(session.advertisingToken).toBeUndefined();
    expect(await store.read()).not.toHaveProperty('set');
    expect(names(events)).toEqual(['token set']);
    expect(fixture.requests).toHaveLength(1);
    fixture.close();
  });
});

describe('reload', () => {
  test('a reloaded page continues with the stored set, without a request', async () => {
    const fixture = createOperatorFixture();
    const first = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    const token = await first.session.getToken();
    first.session.close();
    const second = fixture.open({ store: first.store });
    await second.session.ready;
    expect(second.session.advertisingToken).toBe(token);
    expect(names(second.events)).toEqual(['token load']);
    expect(fixture.requests).toEqual([]);
    fixture.close();
  });

  test('a cached page that supplies an old set again undoes neither a rotation nor a logout', async () => {
    const fixture = createOperatorFixture();
    const tokens = await fixture.answerFor('user@example.com');
    const first = fixture.open({ tokens });
    await first.session.ready;
    await fixture.advance(15 * MINUTE);
    const rotated = first.session.advertisingToken;
    first.session.close();

    const second = fixture.open({ store: first.store, tokens });
    await second.session.ready;
    expect(second.session.advertisingToken).toBe(rotated);
    expect(names(second.events)).toEqual(['token load']);
    await second.session.clear();
    second.session.close();

    const third = fixture.open({ store: first.store, tokens });
    await third.session.ready;
    expect(third.session.advertisingToken).toBeUndefined();
    await third.session.setTokens(tokens);
    expect(third.session.advertisingToken).toBeDefined();
    fixture.close();
  });

  test('a set of another operator reads as absent', async () => {
    const fixture = createOperatorFixture();
    const first = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await first.session.ready;
    first.session.close();
    const elsewhere = fixture.open({ store: first.store, baseUrl: 'https://elsewhere.example' });
    await elsewhere.session.ready;
    expect(elsewhere.session.state.phase).toBe('empty');
    fixture.close();
  });

  test('no timer is left once all sessions are closed', async () => {
    const fixture = createOperatorFixture();
    const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    recordEvents(session);
    await session.getToken();
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    fixture.close();
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
  });
});
