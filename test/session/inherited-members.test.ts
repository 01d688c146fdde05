/**
 * A library on the page parses a query into objects, so a link can set members of `Object.prototype`: every object then seems to have
 * them. They are no options, no answer and no part of a record.
 */

import { afterEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { loaded, MINUTE, names } from '../support/clock.ts';
import { fakeLocks, fixtureForEachTest, recordOf, success, wireSet } from './fixtures.ts';

const fixture = fixtureForEachTest();

let inherited: object = {};
const inherit = (members: object) => {
  inherited = members;
  Object.assign(Object.prototype, members);
};
/** Before any assertion: with some of these members, `Object.defineProperty` throws. */
const endInheritance = () => {
  for (const name of Object.keys(inherited)) Reflect.deleteProperty(Object.prototype, name);
};
afterEach(endInheritance);

const PLANTED = {
  advertisingToken: 'planted',
  refreshToken: 'planted',
  refreshAt: 4e12,
  expiresAt: 4e12,
  endsAt: 4e12,
};

describe.each<[what: string, members: () => object]>([
  ['a set as option', () => ({ tokens: success(9) })],
  ['the label of a user', () => ({ user: 'other' })],
  ['an option that is invalid', () => ({ timeoutMs: '5' })],
  ['an option that ends refreshes', () => ({ refresh: 'off' })],
  ['the status of an answer', () => ({ status: 'optout' })],
  ['the set of a record', () => ({ set: PLANTED })],
  ['the tombstone of a record', () => ({ optedOut: '1' })],
  ['the end of a record', () => ({ ended: '1' })],
])('%s that every object inherits', (_, members) => {
  test('changes nothing in a session with a stored set', async () => {
    const store = memoryStore(recordOf(1));
    inherit(members());
    const { session, events } = await loaded(fixture.open({ store }));
    await fixture.settle();
    const { advertisingToken, state } = session;
    endInheritance();
    expect([advertisingToken, state.phase, state.next?.action]).toEqual(['advertising-1', 'fresh', 'refresh']);
    expect(names(events)).toEqual(['token load']);
  });

  test('neither supplies an identity to a session without one, nor prevents one', async () => {
    inherit(members());
    const { session, store } = fixture.open();
    const seen: unknown[] = [];
    const see = () => seen.push([session.advertisingToken, session.state.phase]);
    await session.ready;
    await fixture.settle();
    see();
    await session.setTokens(wireSet(3));
    see();
    await session.clear();
    see();
    endInheritance();
    expect(seen).toEqual([
      [undefined, 'empty'],
      ['advertising-3', 'fresh'],
      [undefined, 'empty'],
    ]);
    expect(await store.read()).toMatchObject({ optedOut: undefined });
  });
});

describe.each<[what: string, members: object]>([
  [
    'fetch',
    { headers: { authorization: 'planted' }, mode: 'no-cors', integrity: 'sha256-planted', referrer: 'planted' },
  ],
  ['AES-GCM', { tagLength: 32 }],
  ['a Web Lock', { steal: true, signal: AbortSignal.abort() }],
  ['a decoder of text', { ignoreBOM: true }],
])('members that every object inherits and that the platform would read as options of %s', (_, members) => {
  test('reach no dictionary, and the refresh succeeds', async () => {
    const { asked } = fakeLocks();
    const decrypt = vi.spyOn(crypto.subtle, 'decrypt');
    const decoders: unknown[] = [];
    const Decoder = TextDecoder;
    vi.stubGlobal(
      'TextDecoder',
      class extends Decoder {
        constructor(...given: ConstructorParameters<typeof Decoder>) {
          super(...given);
          decoders.push(given[1]);
        }
      },
    );
    const { session } = await loaded(fixture.openStored());
    await fixture.advance(14 * MINUTE);
    inherit(members);
    await fixture.advance(2 * MINUTE);
    endInheritance();
    expect(session.advertisingToken).toBe('advertising-2');
    // Options of `fetch` are an ordinary object, because a page may wrap `fetch`: what would be inherited is an own member.
    const { headers, mode, integrity, referrer } = fixture.sent[0]!.init!;
    expect([headers, mode, integrity, referrer]).toEqual([undefined, undefined, undefined, undefined]);
    for (const name of Object.keys(members)) expect(fixture.sent[0]!.init).toHaveProperty(name);
    for (const dictionary of [asked[0]?.[1], decrypt.mock.calls[0]?.[0], decoders.at(-1)]) {
      expect(dictionary).toBeTypeOf('object');
      expect(Object.getPrototypeOf(dictionary)).toBeNull();
    }
  });
});
