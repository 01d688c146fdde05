/** Faults that need two things at once: consent and a page that was away, a failed store and other tabs, two refreshes. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { useFakeClock } from '../support/scene.ts';
import { createStage, recordOf, strike, success } from './stage.ts';

let stage: ReturnType<typeof createStage>;
beforeEach(() => {
  useFakeClock();
  stage = createStage();
});
afterEach(() => {
  stage.close();
  strike();
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
  const { session } = stage.openWith({ consent: gate.consent });
  await stage.rest();
  fire('freeze');
  await stage.rest();
  fire('resume');
  await stage.rest();
  gate.say(true);
  await stage.rest();
  expect([session.advertisingToken, session.state.waitingFor]).toEqual(['advertising-1', undefined]);
});

test('consent given again: what another tab has stored meanwhile is in force', async () => {
  const gate = askable(true);
  const store = memoryStore(recordOf(1));
  const { session } = stage.open({ name: 'again', store, consent: gate.consent });
  const other = stage.open({ name: 'again', store });
  await stage.rest();
  gate.say(false);
  await stage.rest();
  await other.session.setTokens(success(7));
  gate.say(true);
  await stage.rest();
  expect(session.advertisingToken).toBe('advertising-7');
});

test('consent withdrawn in a tab whose store has failed: what others have stored since goes as well', async () => {
  const gate = askable(true);
  const place = memoryStore({ ...recordOf(1), generation: 8 });
  let fails = true;
  const store: Store = {
    read: async () => (fails ? Promise.reject(new Error('out of order')) : place.read()),
    update: async (change) => (fails ? Promise.reject(new Error('out of order')) : place.update(change)),
  };
  const { session } = stage.open({ store, consent: gate.consent });
  await session.ready;
  fails = false;
  await session.setTokens(success(3));
  gate.say(false);
  await stage.rest();
  expect(((await place.read()) as { set?: unknown }).set).toBeUndefined();
});

test('a refresh that waits for another tab rejects where that has brought nothing', async () => {
  const store = memoryStore(recordOf(1));
  let answer = (_: Response) => {};
  stage.serve(() => new Promise((resolve) => (answer = resolve)));
  const [one, two] = [stage.open({ name: 'two', store }), stage.open({ name: 'two', store })];
  await stage.rest();
  const codeOf = (refresh: Promise<void>) => refresh.catch(({ code }) => code);
  const first = codeOf(one.session.refresh());
  await stage.rest();
  const second = codeOf(two.session.refresh());
  await stage.rest();
  answer(new Response('', { status: 503 }));
  await stage.pass(20_000);
  expect([await first, await second]).toEqual(['http_status', 'network']);
  expect(stage.sent).toHaveLength(1);
});

test("provide may use the signal's onabort for itself", async () => {
  let aborted = 0;
  const provide = ({ signal }: { signal: AbortSignal }) => {
    signal.onabort = () => aborted++;
    return new Promise(() => {});
  };
  const { session } = stage.open({ provide });
  await stage.rest();
  session.close();
  await stage.rest();
  expect(aborted).toBe(1);
});
