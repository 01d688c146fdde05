/** The option `user`: a page that is rendered for another user never gives out the former user's token. */

import { describe, expect, test, vi } from 'vitest';
import { createSession, memoryStore, type SessionOptions } from '../../src/session/index.ts';
import { MINUTE, until } from '../support/clock.ts';
import { controlledConsent } from './consent-fixture.ts';
import { BASE_URL, fixtureForEachTest, success, wireSet } from './fixtures.ts';

const fixture = fixtureForEachTest();
let names = 0;

const openProfile = () => {
  const store = memoryStore();
  const name = `profile-${names++}`;
  const visit = async (options: Partial<SessionOptions> = {}) => {
    const page = fixture.open({ store, name, ...options });
    /** Every token that the page has seen, polled whenever anything happens. */
    const tokens = new Set<string | undefined>();
    page.session.subscribe(() => tokens.add(page.session.advertisingToken));
    await page.session.ready;
    await fixture.settle();
    return { ...page, tokens };
  };
  return { store, visit };
};
const setNumber = (n: number) => async () => success(n);

describe('a page with the label of a user', () => {
  test.each([
    ['of another user', { user: 'account-a' }],
    ['of no known user', {}],
  ])('ends a set %s at once, asks `provide`, and never returns the previous token', async (_, former) => {
    const { store, visit } = openProfile();
    (await visit({ ...former, tokens: success(1) })).session.close();
    const provide = vi.fn(setNumber(8));
    const { session, tokens, events } = await visit({ user: 'account-b', provide });
    expect(provide).toHaveBeenCalledOnce();
    expect(session.advertisingToken).toBe('advertising-8');
    expect([...tokens].filter(Boolean)).toEqual(['advertising-8']);
    expect(events).toEqual([['token', 'provide', 'advertising-8']]);
    expect(fixture.sent).toEqual([]);
    // The next page of the same user keeps what `provide` brought.
    session.close();
    const next = await visit({ user: 'account-b', provide });
    expect(next.session.advertisingToken).toBe('advertising-8');
    expect(provide).toHaveBeenCalledOnce();
    expect(await store.read()).toMatchObject({ v: 2 });
  });

  test('asks the page for a set if there is no `provide`, and the set that comes belongs to its user', async () => {
    const { visit } = openProfile();
    (await visit({ user: 'account-a', tokens: success(1) })).session.close();
    const { session, events } = await visit({ user: 'account-b' });
    expect(session.advertisingToken).toBeUndefined();
    expect(events).toEqual([['needsTokens', 'empty']]);
    await session.setTokens(success(2));
    session.close();
    expect((await visit({ user: 'account-b' })).session.advertisingToken).toBe('advertising-2');
  });

  test('ends the previous set even if the rendered value is not a set', async () => {
    const { visit } = openProfile();
    (await visit({ user: 'account-a', tokens: success(1) })).session.close();
    const { session, events } = await visit({ user: 'account-b', tokens: { status: 'error' } as never });
    expect(session.advertisingToken).toBeUndefined();
    expect(events).toContainEqual(['error', 'invalid_token_set']);
  });

  test('ends the set of the former user in the other tabs, which give out nothing and ask for nothing from then on', async () => {
    const { store, visit } = openProfile();
    const provide = vi.fn(setNumber(9));
    const a = await visit({ user: 'account-a', tokens: success(1), provide });
    expect(a.session.advertisingToken).toBe('advertising-1');
    const b = await visit({ user: 'account-b', provide: setNumber(8) });
    await until(() => !a.session.advertisingToken);
    await fixture.advance(MINUTE);
    expect([a.session.advertisingToken, b.session.advertisingToken]).toEqual([undefined, 'advertising-8']);
    expect(provide).not.toHaveBeenCalled();
    await expect(a.session.getToken()).rejects.toMatchObject({ code: 'no_token', message: /another user/ });
    await expect(a.session.refresh()).rejects.toMatchObject({ code: 'no_token' });
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-8' } });
  });

  test('uses no set that a tab of the previous user supplies later', async () => {
    const { visit } = openProfile();
    const a = await visit({ user: 'account-a', tokens: success(1) });
    const b = await visit({ user: 'account-b', provide: setNumber(8) });
    await a.session.setTokens(success(2));
    await until(() => !b.session.advertisingToken);
    b.session.close();
    const next = await visit({ user: 'account-b', provide: setNumber(8) });
    expect(next.session.advertisingToken).toBe('advertising-8');
  });

  test('neither ends nor returns anything before consent', async () => {
    const { store, visit } = openProfile();
    (await visit({ user: 'account-a', tokens: success(1) })).session.close();
    const before = await store.read();
    const { consent, grant } = controlledConsent();
    const { session, tokens } = await visit({ user: 'account-b', consent });
    expect(await store.read()).toEqual(before);
    grant();
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
    expect([...tokens].filter(Boolean)).toEqual([]);
    expect(await store.read()).not.toMatchObject({ set: expect.anything() });
  });

  test('keeps nothing of the set that it is rendered with for a user who signed in while consent was refused', async () => {
    const { visit } = openProfile();
    // The record of a site that gives no labels yet.
    (await visit({ tokens: success(1) })).session.close();
    const { consent, grant, withdraw } = controlledConsent();
    const { session, tokens, events } = await visit({ user: 'account-a', tokens: success(1), consent });
    withdraw();
    await expect(session.setTokens(success(2), { user: 'account-b' })).rejects.toMatchObject({ code: 'no_consent' });
    grant();
    await fixture.settle();
    expect([...tokens].filter(Boolean)).toEqual([]);
    expect(session.advertisingToken).toBeUndefined();
    expect(events).toEqual([['needsTokens', 'empty']]);
  });
});

describe('setTokens(answer, { user })', () => {
  test('gives the set its label', async () => {
    const { visit } = openProfile();
    const { session } = await visit({ user: 'account-a', tokens: success(1) });
    await session.setTokens(success(2), { user: 'account-b' });
    expect(session.advertisingToken).toBe('advertising-2');
    session.close();
    const b = await visit({ user: 'account-b' });
    expect(b.session.advertisingToken).toBe('advertising-2');
    b.session.close();
    expect((await visit({ user: 'account-a' })).session.advertisingToken).toBeUndefined();
  });

  test('that is refused before consent does not bring the previous user back', async () => {
    const { visit } = openProfile();
    (await visit({ user: 'account-a', tokens: success(1) })).session.close();
    const { consent, grant } = controlledConsent(false);
    const { session, tokens } = await visit({ user: 'account-b', consent });
    await expect(session.setTokens(success(2))).rejects.toMatchObject({ code: 'no_consent' });
    grant();
    await fixture.settle();
    expect([...tokens].filter(Boolean)).toEqual([]);
  });
});

describe('signIn({ user })', () => {
  test('asks `provide` once, and the set belongs to the user', async () => {
    const { visit } = openProfile();
    const provide = vi.fn(setNumber(8));
    const { session } = await visit({ user: 'account-a', tokens: success(1), provide });
    await session.signIn({ user: 'account-b' });
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-8');
    expect(provide).toHaveBeenCalledOnce();
    expect(fixture.sent).toEqual([]);
    session.close();
    expect((await visit({ user: 'account-b' })).session.advertisingToken).toBe('advertising-8');
  });

  test('stores no label before consent, and asks for the set of the user once it is there', async () => {
    const { store, visit } = openProfile();
    const { consent, grant } = controlledConsent(false);
    const { session } = await visit({ provide: setNumber(8), consent });
    await expect(session.signIn({ user: 'account-b' })).rejects.toMatchObject({ code: 'no_consent' });
    expect(await store.read()).not.toMatchObject({ user: expect.anything() });
    grant();
    await until(() => session.advertisingToken === 'advertising-8');
    session.close();
    expect((await visit({ user: 'account-b' })).session.advertisingToken).toBe('advertising-8');
  });

  test('without a label before consent ends no set that another tab supplies meanwhile', async () => {
    const { visit } = openProfile();
    const { consent, grant } = controlledConsent(false);
    const { session } = await visit({ user: 'account-a', consent });
    await expect(session.signIn()).rejects.toMatchObject({ code: 'no_consent' });
    await visit({ user: 'account-b', tokens: success(2) });
    grant();
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-2');
  });
});

describe('a label', () => {
  test('is stored as a hash only, and appears neither in the state nor in the log', async () => {
    const { store, visit } = openProfile();
    const lines: unknown[] = [];
    const logger = { debug: (...more: unknown[]) => void lines.push(more) };
    const { session } = await visit({ user: 'account-secret', tokens: success(1), logger });
    await session.setTokens(success(2), { user: 'account-secret' });
    await session.signIn({ user: 'account-secret' }).catch(() => {});
    const seen = JSON.stringify([await store.read(), session.state, lines, String(session.state.lastError)]);
    expect(seen).not.toContain('account-secret');
    expect(await store.read()).toMatchObject({ user: expect.stringMatching(/^[a-z\d]{1,13}$/) });
  });

  test.each([
    [42, 'user: expected string, got number'],
    ['', 'user: expected string, got empty string'],
  ])('%j is refused at once', async (user, message) => {
    const given = { user: user as never };
    expect(() => createSession({ baseUrl: BASE_URL, ...given })).toThrow(new TypeError(message));
    const { session } = await openProfile().visit();
    expect(() => session.setTokens(wireSet(1), given)).toThrow(new TypeError(message));
    expect(() => session.signIn(given)).toThrow(new TypeError(message));
  });
});
