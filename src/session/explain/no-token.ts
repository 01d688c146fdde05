/** Messages of the errors with which `getToken` and `refresh` reject. */

import { type ErrorCode, TokenError } from '../../token/errors.ts';
import type { Decision } from '../rules/decide.ts';
import type { PageState } from '../rules/page-state.ts';

const MAX_DATE = 8.64e15;

export function noTokenReason(code: ErrorCode, decision: Decision, page: PageState): string {
  if (code === 'closed') return 'The session was closed.';
  if (code === 'no_consent' && page.lastError?.code === code) return page.lastError.message;
  if (code === 'no_consent')
    return page.consent === undefined ? 'The consent gate has not answered yet.' : 'Consent is refused or withdrawn.';
  if (code === 'opted_out') return 'The user has opted out.';
  if (code === 'refresh_rejected') return 'The service refused the refresh token permanently; a new set is needed.';
  if (decision.isForeign)
    return 'The stored set belongs to another user: someone else has signed in in another tab. Load the page again.';
  return missingReason(decision, page);
}

function missingReason({ record, at, state: { next } }: Decision, page: PageState): string {
  const what = record.set ? 'The advertising token has expired' : 'There is no token set';
  const { action, reason, at: nextAt } = next ?? {};
  if (reason === 'storage') return 'The stored state is not known yet: the store is being read.';
  if (at === Number.POSITIVE_INFINITY)
    return 'The clock of this device was set back since the set arrived, so the session cannot tell whether the token has expired.';
  // Also after signIn(), which has ended the former set.
  const offHint = `${what}; with refresh: 'off', the host supplies the next one with setTokens.`;
  if (!record.set && !page.canProvide)
    return page.canRefresh
      ? `${what}, and no option provide: if a user is signed in, call setTokens, or pass the option.`
      : offHint;
  if (!record.set && record.changedAt && !record.user)
    return 'Nobody is signed in: the user has logged out. After sign-in, call signIn or setTokens.';
  if (page.provideResult === 'nobody')
    return 'Nobody is signed in: provide returned null or a 204. After sign-in, call signIn or setTokens.';
  if (!page.canRefresh) return offHint;
  if (reason === 'in_progress') return `${what}; an attempt (${action}) is in progress.`;
  const when = nextAt !== undefined && Math.abs(nextAt) <= MAX_DATE ? ` at ${new Date(nextAt).toISOString()}` : '';
  return `${what}; the next attempt follows${when} (${reason}).`;
}

export function timeoutWithReason(error: TokenError, { lastError }: PageState, reason: TokenError): TokenError {
  // The last failure may also be a time-out, of `provide`.
  if (error.code !== 'timeout' || error === lastError) return error;
  return new TokenError('timeout', `${error.message}. ${reason.message}`);
}
