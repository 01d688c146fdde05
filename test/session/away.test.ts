/** Faults that need two things at once: consent and a page that was away, a failed store and other tabs, two refreshes. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { useFakeClock } from '../support/fixtures.ts';
import { createFixture, recordOf, restoreGlobals, success } from './fixtures.ts';

let fixture: ReturnType<typeof createFixture>;
beforeEach(() => {
  useFakeClock();
  fixture = createFixture();
});
afterEach(() => {
  fixture.close();
  restoreGlobals();
});

const fire = (type: string) => document.dispatchEvent(new Event(type, { bubbles: true }));
/** Consent that the test gives and takes. */
const askable = (first: boolean | Promise<boolean>) => {
  const gate = {
    say: (_: boolean) => {},
    consent: (onChange: (granted: boolean) => void) => {
      gate.say = onChange;
      return first;
    },
  };
  return gate;
};
const pending = new Promise<boolean>(() => {});

test('consent that comes after the page was frozen and thawed: the stored state is read', async () => {
  const gate = askable(pending);
  const { session } = fixture.openStored({ consent: gate.consent });
  await fixture.settle();
  fire('freeze');
  await fixture.settle();
  fire('resume');
  await fixture.settle();
  gate.say(true);
  await fixture.settle();
  expect([session.advertisingToken, session.state.waitingFor]).toEqual(['advertising-1', undefined]);
});

test('consent given again: what another tab has stored meanwhile is in force', async () => {
  const gate = askable(true);
  const store = memoryStore(recordOf(1));
  const { session } = fixture.open({ name: 'again', store, consent: gate.consent });
  const other = fixture.open({ name: 'again', store });
  await fixture.settle();
  gate.say(false);
  await fixture.settle();
  await other.session.setTokens(success(7));
  gate.say(true);
  await fixture.settle();
  expect(session.advertisingToken).toBe('advertising-7');
});

test('consent withdrawn in a tab whose store has failed: what others have stored since goes as well', async () => {
  const gate = askable(true);
  const inner = memoryStore({ ...recordOf(1), generation: 8 });
  let fails = true;
  const store: Store = {
    read: async () => (fails ? Promise.reject(new Error('out of order')) : inner.read()),
    update: async (change) => (fails ? Promise.reject(new Error('out of order')) : inner.update(change)),
  };
  const { session } = fixture.open({ store, consent: gate.consent });
  await session.ready;
  fails = false;
  await session.setTokens(success(3));
  gate.say(false);
  await fixture.settle();
  expect(((await inner.read()) as { set?: unknown }).set).toBeUndefined();
});

test('a refresh that waits for another tab rejects where that has brought nothing', async () => {
  const store = memoryStore(recordOf(1));
  let answer = (_: Response) => {};
  fixture.serve(() => new Promise((resolve) => (answer = resolve)));
  const [one, two] = [fixture.open({ name: 'two', store }), fixture.open({ name: 'two', store })];
  await fixture.settle();
  const codeOf = (refresh: Promise<void>) => refresh.catch(({ code }) => code);
  const first = codeOf(one.session.refresh());
  await fixture.settle();
  const second = codeOf(two.session.refresh());
  await fixture.settle();
  answer(new Response('', { status: 503 }));
  await fixture.advance(20_000);
  expect([await first, await second]).toEqual(['http_status', 'network']);
  expect(fixture.sent).toHaveLength(1);
});

test("provide may use the signal's onabort for itself", async () => {
  let aborted = 0;
  const provide = ({ signal }: { signal: AbortSignal }) => {
    signal.onabort = () => aborted++;
    return new Promise(() => {});
  };
  const { session } = fixture.open({ provide });
  await fixture.settle();
  session.close();
  await fixture.settle();
  expect(aborted).toBe(1);
});
