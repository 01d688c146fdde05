/**
 * Why there is no token: the error that `getToken` and `refresh` reject with. For programs, `nextOf` in `decide.ts` says what the
 * session waits for. Pure, like the other rules.
 */

import { isDevelopment } from '../../token/development.ts';
import { TokenError } from '../../token/errors.ts';
import { decide } from './decide.ts';
import type { PageState } from './page-state.ts';
import { emptyRecord, type SessionRecord, serviceTime } from './record.ts';
import { isOfOtherUser } from './user.ts';

/** The latest instant that `Date` can represent. */
const MAX_DATE = 8.64e15;

/** Message of the development build. */
const OTHER_USER =
  'The stored set belongs to another user: someone else has signed in in another tab. Load the page again.';

/** Why there is no token at `now`: first what blocks the session, then what the record says, then the failed attempt. */
export function noTokenError(stored: SessionRecord, page: PageState, now: number): TokenError {
  if (page.isClosed) return new TokenError('closed', isDevelopment ? 'The session was closed.' : undefined);
  // The failure of the gate explains why there is no consent.
  if (isDevelopment && page.consent !== 'granted' && page.lastError?.code === 'no_consent') return page.lastError;
  if (page.consent !== 'granted')
    return new TokenError('no_consent', isDevelopment ? consentReason(page) : `no_consent: ${page.consent}`);
  if (isOfOtherUser(stored, page.user))
    return new TokenError('no_token', isDevelopment ? OTHER_USER : 'no_token: other_user');
  const record = page.isCurrent ? stored : emptyRecord(stored.baseUrl);
  if (record.optedOut) return new TokenError('opted_out', isDevelopment ? 'The user has opted out.' : undefined);
  if (record.ended) {
    const text = 'The service refused the refresh token permanently; a new set is needed.';
    return new TokenError('refresh_rejected', isDevelopment ? text : undefined);
  }
  const error = attemptError(page);
  if (error && (record.set || page.provideResult === 'failed')) return error;
  const brief = page.provideResult ?? (record.set ? 'expired' : 'empty');
  return new TokenError('no_token', isDevelopment ? noTokenReason(record, page, now) : `no_token: ${brief}`);
}

/** The last failure, if an attempt failed: a failure of the store or of the consent gate does not explain a missing token. */
export function attemptError({ lastError }: PageState): TokenError | undefined {
  return lastError && !['storage_failed', 'no_consent'].includes(lastError.code) ? lastError : undefined;
}

function consentReason({ consent }: PageState): string {
  return consent === 'pending' ? 'The consent gate has not answered yet.' : 'Consent is refused or withdrawn.';
}

function noTokenReason(record: SessionRecord, page: PageState, now: number): string {
  const state = record.set ? 'The advertising token has expired' : 'There is no token set';
  if (!page.isCurrent) return 'The stored state is not known yet: the store is being read.';
  if (serviceTime(record, now) === Number.POSITIVE_INFINITY)
    return 'The clock of this device was set back since the set arrived, so the session cannot tell whether the token has expired.';
  if (!record.set && record.clearedAt !== undefined && !record.user)
    return 'Nobody is signed in: the user has logged out. After sign-in, call signIn or setTokens.';
  if (page.provideResult === 'nobody')
    return 'Nobody is signed in: provide returned null, a 204, or undefined (is a return missing?). After sign-in, call signIn or setTokens.';
  if (!record.set && !page.canProvide) return `${state}, and no option provide: call setTokens, or pass the option.`;
  if (!page.canRefresh) return `${state}; with refresh: 'off', the host supplies the next one with setTokens.`;
  const { action, reason, at } = decide(record, page, now).state.next ?? {};
  if (reason === 'in_progress') return `${state}; an attempt (${action}) is in progress.`;
  const when = at !== undefined && Math.abs(at) <= MAX_DATE ? ` at ${new Date(at).toISOString()}` : '';
  return `${state}; the next attempt follows${when} (${reason}).`;
}
