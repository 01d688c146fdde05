/**
 * The transitions of one drop-in: what `init`, `setIdentity`, `disconnect`, `abort` and session changes do.
 *
 * It connects the session with the places (local storage, cookie) and the callbacks. `precedence.ts` decides which identity wins,
 * `status.ts` which events to emit.
 */

import { createSession, type TokenAnswer } from '../../session/index.ts';
import { addressFault, ownMembers, parseBaseUrl, throwIf } from '../../token/checks.ts';
import { isDevelopment } from '../../token/development.ts';
import { type TokenSet, toWire } from '../../token/token-set.ts';
import { createDatedStore } from './dated-store.ts';
import { tryTo } from './places.ts';
import {
  BEFORE_ALL_ACTS,
  type Claim,
  choose,
  claimOf,
  claimOfRecord,
  claimsToFollow,
  isDated,
  isMark,
  wireOf,
} from './precedence.ts';
import { type DropIn, identityOf, isStarted, knownNow, readClaims, type Started, type State } from './state.ts';
import { eventsBetween, isAvailable, statusBetween } from './status.ts';
import type { InitOptions } from './types.ts';

/** The services in production. */
const BASE_URLS = { uid2: 'https://prod.uidapi.com', euid: 'https://prod.euid.eu' };

/** How long `InitCompleted` waits for the record if another place holds an answer, ms. */
const RECORD_WAIT_MS = 250;

/** Tell whether the record is known and nothing is being written: the places may follow it. */
function isSettled(state: State): state is Started {
  return state.name === 'ready' && state.session.state.next?.reason !== 'storage';
}

/**
 * Keep a claim in its places, or nothing.
 *
 * @param ownsCookie  default: in cookie mode, and after an opt-out. Otherwise the cookie is a server's, neither read nor erased.
 */
function keep(
  { places, options }: DropIn,
  claim: Claim | undefined,
  ownsCookie = options.useCookie || claim?.answer === 'optout',
): void {
  const { useCookie, cookieDomain } = options;
  const value = claim && wireOf(claim);
  // A cookie with a domain is shared with other hosts, so a logout is marked there too.
  const isShared = useCookie && (claim?.answer !== 'logout' || cookieDomain);
  const isLocal = !useCookie || (claim && isMark(claim));
  places.write({ cookie: isShared ? value : undefined, local: isLocal ? value : undefined }, options, ownsCookie);
}

/** Store the page's action in the places before it is recorded: the page may be closed before the database responds. */
function keepAct(dropIn: DropIn, { records }: Started, answer: Claim['answer'], ownsCookie?: boolean): void {
  const actAt = records.expectAct((answer as Partial<TokenSet>).refreshToken);
  keep(dropIn, { answer, actAt }, ownsCookie);
}

/** Apply to the session what its record does not contain yet. Apply everything at once, so that no logout comes in between. */
function follow(dropIn: DropIn, { session, records }: Started, claims: readonly Claim[]): boolean {
  const { considered } = dropIn;
  const toFollow = claimsToFollow(choose(claims), records.view(), considered);
  for (const claim of toFollow) {
    const { answer, actAt } = claim;
    const { refreshToken } = answer as Partial<TokenSet>;
    considered.add(refreshToken);
    if (isDated(claim)) records.expectAct(refreshToken, actAt);
    void (answer === 'logout' ? session.clear() : session.setTokens(wireOf(claim) as TokenAnswer));
  }
  return toFollow.length > 0;
}

/**
 * Adopt what a server, another host or another tab has put into the places, if it is newer than the record.
 *
 * @returns whether it is newer.
 */
export function followPlaces(dropIn: DropIn): boolean {
  const { state } = dropIn;
  return isSettled(state) && follow(dropIn, state, readClaims(dropIn));
}

/** Emit what has changed since the last time. */
function announce(dropIn: DropIn, state: Started): void {
  const { reported: before, callbacks } = dropIn;
  const { isInvalid, session } = state;
  const now = knownNow(dropIn);
  // The token has expired while a refresh is in progress, of any tab: its result follows.
  const isRefreshing = ['in_progress', 'other_tab'].includes(`${session.state.next?.reason}`);
  if (before && !isInvalid && now.condition === 'expired' && isRefreshing) return;
  const events = eventsBetween(before, now);
  dropIn.reported = now;
  state.isInvalid = false;
  const identity = identityOf(dropIn);
  // The legacy callbacks come first, as in the UID2 SDK.
  if (isInvalid || events.length > 0)
    callbacks.emitLegacy(isInvalid ? 'invalid' : statusBetween(before, now), now.token);
  for (const event of events) callbacks.emit(event, identity);
}

/** The session or the options may have changed: update the places and emit events. */
export function update(dropIn: DropIn): void {
  const { state } = dropIn;
  if (!isSettled(state) || followPlaces(dropIn)) return;
  const claim = claimOfRecord(state.records.view(), isAvailable(knownNow(dropIn)));
  state.claims = claim ? [claim] : [];
  keep(dropIn, claim);
  announce(dropIn, state);
}

/**
 * Start, or start again with other options or another identity. If an option is invalid, nothing changes.
 *
 * @param page  what the page supplies: the body of a generate response, or undefined.
 * @throws {TypeError} for an invalid option.
 */
export function start(dropIn: DropIn, options: InitOptions, page?: unknown): void {
  const { product, considered } = dropIn;
  const address = options.baseUrl ?? BASE_URLS[product];
  if (isDevelopment) throwIf(addressFault(address));
  const baseUrl = parseBaseUrl(address);
  const name = `tessera-${product}`;
  const before = dropIn.state;
  if (isStarted(before)) before.session.close();
  dropIn.options = options;

  const fromPage = claimOf({ from: 'page', value: page });
  const claims = [...(fromPage ? [fromPage] : []), ...readClaims(dropIn), ...(isStarted(before) ? before.claims : [])];
  const { newest, supplied } = choose(claims);
  const records = createDatedStore(name, baseUrl);
  // Only what the page was rendered with may be old: what a server has set follows once the record is read. After an opt-out, a set
  // waits until the opt-out is recorded.
  const offer = fromPage && newest?.answer !== 'optout' ? supplied : undefined;
  if (offer) {
    considered.add(offer.refreshToken);
    // The login follows a logout, even if the clock was set back.
    if (newest?.answer === 'logout') records.expectAct(offer.refreshToken, newest.actAt + 1);
    // If nothing else is known, store it now: the page may be closed before the database responds.
    if (!newest) keep(dropIn, { answer: offer, actAt: BEFORE_ALL_ACTS });
  }
  const session = createSession({
    baseUrl,
    name,
    store: records,
    // The session ignores a set that it has had before, or that a logout has ended, because the page may come from a cache.
    tokens: offer && toWire(offer),
    retry: { firstMs: options.refreshRetryPeriod },
  });
  const state: Started = { name: 'reading', session, records, claims, isInvalid: !!page && !fromPage };
  dropIn.state = state;
  const isCurrent = () => dropIn.state === state;
  // A database that hangs must not delay a copy or a tombstone.
  if (claims.length > 0)
    setTimeout(() => isCurrent() && state.name === 'reading' && announce(dropIn, state), RECORD_WAIT_MS);
  session.subscribe(() => update(dropIn));
  void session.ready.then(() => {
    if (!isCurrent()) return;
    state.name = 'ready';
    follow(dropIn, state, state.claims);
    dropIn.endFirstRead();
    update(dropIn);
  });
}

/**
 * Supply another identity, as an action of the page.
 *
 * @throws {Error} before `init`.
 */
export function setIdentity(dropIn: DropIn, identity: unknown): void {
  const { state, considered, callbacks } = dropIn;
  if (!isStarted(state)) throw new Error('setIdentity: call init first');
  // The page supplies it now, so the time of an earlier login does not matter.
  const claim = claimOf({ from: 'page', value: { ...(identity as object), tessera: undefined } });
  if (!claim) {
    callbacks.emitLegacy('invalid');
    return;
  }
  considered.delete((claim.answer as TokenSet).refreshToken);
  // After an opt-out, a set waits until the service accepts it.
  if (isMark(claim) || knownNow(dropIn).condition !== 'optedOut') keepAct(dropIn, state, claim.answer);
  // A logout comes before it.
  state.claims = [claim, ...state.claims.filter(({ answer }) => answer === 'optout')];
  if (state.name === 'ready') follow(dropIn, state, [claim]);
}

/** Log out. An opt-out stays. */
export function disconnect(dropIn: DropIn): void {
  // The options from before `abort` contain the cookie's attributes. Damaged options of an earlier page are ignored.
  if (!isStarted(dropIn.state)) tryTo(() => start(dropIn, dropIn.options));
  if (!isStarted(dropIn.state)) start(dropIn, ownMembers({}));
  const state = dropIn.state as Started;
  keepAct(dropIn, state, knownNow(dropIn).condition === 'optedOut' ? 'optout' : 'logout', true);
  state.claims = state.claims.filter(isMark);
  void state.session.clear();
}

/** Stop, and emit nothing more. */
export function abort(dropIn: DropIn): void {
  if (isStarted(dropIn.state)) dropIn.state.session.close();
  dropIn.state = { name: 'closed' };
  dropIn.reported = undefined;
  dropIn.endFirstRead();
}
