/** The transitions of one drop-in: what `init`, `setIdentity`, `disconnect`, `abort` and session changes do. */

import { commit } from '../../session/commit.ts';
import type { Core } from '../../session/core.ts';
import { setByHost } from '../../session/rules/host-changes.ts';
import type { Change } from '../../session/rules/record.ts';
import { createCore, sessionOf } from '../../session/session.ts';
import { addressFault, ownMembers, parseBaseUrl, throwIf } from '../../token/checks.ts';
import { isDevelopment } from '../../token/development.ts';
import { ignoreFailure } from '../../token/errors.ts';
import { type TokenSet, toWire, type WireTokenSet } from '../../token/token-set.ts';
import {
  BEFORE_ALL,
  type Candidate,
  candidateOf,
  candidateOfRecord,
  choose,
  isMark,
  isNews,
  wireOf,
  withNewest,
} from './precedence.ts';
import {
  choiceNow,
  type DropIn,
  identityOf,
  isRefreshing,
  isSettled,
  knownNow,
  readCandidates,
  recordOf,
  type Started,
  type State,
} from './state.ts';
import { eventsBetween, needsLogin, statusBetween } from './status.ts';
import { createStore } from './store.ts';
import type { InitOptions } from './types.ts';
import { warnOfForeignCookie, watchCookie } from './warnings.ts';

const BASE_URLS = { uid2: 'https://prod.uidapi.com', euid: 'https://prod.euid.eu' };

/** How long `InitCompleted` waits for the record if another place holds an answer, ms. */
const RECORD_WAIT_MS = 250;

/** `ownsCookie`: whether to write or erase the cookie; else it is a server's. */
function keep(
  { places, options }: DropIn,
  candidate: Candidate | undefined,
  ownsCookie = options.useCookie || candidate?.answer === 'optout',
): void {
  const { useCookie, cookieDomain } = options;
  const value = candidate && wireOf(candidate);
  // A cookie with a domain is shared with other hosts, so a logout is marked there too.
  const isShared = useCookie && (candidate?.answer !== 'logout' || cookieDomain);
  const isLocal = !useCookie || (candidate && isMark(candidate));
  places.write({ cookie: isShared ? value : undefined, local: isLocal ? value : undefined }, options, ownsCookie);
}

/** Store a change of the page in the places before it is recorded: the page may be closed before the database responds. */
function keepChange(dropIn: DropIn, answer: Candidate['answer'], ownsCookie?: boolean): Candidate {
  // Later than every known change, even if the clock was set back.
  const { changedAt } = withNewest(recordOf(dropIn.state), choiceNow(dropIn).newest);
  const candidate = { answer, changedAt: Math.max(Date.now(), changedAt + 1) };
  keep(dropIn, candidate, ownsCookie);
  return candidate;
}

/** Apply what the record does not contain yet: of the page, or what others put into the places. Returns whether there is anything. */
export function follow(dropIn: DropIn): boolean {
  const { state, considered } = dropIn;
  if (!isSettled(state)) return false;
  const { core } = state;
  const { newest, supplied } = choiceNow(dropIn);
  const change = (made: Change) => void commit(core, made).catch(() => {});
  const isRecordOld = isNews(core.shown.latest(), newest);
  if (isRecordOld) change((record) => withNewest(record, newest));
  // After an opt-out, a set waits until the service accepts it.
  const isNew = supplied && !considered.has(supplied.refreshToken);
  if (isNew) {
    considered.add(supplied.refreshToken);
    change(setByHost(supplied, core.now()));
  }
  return isRecordOld || !!isNew;
}

function announce(dropIn: DropIn, state: Started): void {
  const { reported: before, callbacks } = dropIn;
  const { isInvalid } = state;
  const now = knownNow(dropIn);
  // The reported token has expired during its refresh, whose result follows.
  const isSame = before?.token === now.set?.advertisingToken;
  if (now.condition === 'expired' && isSame && !isInvalid && isRefreshing(state)) return;
  const events = eventsBetween(before, now);
  dropIn.reported = now;
  state.isInvalid = false;
  const status = isInvalid ? 'invalid' : statusBetween(state.isLoggedOut ? undefined : before, now);
  // Before the callbacks, one of which may call `disconnect`.
  if (now.condition !== 'empty') state.isLoggedOut = false;
  // The legacy callbacks come first, as in the UID2 SDK.
  if (isInvalid || events.length > 0) callbacks.emitLegacy(status, now.token);
  if (!before && needsLogin(now)) callbacks.emit('IdentityUpdated', identityOf(dropIn), state.listeners);
  // A callback may call `abort`, or supply another identity.
  for (const event of events) if (dropIn.reported) callbacks.emit(event, identityOf(dropIn));
}

/** Emit `InitCompleted`, unless it has been: the events of a change of the page follow it. Returns the state after the callbacks. */
function completeInit(dropIn: DropIn): State {
  if (!dropIn.reported && dropIn.state) announce(dropIn, dropIn.state);
  return dropIn.state;
}

/** The session or the options may have changed. */
export function update(dropIn: DropIn): void {
  const { state } = dropIn;
  if (!isSettled(state) || follow(dropIn)) return;
  const candidate = candidateOfRecord(recordOf(state), needsLogin(knownNow(dropIn)));
  dropIn.candidates = candidate ? [candidate] : [];
  keep(dropIn, candidate);
  // A supplied set that the places hold later was set again, by a server, and counts even if it is the same.
  if (!choose(readCandidates(dropIn)).supplied) dropIn.considered.clear();
  announce(dropIn, state);
}

/** Stored options must not decide where a refresh token is sent, so a session refreshes only once the page has called `init`. */
export function allowRefresh(core: Core, canRefresh = true): void {
  Object.assign<Core, Pick<Core, 'canRefresh'>>(core, { canRefresh });
}

/** `page`: the body of a generate response. @throws {TypeError} for an invalid `baseUrl`; nothing has changed then. */
export function start(dropIn: DropIn, options: InitOptions, page?: unknown): void {
  const { product, considered } = dropIn;
  const address = options.baseUrl ?? BASE_URLS[product];
  if (isDevelopment) throwIf(addressFault(address));
  const baseUrl = parseBaseUrl(address);
  const name = `tessera-${product}`;
  dropIn.options = options;
  dropIn.state?.session.close();

  const fromPage = candidateOf(page);
  if (fromPage) dropIn.candidates = [fromPage, ...dropIn.candidates];
  const { newest, supplied } = choiceNow(dropIn);
  const warnOfCookie = isDevelopment && watchCookie(dropIn, !newest && !supplied);
  // Only a set of the page: the session checks whether that is old. After an opt-out, it waits until the opt-out is recorded.
  const offer = fromPage && !fromPage.changedAt && newest?.answer !== 'optout' ? supplied : undefined;
  if (offer) {
    considered.add(offer.refreshToken);
    // The page may be closed before the database responds.
    if (!newest) keep(dropIn, { answer: offer, changedAt: BEFORE_ALL });
  }
  const settings = {
    baseUrl,
    name,
    store: createStore(name, baseUrl),
    // The session ignores a set that it has had before, or that a logout has ended, because the page may come from a cache.
    tokens: offer && toWire(offer),
    retry: { firstMs: options.refreshRetryPeriod },
  };
  const core = createCore(settings, (record) => withNewest(record, choiceNow(dropIn).newest));
  allowRefresh(core, dropIn.hasInit);
  const state: Started = {
    core,
    session: sessionOf(core),
    listeners: [...dropIn.callbacks.list],
    isInvalid: !!page && !fromPage,
    isLoggedOut: false,
  };
  dropIn.state = state;
  // A database that hangs must not delay a copy or a mark.
  if (newest || supplied) setTimeout(() => dropIn.state === state && announce(dropIn, state), RECORD_WAIT_MS);
  state.session.subscribe(() => update(dropIn));
  void state.session.ready.then(() => {
    if (dropIn.state !== state) return;
    if (warnOfCookie) warnOfCookie();
    update(dropIn);
    dropIn.endFirstRead();
  });
}

/** @throws {Error} before `init`. */
export function setIdentity(dropIn: DropIn, identity: unknown): void {
  const { considered, callbacks } = dropIn;
  const state = completeInit(dropIn);
  if (!state) throw new Error('setIdentity: call init first');
  // The page supplies it now, so the time of an earlier login does not matter.
  let candidate = candidateOf({ ...(identity as object), tessera: undefined });
  if (!candidate) {
    callbacks.emitLegacy('invalid');
    return;
  }
  considered.add((candidate.answer as TokenSet).refreshToken);
  // After an opt-out, a set waits until the service accepts it.
  if (isMark(candidate) || knownNow(dropIn).condition !== 'optedOut') candidate = keepChange(dropIn, candidate.answer);
  // Of what was known, only an opt-out still counts.
  dropIn.candidates = [candidate, ...dropIn.candidates.filter(({ answer }) => answer === 'optout')];
  // The record need not have been read: the session applies this after the set of `init`.
  void state.session.setTokens(identity as WireTokenSet);
}

export function disconnect(dropIn: DropIn): void {
  // The options from before `abort` contain the cookie's attributes. Damaged options of an earlier page are ignored.
  if (!completeInit(dropIn)) ignoreFailure(() => start(dropIn, dropIn.options));
  if (!dropIn.state) start(dropIn, ownMembers({}));
  const state = dropIn.state as Started;
  dropIn.candidates = [keepChange(dropIn, knownNow(dropIn).condition === 'optedOut' ? 'optout' : 'logout', true)];
  state.isLoggedOut = true;
  if (isDevelopment) warnOfForeignCookie(dropIn);
  void state.session.clear();
}

export function abort(dropIn: DropIn): void {
  dropIn.state?.session.close();
  dropIn.state = null;
  dropIn.candidates = [];
  dropIn.reported = undefined;
  dropIn.endFirstRead();
}
