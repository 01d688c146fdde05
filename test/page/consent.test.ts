/** A real session and a real operator behind consent gates. The tests of the gates alone are in the folder `consent`. */

import { describe, expect, test } from 'vitest';
import { allOf, gpcConsent, tcfConsent } from '../../src/page/consent.ts';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { MINUTE, names, until } from '../support/clock.ts';
import { installTcf, TCF } from '../support/cmp.ts';
import { createOperatorFixture } from '../support/fixtures.ts';
import { isolateTests } from './consent/fixtures.ts';

isolateTests();

describe('a session behind a gate', () => {
  const watched = () => {
    const calls: string[] = [];
    const real = memoryStore();
    const store: Store = {
      kind: 'watched',
      read: () => {
        calls.push('read');
        return real.read();
      },
      update: (change) => {
        calls.push('update');
        return real.update(change);
      },
    };
    return { calls, store, real };
  };

  test('stores and sends nothing before the decision, and does both after it', async () => {
    const fixture = createOperatorFixture();
    const cmp = installTcf();
    const { calls, store } = watched();
    const tokens = await fixture.answerFor('user@example.com');
    const { session, events } = fixture.open({ store, tokens, consent: allOf(tcfConsent(), gpcConsent()) });
    await fixture.advance(60 * MINUTE);
    expect(session.state.waitingFor).toBe('consent');
    expect([calls, fixture.requests, names(events)]).toEqual([[], [], []]);

    cmp.publish(TCF.granted);
    await until(() => session.advertisingToken);
    expect(calls).toContain('update');
    fixture.close();
  });

  test('aborts a refresh and erases the token on withdrawal; the late answer restores nothing', async () => {
    const fixture = createOperatorFixture();
    const cmp = installTcf(TCF.granted);
    const { store, real } = watched();
    const tokens = await fixture.answerFor('user@example.com');
    const { session, events } = fixture.open({ store, tokens, consent: tcfConsent() });
    await until(() => names(events).includes('token set'));
    let release = () => {};
    fixture.network(async (_, go) => {
      await new Promise<void>((resolve) => (release = resolve));
      return go();
    });
    void session.refresh();
    await until(() => fixture.requests.length === 1);

    cmp.publish(TCF.refused);
    await until(() => session.state.waitingFor === 'consent');
    expect(session.advertisingToken).toBeUndefined();
    release();
    await fixture.advance(120 * MINUTE);
    expect(session.advertisingToken).toBeUndefined();
    expect(JSON.stringify(await real.read())).not.toContain('Token');
    expect(fixture.requests).toHaveLength(1);
    expect(names(events)).toEqual(['token set']);

    cmp.publish(TCF.granted);
    await fixture.settle();
    expect(session.state).toMatchObject({ phase: 'empty' });
    fixture.close();
  });
});
