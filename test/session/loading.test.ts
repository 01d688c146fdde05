// @vitest-environment node
/** Loading the code: importing it touches no global, and two copies of the script file on one page work like two tabs. */

import { afterEach, describe, expect, test, vi } from 'vitest';
import { bundle } from '../../build/dist.ts';
import type { Tessera } from '../../src/page/global.ts';
import { createSession, indexedDbStore, memoryStore, type SessionOptions } from '../../src/session/index.ts';
import { MINUTE, names, recordEvents, until, useFakeClock } from '../support/clock.ts';
import { BASE_URL, createFixture, recordOf } from './fixtures.ts';

afterEach(() => void vi.useRealTimers());

test('two copies of tessera.js share one refresh, and a logout in one ends both', async () => {
  const [file] = await bundle('tessera.js');
  const load = (): Tessera => {
    const window: { tessera?: Tessera } = {};
    new Function('window', 'dispatchEvent', file!.code)(window, () => true);
    return window.tessera as Tessera;
  };
  useFakeClock();
  const fixture = createFixture();
  const name = 'two-copies';
  const inner = indexedDbStore(name);
  await inner.update(() => recordOf(1));
  inner.close?.();
  const [one, two] = [load(), load()].map(({ createSession }) => {
    const session = createSession({ baseUrl: BASE_URL, name, fetch: fixture.fetch });
    return { session, events: recordEvents(session) };
  }) as [{ session: Tessera['session'] & object; events: ReturnType<typeof recordEvents> }, never];
  const both: (typeof one)[] = [one, two];
  await Promise.all(both.map(({ session }) => session.ready));
  await fixture.advance(15 * MINUTE);
  await until(() => both.every(({ session }) => session.advertisingToken === 'advertising-2'));
  expect(fixture.sent).toHaveLength(1);
  expect(both.map(({ events }) => names(events)).sort()).toEqual([
    ['token load', 'token refresh'],
    ['token load', 'token tab'],
  ]);
  await one.session.clear();
  await until(() => both.every(({ session }) => !session.advertisingToken));
  for (const { session } of both) session.close();
});

describe('the order of a page view', () => {
  const open = (options: Partial<SessionOptions> = {}) => {
    const order: string[] = [];
    class Channel {
      constructor() {
        order.push('channel');
      }
      postMessage() {}
      close() {}
    }
    vi.stubGlobal('BroadcastChannel', Channel);
    vi.stubGlobal('addEventListener', () => order.push('listener'));
    const store = { ...memoryStore(recordOf(1)), open: () => order.push('open') };
    const session = createSession({ baseUrl: BASE_URL, store, ...options });
    vi.unstubAllGlobals();
    return { order, session };
  };

  test('the store opens before the channel and the listeners are there', async () => {
    const { order, session } = open();
    expect(order.slice(0, 2)).toEqual(['open', 'listener']);
    expect(order).toContain('channel');
    await session.ready;
    session.close();
  });

  test('with a consent gate nothing opens the store in advance', () => {
    const { order, session } = open({ consent: () => new Promise(() => {}) });
    expect(order).not.toContain('open');
    session.close();
  });
});

test('importing the module reads no global of the browser', async () => {
  const touched: string[] = [];
  const watched = ['indexedDB', 'localStorage', 'document', 'navigator', 'performance', 'BroadcastChannel', 'fetch'];
  const own = watched.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
  vi.resetModules();
  for (const name of watched)
    Object.defineProperty(globalThis, name, {
      configurable: true,
      get: () => {
        touched.push(name);
        return undefined;
      },
    });
  try {
    const { createSession } = await import('../../src/session/index.ts');
    const at = touched.length;
    expect(createSession).toBeTypeOf('function');
    // Vitest's module loader reads `performance`, before and after the import.
    expect(touched.slice(0, at).filter((name) => name !== 'performance')).toEqual([]);
  } finally {
    for (const [name, descriptor] of own)
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else Reflect.deleteProperty(globalThis, name);
  }
});
