/** Consent: before it neither storage nor network, after its withdrawal nothing stays or comes back. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, until, useFakeClock } from '../support/fixtures.ts';
import { createFixture, recordOf, restoreGlobals, rotate, success, watchRejections } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

/** A store, and whether it was touched. */
const watched = (value?: unknown) => {
  const inner = memoryStore(value);
  const touched = vi.fn();
  const store: Store = {
    kind: 'watched',
    read: () => {
      touched();
      return inner.read();
    },
    update: (change) => {
      touched();
      return inner.update(change);
    },
  };
  return { store, touched, inner };
};

/** A session whose consent is asked for but not answered. */
const asking = (value?: unknown, more: object = {}) => {
  const fixture = createFixture();
  const { store, touched, inner } = watched(value);
  let onChange = (_: boolean) => {};
  const opened = fixture.open({
    store,
    consent: (change) => {
      onChange = change;
      return new Promise(() => {});
    },
    ...more,
  });
  return { ...fixture, ...opened, touched, inner, grant: () => onChange(true), withdraw: () => onChange(false) };
};

describe('before consent', () => {
  test('neither storage nor network nor provide is used, and ready resolves with nothing loaded', async () => {
    const provide = vi.fn();
    const { session, events, touched, sent, advance, close } = asking(recordOf(1), { provide, tokens: success(2) });
    await session.ready;
    await advance(2 * HOUR);
    expect(session.state).toMatchObject({ waitingFor: 'consent', phase: 'empty' });
    expect(session.advertisingToken).toBeUndefined();
    expect(touched).not.toHaveBeenCalled();
    expect(provide).not.toHaveBeenCalled();
    expect(sent).toEqual([]);
    expect(events).toEqual([]);
    close();
  });

  test('the database is not even opened', async () => {
    const open = vi.spyOn(indexedDB, 'open');
    const { createSession } = await import('../../src/session/index.ts');
    const session = createSession({ baseUrl: 'https://operator.example', consent: () => false });
    await session.ready;
    session.setTokens(success(1)).catch(() => {});
    window.dispatchEvent(new Event('pageshow'));
    await asking().settle();
    expect(open).not.toHaveBeenCalled();
    session.close();
  });

  test('refused: getToken and refresh say so', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored({ consent: () => false });
    await session.ready;
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_consent' });
    await expect(session.refresh()).rejects.toMatchObject({ code: 'no_consent' });
    fixture.close();
  });

  test('pending: getToken waits for it, as long as it waits for anything', async () => {
    const { session, advance, close } = asking(recordOf(1));
    const token = session.getToken();
    const late = expect(token).rejects.toMatchObject({ code: 'timeout' });
    await advance(10_000);
    await late;
    close();
  });

  test('a set that the host supplies waits for consent, and is stored then', async () => {
    const { session, events, touched, inner, grant, settle, close } = asking();
    const done = session.setTokens(success(3));
    await settle();
    expect(touched).not.toHaveBeenCalled();
    grant();
    await done;
    await until(() => session.advertisingToken === 'advertising-3');
    await settle();
    expect(await inner.read()).toMatchObject({ set: { advertisingToken: 'advertising-3' } });
    expect(names(events)).toEqual(['token set']);
    close();
  });

  test('a malformed set rejects at once', async () => {
    const { session, close } = asking();
    await expect(session.setTokens({ nothing: 1 })).rejects.toMatchObject({ code: 'invalid_token_set' });
    close();
  });

  test('close lets go of everything that waited for it', async () => {
    const { session, grant, touched, settle, sent } = asking(recordOf(1));
    const waiting = [session.getToken(), session.setTokens(success(2)), session.clear()];
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
    ['at once', () => true],
    ['by a promise', async () => true],
  ])('%s: ready waits for what is stored where it is known, and the token is there', async (_, consent) => {
    const fixture = createFixture();
    const { session, events } = fixture.openStored({ consent });
    await session.ready;
    await until(() => session.advertisingToken);
    await fixture.settle();
    expect(session.state.waitingFor).toBeUndefined();
    expect(names(events)).toEqual(['token load']);
    fixture.close();
  });

  test('later: the waiting getToken gets the stored token', async () => {
    const { session, grant, events, settle, close } = asking(recordOf(1));
    const token = session.getToken();
    await settle();
    grant();
    expect(await token).toBe('advertising-1');
    await settle();
    expect(names(events)).toEqual(['token load']);
    close();
  });

  test('from within the question itself', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored({
      consent: (onChange) => {
        onChange(true);
        return new Promise(() => {});
      },
    });
    expect(await session.getToken()).toBe('advertising-1');
    fixture.close();
  });

  test('twice is as once', async () => {
    const { session, grant, events, settle, close } = asking(recordOf(1));
    grant();
    grant();
    await until(() => session.advertisingToken);
    grant();
    await settle();
    expect(names(events)).toEqual(['token load']);
    close();
  });
});

describe('consent withdrawn', () => {
  test('wipes page and store at once, and nothing follows', async () => {
    const { session, grant, withdraw, inner, events, sent, settle, advance, close } = asking(recordOf(1));
    grant();
    await until(() => session.advertisingToken);
    await settle();
    withdraw();
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state).toMatchObject({ waitingFor: 'consent', phase: 'empty' });
    await settle();
    expect(JSON.stringify(await inner.read())).not.toMatch(/advertising-|refresh-|fingerprint|receivedAt/);
    await advance(2 * HOUR);
    expect(sent).toEqual([]);
    expect(names(events)).toEqual(['token load']);
    expect(vi.getTimerCount()).toBe(0);
    close();
  });

  test('in the middle of a refresh: the request is given up, and its answer brings nothing back', async () => {
    const { session, grant, withdraw, serve, sent, inner, events, settle, advance, close } = asking(recordOf(1));
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
    close();
  });

  test('before a set was written: it never is, not even for a moment', async () => {
    const { session, grant, withdraw, inner, settle, close } = asking();
    const written = vi.spyOn(inner, 'update');
    const supplied = session.setTokens(success(3));
    grant();
    withdraw();
    await expect(supplied).rejects.toMatchObject({ code: 'no_consent' });
    await settle();
    const results = await Promise.all(written.mock.results.map(({ value }) => value));
    expect(results.length).toBeGreaterThan(0);
    expect(JSON.stringify(results)).not.toMatch(/advertising-|refresh-|real/);
    close();
  });

  test('before the first read, and the session closed: the store is wiped all the same', async () => {
    const { session, grant, withdraw, inner, settle } = asking(recordOf(1));
    grant();
    withdraw();
    session.close();
    await settle();
    expect(JSON.stringify(await inner.read())).not.toMatch(/advertising-|refresh-|real/);
  });

  test('in the middle of provide: its answer is not taken', async () => {
    let answer = (_: unknown) => {};
    let given: AbortSignal | undefined;
    const { session, grant, withdraw, inner, events, settle, close } = asking(undefined, {
      provide: ({ signal }: { signal: AbortSignal }) => {
        given = signal;
        return new Promise((resolve) => (answer = resolve));
      },
    });
    grant();
    await until(() => given);
    withdraw();
    expect(given?.aborted).toBe(true);
    answer(success(5));
    await settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
    expect(events).toEqual([]);
    close();
  });

  test('a set that is supplied afterwards reaches neither store nor page until consent is given again', async () => {
    const { session, grant, withdraw, inner, touched, settle, close } = asking(recordOf(1));
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
    close();
  });

  test('and given again: the page is as one that has nothing, and works', async () => {
    const { session, grant, withdraw, events, settle, close } = asking(recordOf(1));
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
    close();
  });

  test('keeps the tombstone of an opt-out', async () => {
    const { session, grant, withdraw, inner, settle, close } = asking();
    grant();
    await session.setTokens({ status: 'optout' });
    withdraw();
    await settle();
    expect(await inner.read()).toMatchObject({ optedOut: true });
    close();
  });

  test('and the session closed at once: nothing is left unhandled, and the store is wiped all the same', async () => {
    const { seen, stop } = watchRejections();
    const { session, grant, withdraw, inner, settle } = asking(recordOf(1));
    grant();
    await until(() => session.advertisingToken);
    withdraw();
    session.close();
    await settle();
    stop();
    expect(seen).toEqual([]);
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
  });
});

describe('consent that fails is consent not given', () => {
  test.each<[string, () => unknown]>([
    [
      'it throws',
      () => {
        throw new Error('no consent tool');
      },
    ],
    ['it rejects', () => Promise.reject(new Error('no consent tool'))],
    ['it answers with nothing', () => undefined],
    ['it answers with what is only nearly true', () => Promise.resolve('yes')],
    ['it answers with an object', () => ({})],
  ])('%s', async (_, consent) => {
    const { seen, stop } = watchRejections();
    const fixture = createFixture();
    const { store, touched } = watched(recordOf(1));
    const { session } = fixture.open({ store, consent: consent as never });
    await session.ready;
    await fixture.advance(HOUR);
    expect(session.state.waitingFor).toBe('consent');
    expect(touched).not.toHaveBeenCalled();
    expect(fixture.sent).toEqual([]);
    stop();
    expect(seen).toEqual([]);
    fixture.close();
  });
});
