/** Consent: before it is given, the session uses neither storage nor network. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { HOUR, loaded, names, until } from '../support/clock.ts';
import { controlledConsent, openAsking, watchedStore } from './consent-fixture.ts';
import { dispatch, fixtureForEachTest, recordOf, success, watchRejections } from './fixtures.ts';

const fixture = fixtureForEachTest();

describe('before consent', () => {
  test('neither storage nor network nor `provide` is used, and `ready` resolves with nothing loaded', async () => {
    const provide = vi.fn();
    const { session, events, touched, sent, advance } = openAsking(recordOf(1), { provide, tokens: success(2) });
    await session.ready;
    await advance(2 * HOUR);
    expect(session.state).toMatchObject({ waitingFor: 'consent', phase: 'empty' });
    expect(session.advertisingToken).toBeUndefined();
    expect(touched).not.toHaveBeenCalled();
    expect(provide).not.toHaveBeenCalled();
    expect(sent).toEqual([]);
    expect(events).toEqual([]);
  });

  test('the database is not even opened', async () => {
    const open = vi.spyOn(indexedDB, 'open');
    const { createSession } = await import('../../src/session/index.ts');
    const session = createSession({ baseUrl: 'https://operator.example', consent: () => false });
    await session.ready;
    session.setTokens(success(1)).catch(() => {});
    window.dispatchEvent(new Event('pageshow'));
    await openAsking().settle();
    expect(open).not.toHaveBeenCalled();
    session.close();
  });

  test('getToken() and refresh() reject with `no_consent` if it is denied', async () => {
    const { session } = await loaded(fixture.openStored({ consent: () => false }));
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_consent' });
    await expect(session.refresh()).rejects.toMatchObject({ code: 'no_consent' });
  });

  test('getToken() waits for a pending decision up to its timeout', async () => {
    const { session, advance } = openAsking(recordOf(1));
    const token = session.getToken();
    const message = 'getToken: no result within 10000 ms. The consent gate has not answered yet.';
    const late = expect(token).rejects.toMatchObject({ code: 'timeout', message });
    await advance(10_000);
    await late;
  });

  test('a set that the host supplies is held, and stored once consent is given', async () => {
    const { session, events, touched, inner, grant, settle } = openAsking();
    const done = session.setTokens(success(3));
    await settle();
    expect(touched).not.toHaveBeenCalled();
    grant();
    await done;
    await until(() => session.advertisingToken === 'advertising-3');
    await settle();
    expect(await inner.read()).toMatchObject({ set: { advertisingToken: 'advertising-3' } });
    expect(names(events)).toEqual(['token set']);
  });

  test('setTokens() of a malformed set rejects at once', async () => {
    const { session } = openAsking();
    await expect(session.setTokens({ nothing: 1 } as never)).rejects.toMatchObject({ code: 'invalid_token_set' });
  });

  test('close() settles every call that waits for it', async () => {
    const { session, grant, touched, settle, sent } = openAsking(recordOf(1));
    const waiting = [session.getToken(), session.setTokens(success(2))];
    session.close();
    let settled = 0;
    for (const promise of waiting)
      promise.then(
        () => settled++,
        () => settled++,
      );
    await settle();
    expect(settled).toBe(waiting.length);
    grant();
    await settle();
    expect(touched).not.toHaveBeenCalled();
    expect(sent).toEqual([]);
  });
});

describe('consent given', () => {
  test.each<[string, () => boolean | Promise<boolean>]>([
    ['synchronously', () => true],
    ['by a promise', async () => true],
  ])('%s: the stored token is loaded', async (_, consent) => {
    const { session, events } = await loaded(fixture.openStored({ consent }));
    await until(() => session.advertisingToken);
    await fixture.settle();
    expect(session.state.waitingFor).toBeUndefined();
    expect(names(events)).toEqual(['token load']);
  });

  test('later: a waiting getToken() resolves with the stored token', async () => {
    const { session, grant, events, settle } = openAsking(recordOf(1));
    const token = session.getToken();
    await settle();
    grant();
    expect(await token).toBe('advertising-1');
    await settle();
    expect(names(events)).toEqual(['token load']);
  });

  test('by `onChange` inside the `consent` call: the stored token is loaded', async () => {
    const { session } = fixture.openStored({
      consent: (onChange) => {
        onChange(true);
        return new Promise(() => {});
      },
    });
    expect(await session.getToken()).toBe('advertising-1');
  });

  test('repeatedly: the token is loaded and emitted once', async () => {
    const { session, grant, events, settle } = openAsking(recordOf(1));
    grant();
    grant();
    await until(() => session.advertisingToken);
    grant();
    await settle();
    expect(names(events)).toEqual(['token load']);
  });
});

describe('a gate that fails means no consent, and the page is notified why', () => {
  const EXPECTED = 'consent: expected boolean or a promise of one, got';
  const failed = (name: string) => `consent: the gate failed with ${name}; this counts as a refusal`;
  const thrown = new RangeError('jane@example.com');
  const gate = 'a function; call the function that creates the gate, for example tcfConsent()';
  const FAULTS: Record<string, () => unknown> = {
    [failed('RangeError')]: () => {
      throw thrown;
    },
    [failed('undefined')]: () => Promise.reject(),
    [`${EXPECTED} string; this counts as a refusal`]: () => 'yes',
    [`${EXPECTED} null; this counts as a refusal`]: () => null,
    [`${EXPECTED} number; this counts as a refusal`]: async () => 1,
    [`${EXPECTED} ${gate}`]: () => () => true,
    [`${EXPECTED} undefined; there is no consent until onChange(true)`]: () => undefined,
  };
  beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}));

  test.each(Object.entries(FAULTS))('%s', async (message, consent) => {
    const { seen, stop } = watchRejections();
    const { store, touched } = watchedStore(recordOf(1));
    const { session, events } = await loaded(fixture.open({ store, consent: consent as never }));
    await fixture.advance(HOUR);
    expect(session.state.waitingFor).toBe('consent');
    expect(touched).not.toHaveBeenCalled();
    expect(fixture.sent).toEqual([]);
    expect(session.state.lastError).toMatchObject({ name: 'TokenError', code: 'no_consent', message });
    expect(session.state.lastError?.cause).toBeUndefined();
    expect(events).toEqual([['error', 'no_consent']]);
    const link = 'https://github.com/tessera-id/tessera/blob/main/docs/errors.md#no_consent';
    const said = message.includes('RangeError') ? [thrown] : message.includes('failed') ? [undefined] : [];
    expect(vi.mocked(console.warn).mock.calls).toEqual([[`[tessera] ${message} (${link})`, ...said]]);
    await expect(session.refresh()).rejects.toMatchObject({ code: 'no_consent', message });
    stop();
    expect(seen).toEqual([]);
  });

  test.each<[string, unknown]>([
    ['a string', 'yes'],
    ['undefined', undefined],
  ])('passes %s to onChange: a withdrawal, of which the page is notified', async (_, answer) => {
    let onChange = (_: boolean) => {};
    const consent = (change: typeof onChange) => {
      onChange = change;
      return true;
    };
    const { session, store } = fixture.openStored({ consent });
    await until(() => session.advertisingToken);
    onChange(answer as never);
    await fixture.settle();
    const got = answer === undefined ? 'undefined' : 'string';
    expect(session.state.lastError).toMatchObject({
      code: 'no_consent',
      message: `consent: onChange: expected boolean, got ${got}; this counts as a refusal`,
    });
    expect(session.advertisingToken).toBeUndefined();
    expect(await store.read()).not.toHaveProperty('set.refreshToken');
  });

  test.each<[string, () => unknown, boolean]>([
    ['fails: getToken() rejects at once, and a later onChange(true) is consent', () => Promise.reject(thrown), true],
    ['returns undefined: getToken() waits for onChange(true)', () => undefined, false],
  ])('%s', async (_, answer, isRefused) => {
    let onChange = (_: boolean) => {};
    const consent = (change: typeof onChange) => {
      onChange = change;
      return answer() as boolean;
    };
    const { session } = fixture.openStored({ consent });
    await fixture.settle();
    const outcome = session.getToken().catch(({ code }) => code);
    await fixture.settle();
    onChange(true);
    expect(await outcome).toBe(isRefused ? 'no_consent' : 'advertising-1');
    await until(() => session.advertisingToken === 'advertising-1');
  });

  test('passes a string to onChange before it returns: a listener that is added after createSession() is notified', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const consent = (onChange: (granted: boolean) => void) => {
      onChange('yes' as never);
      return false;
    };
    const { session } = fixture.openStored({ consent });
    const messages: string[] = [];
    session.on('error', ({ message }) => messages.push(message));
    await fixture.settle();
    expect(messages).toEqual(['consent: onChange: expected boolean, got string; this counts as a refusal']);
    expect(session.state.waitingFor).toBe('consent');
  });

  test('but an answer, or a failure, that comes after onChange counts for nothing', async () => {
    for (const late of [() => Promise.reject(thrown), () => undefined, () => Promise.resolve('no')]) {
      const consent = (onChange: (granted: boolean) => void) => {
        onChange(true);
        return late() as never;
      };
      const { session } = fixture.openStored({ consent });
      expect(await session.getToken()).toBe('advertising-1');
      expect(session.state.lastError).toBeUndefined();
    }
    expect(console.warn).not.toHaveBeenCalled();
  });

  test('after close() nothing is reported', async () => {
    const { session, events } = fixture.open({ consent: () => Promise.reject(thrown) });
    session.close();
    await fixture.settle();
    expect(events).toEqual([]);
    expect(console.warn).not.toHaveBeenCalled();
  });
});

test('consent given after the page was frozen and resumed: the stored state is read', async () => {
  const { consent, grant } = controlledConsent();
  const { session } = fixture.openStored({ consent });
  await fixture.settle();
  dispatch('freeze');
  await fixture.settle();
  dispatch('resume');
  await fixture.settle();
  grant();
  await fixture.settle();
  expect([session.advertisingToken, session.state.waitingFor]).toEqual(['advertising-1', undefined]);
});
