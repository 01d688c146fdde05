/** Why there is no token, as a table: each message of `getToken` and `refresh`, by value. */

import { describe, expect, test } from 'vitest';
import { noTokenError } from '../../../src/session/rules/no-token.ts';
import type { PageState } from '../../../src/session/rules/page-state.ts';
import type { SessionRecord } from '../../../src/session/rules/record.ts';
import { TokenError } from '../../../src/token/errors.ts';
import { ARRIVAL, bare, failure, HOUR, page, record, retry, STALE } from './fixtures.ts';

const error = failure(503);
const gateFailed = new TokenError('no_consent', 'consent: the gate failed with Error; this counts as a refusal');
const provideFailed = new TokenError('provide_failed');
const all = { optedOut: true, ended: true } as const;
const asks = { canProvide: true } as const;
const reading = { isCurrent: false, isKnown: false } as const;

describe('the error if there is no token', () => {
  test.each<readonly [sentence: string, record: SessionRecord, page: PageState, code: string, message: string]>([
    [
      'a closed page comes first',
      record(all),
      page({ isClosed: true, consent: 'refused' }),
      'closed',
      'The session was closed.',
    ],
    [
      'a pending consent gate comes before what is stored',
      record(all),
      page({ consent: 'pending' }),
      'no_consent',
      'The consent gate has not answered yet.',
    ],
    [
      'a refused consent comes before what is stored',
      record(all),
      page({ consent: 'refused' }),
      'no_consent',
      'Consent is refused or withdrawn.',
    ],
    [
      'a consent gate that failed says so while there is no consent',
      record(all),
      page({ consent: 'pending', lastError: gateFailed }),
      'no_consent',
      gateFailed.message,
    ],
    [
      'another failure says nothing about consent',
      record(all),
      page({ consent: 'refused', lastError: error }),
      'no_consent',
      'Consent is refused or withdrawn.',
    ],
    [
      'a consent gate that failed before consent was given says nothing afterwards',
      record(all),
      page({ lastError: gateFailed }),
      'opted_out',
      'The user has opted out.',
    ],
    [
      'an opt-out comes before the end of the set',
      record(all),
      page({ lastError: error }),
      'opted_out',
      'The user has opted out.',
    ],
    [
      'an ended set comes before the last failure',
      record({ ended: true }),
      page({ lastError: error }),
      'refresh_rejected',
      'The service refused the refresh token permanently; a new set is needed.',
    ],
    [
      'a set of another user comes before the last failure',
      record({ user: 'b' }),
      page({ user: 'a', lastError: error }),
      'no_token',
      'The stored set belongs to another user: someone else has signed in in another tab. Load the page again.',
    ],
    ['a refresh that failed says so', record(), page({ lastError: error }), 'http_status', 'http_status'],
    [
      'a call of `provide` that failed says so',
      bare(),
      page({ ...asks, lastError: provideFailed, provideResult: 'failed' }),
      'provide_failed',
      'provide_failed',
    ],
    [
      'an absent user comes before an earlier failure of `provide`',
      bare(),
      page({ ...asks, lastError: provideFailed, provideResult: 'nobody' }),
      'no_token',
      'Nobody is signed in: provide returned null, a 204, or undefined (is a return missing?). After sign-in, call signIn or setTokens.',
    ],
    [
      'a store that failed has kept no token away',
      bare(),
      page({ lastError: new TokenError('storage_failed') }),
      'no_token',
      'There is no token set, and no option provide: call setTokens, or pass the option.',
    ],
    [
      'a store that failed has not kept an expired token from its successor',
      record(),
      page({ canRefresh: false, lastError: new TokenError('storage_failed') }),
      'no_token',
      "The advertising token has expired; with refresh: 'off', the host supplies the next one with setTokens.",
    ],
    [
      'a consent gate that failed before consent was given has not kept an expired token from its successor',
      record(),
      page({ canRefresh: false, lastError: gateFailed }),
      'no_token',
      "The advertising token has expired; with refresh: 'off', the host supplies the next one with setTokens.",
    ],
    [
      '`provide` says that nobody is signed in',
      bare(),
      page({ ...asks, provideResult: 'nobody' }),
      'no_token',
      'Nobody is signed in: provide returned null, a 204, or undefined (is a return missing?). After sign-in, call signIn or setTokens.',
    ],
    [
      'the user has logged out',
      bare({ clearedAt: ARRIVAL }),
      page({ ...asks, provideResult: 'nobody' }),
      'no_token',
      'Nobody is signed in: the user has logged out. After sign-in, call signIn or setTokens.',
    ],
    [
      '`provide` is missing',
      bare(),
      page(),
      'no_token',
      'There is no token set, and no option provide: call setTokens, or pass the option.',
    ],
    [
      'an attempt is in progress',
      bare(),
      page({
        ...asks,
        attempt: {
          plan: { kind: 'provide', reason: 'empty', ignoresLock: false },
          generation: bare().generation,
          startedAt: STALE,
        },
      }),
      'no_token',
      'There is no token set; an attempt (provide) is in progress.',
    ],
    [
      '`provide` is asked later',
      bare(),
      page({ ...asks, notBefore: STALE + HOUR }),
      'no_token',
      'There is no token set; the next attempt follows at 2030-01-15T15:00:00.000Z (back_off).',
    ],
    [
      'the token has expired, and the page is hidden',
      record(),
      page({ hiddenAt: STALE }),
      'no_token',
      'The advertising token has expired; the next attempt follows (hidden).',
    ],
    [
      'the token has expired, and another page saw the service fail',
      record({ retry: retry({ startedAt: STALE, waitMs: HOUR }) }),
      page(),
      'no_token',
      'The advertising token has expired; the next attempt follows at 2030-01-15T15:00:00.000Z (back_off).',
    ],
    [
      'the token has expired, and its owner refreshes',
      record(),
      page({ canRefresh: false }),
      'no_token',
      "The advertising token has expired; with refresh: 'off', the host supplies the next one with setTokens.",
    ],
    [
      'the clock of the device was set back',
      record({ receivedAt: STALE + HOUR }),
      page(),
      'no_token',
      'The clock of this device was set back since the set arrived, so the session cannot tell whether the token has expired.',
    ],
    [
      'a record that is not read yet does not count',
      record(all),
      page(reading),
      'no_token',
      'The stored state is not known yet: the store is being read.',
    ],
  ])('%s', (_, stored, given, code, message) => {
    expect(noTokenError(stored, given, STALE)).toMatchObject({ name: 'TokenError', code, message });
  });
});
