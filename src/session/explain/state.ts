/** The state of a session in two sentences, for the development build and the Inspector. */

import type { ErrorCode } from '../../token/errors.ts';
import type { Phase } from '../../token/phase.ts';
import type { NextReason, NextStep, SessionState } from '../rules/state.ts';

export const REASONS: Readonly<Record<NextReason, string>> = {
  refresh_from: 'the token is fresh until then',
  expires: 'no refresh is planned',
  in_progress: 'in progress',
  other_tab: 'another tab is refreshing',
  back_off: 'pause after a failure',
  retry_after: 'the service asked for a pause',
  refused: 'the service refused the set',
  woken: 'the page woke up',
  hidden: 'the page is hidden',
  consent: 'consent is not given',
  storage: 'the stored record is read or written',
  host: 'the page must call it',
};

const ACTIONS: Readonly<Record<NextStep['action'], string>> = {
  refresh: 'ask the operator for a newer token',
  provide: 'ask your server for a token',
  expire: 'withdraw the token, which has expired then',
  setTokens: 'wait until your page calls setTokens',
  signIn: 'wait until a user has signed in and your page calls signIn',
};

const MISSING: Readonly<Record<Phase, string>> = {
  empty: '',
  fresh: '',
  due: '',
  stale: ': the last one has expired',
  ended: ': the service does not renew the last one any more',
  optedOut: ': the user has opted out',
};

const FAILURES: Readonly<Partial<Record<ErrorCode, string>>> = {
  network: 'it got no answer',
  timeout: 'the answer took too long',
  http_status: 'the answer was an error',
  malformed_response: 'the answer was no token set',
  decrypt_failed: 'the answer could not be opened',
  invalid_token_set: 'the answer was no token set',
  provide_failed: 'your server supplied no token',
  storage_failed: 'this browser could not store the token',
  refresh_rejected: 'the operator does not accept the token any more',
  no_consent: 'the consent gate did not answer as it should',
};

/** `90 s`, `15 min`, `3 h`, `30 d`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** 'There is a valid token, for another 45 min. Next, the session will ...' `now`: by the local clock, epoch ms. */
export function explainState(state: SessionState, token: string | undefined, now: number): string {
  const { phase, expiresAt = 0, clockOffsetMs = 0, lastError, next } = state;
  const has = token
    ? `There is a valid token, for another ${durationText(expiresAt - clockOffsetMs - now)}`
    : `There is no token${MISSING[phase]}`;
  const failure = lastError && `; the last attempt failed: ${FAILURES[lastError.code] ?? lastError.code}`;
  const status = lastError?.status ? ` (status ${lastError.status})` : '';
  return `${has}${failure ?? ''}${status}. ${next ? nextText(next, now) : 'The session is closed.'}`;
}

function nextText({ at, action, reason }: NextStep, now: number): string {
  // What is stored, and so what follows, is not known before.
  if (reason === 'consent') return 'The session does nothing until consent is given.';
  const when = at !== undefined && at > now ? ` in ${durationText(at - now)}` : '';
  // The action says that the page must act.
  const why = reason === 'host' ? '' : ` (${REASONS[reason]})`;
  return `Next, the session will ${ACTIONS[action]}${when}${why}.`;
}
