import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextWakeAt, phaseOf, type TokenSet, tokenAt } from '../../src/token/index.ts';

const REFRESH_AT = 1_900_000_000_000;
const EXPIRES_AT = REFRESH_AT + 3_600_000;
const ENDS_AT = EXPIRES_AT + 86_400_000;
const NEVER = Number.POSITIVE_INFINITY;

const set: TokenSet = {
  advertisingToken: 'advertising',
  refreshToken: 'refresh',
  responseKeyB64: 'key',
  refreshAt: REFRESH_AT,
  expiresAt: EXPIRES_AT,
  endsAt: ENDS_AT,
};

describe('a set at an instant', () => {
  test.each([
    ['long before it is due', REFRESH_AT - 1e9, 'fresh', 'advertising', REFRESH_AT],
    ['one ms before it is due', REFRESH_AT - 1, 'fresh', 'advertising', REFRESH_AT],
    ['at the instant it is due', REFRESH_AT, 'due', 'advertising', EXPIRES_AT],
    ['one ms before its token expires', EXPIRES_AT - 1, 'due', 'advertising', EXPIRES_AT],
    ['at the instant its token expires', EXPIRES_AT, 'stale', undefined, NEVER],
    ['one ms before its refresh token expires', ENDS_AT - 1, 'stale', undefined, NEVER],
    ['at the instant its refresh token expires: only the service ends a set', ENDS_AT, 'stale', undefined, NEVER],
    ['long after its refresh token has expired', ENDS_AT + 1e12, 'stale', undefined, NEVER],
  ] as const)('%s', (_, now, phase, token, wakeAt) => {
    expect(phaseOf({ set }, now)).toBe(phase);
    expect(tokenAt({ set }, now)).toBe(token);
    expect(nextWakeAt({ set }, now)).toBe(wakeAt);
  });

  test.each([
    ['no set', {}, 'empty', undefined],
    ['a set that the service has ended', { set, ended: true }, 'ended', 'advertising'],
    ['an opt-out', { optedOut: true }, 'optedOut', undefined],
    ['a set held back behind an opt-out', { set, optedOut: true }, 'optedOut', undefined],
    ['an opt-out of an ended set', { set, ended: true, optedOut: true }, 'optedOut', undefined],
  ] as const)('%s', (_, held, phase, token) => {
    expect(phaseOf(held, REFRESH_AT + 1)).toBe(phase);
    expect(tokenAt(held, REFRESH_AT + 1)).toBe(token);
  });

  test('an ended set returns its token to the last ms and wakes when the token expires', () => {
    const held = { set, ended: true };
    expect(tokenAt(held, EXPIRES_AT - 1)).toBe('advertising');
    expect(nextWakeAt(held, EXPIRES_AT - 1)).toBe(EXPIRES_AT);
    expect(tokenAt(held, EXPIRES_AT)).toBeUndefined();
    expect(phaseOf(held, EXPIRES_AT)).toBe('ended');
  });

  test('no set or an opt-out never wakes', () => {
    for (const held of [{}, { optedOut: true }, { set, optedOut: true }])
      for (const now of [0, REFRESH_AT, ENDS_AT]) expect(nextWakeAt(held, now)).toBe(NEVER);
  });

  test('a set that becomes due and expires in the same instant wakes once', () => {
    const brief = { ...set, refreshAt: EXPIRES_AT };
    expect(phaseOf({ set: brief }, EXPIRES_AT)).toBe('stale');
    expect(nextWakeAt({ set: brief }, EXPIRES_AT - 1)).toBe(EXPIRES_AT);
  });

  test('the next wake-up is in the future, and until then neither phase nor token changes', () => {
    const instant = fc.integer({ min: REFRESH_AT - 10, max: ENDS_AT + 10 });
    fc.assert(
      fc.property(
        instant,
        fc.boolean(),
        fc.boolean(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (now, ended, optedOut, part) => {
          const held = { set, ended, optedOut };
          const wakeAt = nextWakeAt(held, now);
          expect(wakeAt).toBeGreaterThan(now);
          const between = Math.min(now + Math.floor(part * (Math.min(wakeAt, ENDS_AT + 20) - now)), wakeAt - 1);
          expect(phaseOf(held, between)).toBe(phaseOf(held, now));
          expect(tokenAt(held, between)).toBe(tokenAt(held, now));
        },
      ),
    );
  });
});
