/** Calls that meet a page that has not read the record yet, another tab in the middle of its work, or a gate not yet open. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type ProvideOption } from '../../src/session/index.ts';
import { loaded, until } from '../support/clock.ts';
import { controlledConsent } from './consent-fixture.ts';
import { answersSealed, dispatch, fakeLocks, fixtureForEachTest, recordOf, setVisible, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

test.each([
  ['hidden for 10 s', () => setVisible(false), () => setVisible(true)],
  ['from the back/forward cache', () => dispatch('pagehide'), () => dispatch('pageshow')],
])(
  'clear() on a page that is shown again, before it has read the record: %s: the user stays logged out, and `provide` is not called',
  async (_, leave, comeBack) => {
    const provide = vi.fn(async () => success(9));
    const { session, events } = await loaded(fixture.open({ store: memoryStore(recordOf(1)), provide }));
    await fixture.settle();
    leave();
    await fixture.advance(10_000);
    comeBack();
    await session.clear();
    await fixture.advance(5_000);
    expect(session.state.phase).toBe('empty');
    expect(provide).not.toHaveBeenCalled();
    expect(events.map(([event]) => event)).not.toContain('needsTokens');
  },
);

describe('before consent', () => {
  test('a logout is followed by no call of `provide`', async () => {
    const provide = vi.fn(async () => success(9));
    const { consent, grant } = controlledConsent();
    const { session } = fixture.open({ store: memoryStore(recordOf(1)), provide, consent });
    await session.clear();
    grant();
    await fixture.settle();
    expect(session.state.phase).toBe('empty');
    expect(provide).not.toHaveBeenCalled();
  });

  test('a set that waits is dropped once a later set is refused', async () => {
    let onChange = (_: boolean) => {};
    const consent = (tell: typeof onChange): Promise<boolean> => {
      onChange = tell;
      return new Promise(() => {});
    };
    const { session } = fixture.open({ consent });
    const first = session.setTokens(success(1));
    onChange(false);
    await expect(session.setTokens(success(2))).rejects.toMatchObject({ code: 'no_consent' });
    onChange(true);
    await expect(first).rejects.toMatchObject({ code: 'no_consent' });
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
  });

  test('a rendered set that a logout drops is not an error', async () => {
    const { consent, grant } = controlledConsent();
    const { session, events } = fixture.open({ tokens: success(1), consent });
    await session.clear();
    grant();
    await fixture.settle();
    expect(events.map(([event]) => event)).not.toContain('error');
    expect(session.state.lastError).toBeUndefined();
  });
});

describe('signIn()', () => {
  test('ends the call of `provide` of another tab, which asked for the previous user, and calls its own at once', async () => {
    fakeLocks();
    const name = 'sign-in-beside-a-call';
    const store = memoryStore();
    const signals: AbortSignal[] = [];
    const provide: ProvideOption = ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    };
    await loaded(fixture.open({ store, name, provide }));
    await fixture.settle();
    const { session } = await loaded(fixture.open({ store, name, provide: async () => success(8) }));
    const startedAt = Date.now();
    await session.signIn();
    expect(session.advertisingToken).toBe('advertising-8');
    expect(Date.now()).toBe(startedAt);
    await until(() => signals[0]?.aborted);
    expect(signals).toHaveLength(1);
  });

  test('does not wait for a tab that holds the lock and does not respond', async () => {
    const name = 'sign-in-beside-a-frozen-tab';
    fakeLocks().held.add(name);
    const { session } = await loaded(
      fixture.open({ store: memoryStore(recordOf(1)), name, provide: async () => success(8) }),
    );
    await session.signIn();
    expect(session.advertisingToken).toBe('advertising-8');
  });

  test('after an opt-out resolves once the service has accepted the next user', async () => {
    const record = { ...recordOf(1), set: undefined, optedOut: true, changedAt: Date.now() };
    const { session } = await loaded(fixture.open({ store: memoryStore(record), provide: async () => success(8) }));
    fixture.serve(answersSealed(success(9)));
    await session.signIn();
    expect(session.advertisingToken).toBe('advertising-9');
  });
});
