/** Events and state changes: what listeners receive and in which order; a faulty listener affects nobody else. */

import { describe, expect, test, vi } from 'vitest';
import type { EventName, Session } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names } from '../support/clock.ts';
import { throwing } from '../support/throwing.ts';
import {
  answersPlain,
  type createFixture,
  fakeLocks,
  fixtureForEachTest,
  offline,
  success,
  watchRejections,
} from './fixtures.ts';

const fixture = fixtureForEachTest();

const EVENTS: EventName[] = ['token', 'expired', 'optout', 'needsTokens', 'error'];

const emitEveryEvent = async (fixture: ReturnType<typeof createFixture>, session: Session) => {
  await session.ready;
  await fixture.settle();
  await session.setTokens(success(1));
  fixture.serve(offline);
  await fixture.advance(16 * MINUTE);
  fixture.serve(answersPlain(400, { status: 'expired_token' }));
  await fixture.advance(HOUR);
  await session.setTokens({ status: 'optout' });
  await fixture.settle();
};
const EVERY_EVENT = [
  'needsTokens empty',
  'token set',
  'error network',
  'needsTokens ended',
  'expired refresh',
  'expired advertising',
  'optout',
];

test('what a listener throws or rejects with is reported as by an EventTarget; the others receive every event', async () => {
  const { seen, stop } = watchRejections();
  const reported: unknown[] = [];
  vi.stubGlobal('reportError', (thrown: unknown) => reported.push(thrown));
  const { session, events } = fixture.open();
  const unsubscribes = EVENTS.flatMap((event) => [
    session.on(event, throwing(new Error(`thrown at ${event}`))),
    session.on(event, () => Promise.reject(new Error(`rejected at ${event}`))),
  ]);
  session.subscribe(throwing(new Error('thrown at a change')));
  const after: string[] = [];
  for (const event of EVENTS) session.on(event, () => after.push(event));
  await emitEveryEvent(fixture, session);
  expect(unsubscribes).toHaveLength(10);
  expect(names(events)).toEqual(EVERY_EVENT);
  expect(after).toEqual(EVERY_EVENT.map((event) => event.split(' ')[0]));
  for (const event of EVENTS)
    expect(reported.map(String)).toEqual(
      expect.arrayContaining([`Error: thrown at ${event}`, `Error: rejected at ${event}`]),
    );
  stop();
  expect(seen).toEqual([]);
});

test('neither a write nor the Web Lock waits for a listener that never ends', async () => {
  const locks = fakeLocks();
  const { session, events } = fixture.open();
  for (const event of EVENTS) session.on(event, () => new Promise(() => {}));
  await session.setTokens(success(1));
  await fixture.advance(16 * MINUTE);
  await session.refresh();
  expect(names(events)).toEqual(['token set', 'token refresh', 'token refresh']);
  expect(locks.held.size).toBe(0);
});

test('the logger receives no token', async () => {
  const logged: string[] = [];
  const { session } = fixture.open({ logger: { debug: (...all) => logged.push(all.map(String).join(' ')) } });
  await emitEveryEvent(fixture, session);
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.join('\n')).not.toMatch(/advertising-\d|refresh-\d/);
});

test('every listener receives the events in the same order, even if a listener causes further events', async () => {
  const { session } = fixture.open();
  const orders: string[][] = [[], [], []];
  let hasSupplied = false;
  for (const [index, order] of orders.entries())
    for (const event of EVENTS)
      session.on(event, () => {
        order.push(event);
        if (index === 0 && event === 'needsTokens' && !hasSupplied) {
          hasSupplied = true;
          void session.setTokens(success(1));
        }
        if (index === 1 && event === 'token') void session.setTokens({ status: 'optout' });
      });
  await session.ready;
  await fixture.settle();
  expect(orders[0]).toEqual(['needsTokens', 'token', 'optout']);
  expect(orders[1]).toEqual(orders[0]);
  expect(orders[2]).toEqual(orders[0]);
});

describe('every public method may be called from any listener', () => {
  const methods: [string, (session: Session) => unknown][] = [
    ['getToken', (session) => session.getToken()],
    ['setTokens', (session) => session.setTokens(success(50))],
    ['setTokens of an opt-out', (session) => session.setTokens({ status: 'optout' })],
    ['clear', (session) => session.clear()],
    ['refresh', (session) => session.refresh()],
    ['reading the getters', (session) => [session.state, session.advertisingToken]],
    ['on', (session) => session.on('token', () => {})()],
    ['subscribe', (session) => session.subscribe(() => {})()],
    ['close', (session) => session.close()],
  ];
  test.each(methods)('%s settles', async (_, call) => {
    const { seen, stop } = watchRejections();
    for (const event of [...EVENTS, 'change'] as const) {
      const { session } = fixture.open();
      let state = 'never called';
      const once = async () => {
        if (state !== 'never called') return;
        state = 'pending';
        await Promise.resolve(call(session)).catch(() => {});
        state = 'settled';
      };
      if (event === 'change') session.subscribe(once);
      else session.on(event, once);
      await emitEveryEvent(fixture, session).catch(({ code }) => expect(code).toBe('closed'));
      await fixture.advance(15_000);
      expect(`${event}: ${state}`).toBe(`${event}: settled`);
      fixture.close();
    }
    stop();
    expect(seen).toEqual([]);
  });
});

describe('unsubscribe', () => {
  test('removes one registration only, even if the same function is registered twice', async () => {
    const { session } = await loaded(fixture.open());
    const listener = vi.fn();
    const off = session.on('token', listener);
    session.on('token', listener);
    off();
    off();
    await session.setTokens(success(1));
    await fixture.settle();
    expect(listener).toHaveBeenCalledOnce();
  });

  test('inside a listener does not skip the next listener', async () => {
    const { session } = await loaded(fixture.open());
    const calls: string[] = [];
    const off = session.on('token', () => {
      calls.push('first');
      off();
    });
    session.on('token', () => calls.push('second'));
    await session.setTokens(success(1));
    await session.setTokens(success(2));
    await fixture.settle();
    expect(calls).toEqual(['first', 'second', 'second']);
  });
});

describe('state and subscribe', () => {
  test('`state` is the same frozen object until something changes, and subscribers then see the new one', async () => {
    const { session } = fixture.openStored();
    const { state: first } = session;
    expect(session.state).toBe(first);
    expect(Object.isFrozen(first)).toBe(true);
    await session.ready;
    await fixture.settle();
    const { state: loaded } = session;
    expect(loaded).not.toBe(first);
    const seen: unknown[] = [];
    session.subscribe(() => seen.push(session.state));
    await fixture.advance(10 * MINUTE);
    expect(session.state).toBe(loaded);
    expect(seen).toEqual([]);
    await fixture.advance(5 * MINUTE);
    expect(session.state).not.toBe(loaded);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.at(-1)).toBe(session.state);
  });

  test('subscribers are called when only the token changes', async () => {
    const { session } = await loaded(fixture.openStored());
    await fixture.settle();
    const changed = vi.fn();
    session.subscribe(changed);
    await session.setTokens(success(2));
    await fixture.settle();
    expect(changed).toHaveBeenCalled();
  });

  test('a change that a getter detects is announced after the read, not during it', async () => {
    fixture.serve(offline);
    const { session } = await loaded(fixture.openStored({ refresh: 'off' }));
    await fixture.settle();
    const changed = vi.fn();
    session.subscribe(changed);
    vi.setSystemTime(Date.now() + 20 * MINUTE);
    expect(session.state.phase).toBe('due');
    expect(changed).not.toHaveBeenCalled();
    await fixture.settle();
    expect(changed).toHaveBeenCalled();
  });

  test('no state contains a token, a key or a part of one', async () => {
    const { session } = fixture.open();
    const states: string[] = [];
    const record = () => {
      const { state } = session;
      states.push(`${JSON.stringify(state)} ${state.lastError} ${state.lastError?.cause}`);
    };
    session.subscribe(record);
    await emitEveryEvent(fixture, session);
    record();
    expect(states.length).toBeGreaterThan(4);
    expect(states.join('\n')).not.toMatch(/advertising-\d|refresh-\d|no-token-is-real|AQEBAQ/);
  });
});

test('a listener that is removed in the task of an event is not called any more', async () => {
  const { session } = await loaded(fixture.openStored());
  await fixture.settle();
  const heard = vi.fn();
  const off = session.on('token', heard);
  const written = session.setTokens(success(2));
  off();
  await written;
  await fixture.settle();
  expect(heard).not.toHaveBeenCalled();
});
