/** Why there is no token, in words: the message of the error with which `getToken` and `refresh` reject. */

import { type ErrorCode, TokenError } from '../../token/errors.ts';
import type { Decision } from '../rules/decide.ts';
import type { PageState } from '../rules/page-state.ts';

/** The latest instant that `Date` can represent. */
const MAX_DATE = 8.64e15;

export function noTokenReason(code: ErrorCode, decision: Decision, page: PageState): string {
  if (code === 'closed') return 'The session was closed.';
  if (code === 'no_consent') return consentReason(page);
  if (code === 'opted_out') return 'The user has opted out.';
  if (code === 'refresh_rejected') return 'The service refused the refresh token permanently; a new set is needed.';
  if (decision.isForeign)
    return 'The stored set belongs to another user: someone else has signed in in another tab. Load the page again.';
  return missingReason(decision, page);
}

function consentReason({ consent, lastError }: PageState): string {
  // The failure of the gate explains why there is no consent.
  if (lastError?.code === 'no_consent') return lastError.message;
  return consent === undefined ? 'The consent gate has not answered yet.' : 'Consent is refused or withdrawn.';
}

function missingReason({ record, at, state: { next } }: Decision, page: PageState): string {
  const what = record.set ? 'The advertising token has expired' : 'There is no token set';
  const { action, reason, at: nextAt } = next ?? {};
  if (reason === 'storage') return 'The stored state is not known yet: the store is being read.';
  if (at === Number.POSITIVE_INFINITY)
    return 'The clock of this device was set back since the set arrived, so the session cannot tell whether the token has expired.';
  if (!record.set && record.changedAt && !record.user)
    return 'Nobody is signed in: the user has logged out. After sign-in, call signIn or setTokens.';
  if (page.provideResult === 'nobody')
    return 'Nobody is signed in: provide returned null or a 204. After sign-in, call signIn or setTokens.';
  if (!record.set && !page.canProvide) return `${what}, and no option provide: call setTokens, or pass the option.`;
  if (!page.canRefresh) return `${what}; with refresh: 'off', the host supplies the next one with setTokens.`;
  if (reason === 'in_progress') return `${what}; an attempt (${action}) is in progress.`;
  const when = nextAt !== undefined && Math.abs(nextAt) <= MAX_DATE ? ` at ${new Date(nextAt).toISOString()}` : '';
  return `${what}; the next attempt follows${when} (${reason}).`;
}

export function timedOut(error: TokenError, { lastError }: PageState, reason: TokenError): TokenError {
  // The last failure may also be a time-out, of `provide`.
  if (error.code !== 'timeout' || error === lastError) return error;
  return new TokenError('timeout', `${error.message}. ${reason.message}`);
}
