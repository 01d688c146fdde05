/**
 * The transitions of one drop-in: what `init`, `setIdentity`, `disconnect`, `abort` and news of the session do.
 *
 * It connects the session with the places and the callbacks. `precedence.ts` decides which identity counts, `status.ts` which
 * events follow.
 */

import { createSession } from '../../session/index.ts';
import { parseBaseUrl } from '../../token/checks.ts';
import { tryTo } from './places.ts';
import {
  type Act,
  decide,
  type Evidence,
  hasNews,
  isForeignSet,
  keptFor,
  markOf,
  suppliedBy,
  withoutIdentities,
} from './precedence.ts';
import { createRecordStore } from './record.ts';
import { type DropIn, identityOf, isIdle, knownNow, type Reading } from './state.ts';
import { eventsBetween, isAvailable, isSameKnown, knownFromSession, LEGACY_STATUS, statusBetween } from './status.ts';
import type { Identity } from './types.ts';

/** How long `InitCompleted` waits for the record if another place has an answer, ms. */
const PATIENCE_MS = 250;

/**
 * Start, or start again with other options or another identity. Nothing changes if an option is wrong.
 *
 * @param page  what the page supplies: the body of a generate answer, or undefined.
 * @throws {TypeError} for a wrong option.
 */
export function start(dropIn: DropIn, page?: unknown): void {
  const supplied = suppliedBy(page);
  const found = [...(supplied ? [supplied] : []), ...dropIn.places.read()];
  startFrom(dropIn, found, Boolean(page) && !supplied);
}

const startFrom = (dropIn: DropIn, found: Evidence['found'], isInvalid: boolean, isHeldBack = false): void => {
  const { options, product, places } = dropIn;
  const current = isIdle(dropIn.state) ? undefined : identityOf(dropIn);
  const evidence = { found, isCookieMode: options.useCookie === true, current };
  const { candidate, mark, offer } = decide(evidence);
  const baseUrl = options.baseUrl ?? places.defaultBaseUrl;
  const name = `tessera-${product}`;
  const records = createRecordStore(name, tryTo(() => parseBaseUrl(baseUrl)) ?? baseUrl);
  const session = createSession({
    baseUrl,
    name,
    store: records,
    tokens: offer,
    retry: { firstMs: options.refreshRetryPeriod },
  });
  if (!isIdle(dropIn.state)) dropIn.state.session.close();
  const state: Reading = {
    name: 'reading',
    session,
    records,
    evidence,
    candidate: isHeldBack ? undefined : candidate,
    mark,
    isInvalid,
  };
  dropIn.state = state;
  for (const { value } of found) dropIn.considered.add(value['refresh_token']);
  // A database that hangs holds up neither a copy nor a mark.
  const timer = setTimeout(() => dropIn.state === state && (candidate || mark) && announce(dropIn), PATIENCE_MS);
  void session.ready.then(() => {
    clearTimeout(timer);
    return finish(dropIn, state);
  });
  session.on('token', () => update(dropIn));
  session.on('expired', () => update(dropIn));
  // Expiry, opt-out and logout, here or in another tab. A token is announced by its event, which follows the write.
  session.subscribe(() => session.advertisingToken ?? update(dropIn));
};

/** Ask the session to do what was decided; all at once, so that no logout comes between. */
const perform = ({ session, records }: Reading, acts: readonly Act[]): Promise<unknown> =>
  Promise.allSettled(
    acts.map((act) => {
      if (act.type === 'offer') return undefined;
      if (act.actAt) records.expectAct(act.type === 'supply' ? act.identity['refresh_token'] : undefined, act.actAt);
      if (act.type === 'logOut') return session.clear();
      return session.setTokens(act.type === 'optOut' ? { status: 'optout' } : act.identity);
    }),
  );

/** The record is known: compare it with what was found, then be ready. */
const finish = async (dropIn: DropIn, state: Reading): Promise<void> => {
  if (dropIn.state !== state) return;
  const { session, records, evidence } = state;
  const { acts } = decide({ ...evidence, record: records.view() });
  await perform(state, acts);
  if (dropIn.state !== state) return;
  const offered = acts.find((act) => act.type === 'offer');
  if (offered) return startFrom(dropIn, [{ from: 'page', value: offered.identity }], state.isInvalid, true);
  dropIn.state = { name: 'ready', session, records };
  dropIn.start();
  if (state.isInvalid || !isSameKnown(dropIn.told, knownNow(dropIn))) announce(dropIn, state.isInvalid);
  else keep(dropIn);
};

/** Keep the places in step with the session; a set or logout that is not yet written follows when it is. */
export function keep({ state, places, options }: DropIn): void {
  if (state.name !== 'ready') return;
  const record = state.records.view();
  const { phase, endsAt } = state.session.state;
  const token = state.session.advertisingToken;
  const isWritten =
    phase === 'optedOut'
      ? record?.isOptedOut
      : phase === 'empty'
        ? !record?.set
        : token === undefined || token === record?.set?.advertisingToken;
  if (!isWritten) return;
  const isInForce = isAvailable(knownFromSession(phase, token, endsAt, Date.now()));
  const kept = keptFor(record, isInForce, Date.now(), Boolean(options.cookieDomain));
  // Without cookie mode, a server's cookie is neither read nor erased.
  places.write(kept, options.useCookie ? undefined : isForeignSet);
}

/** Emit what has changed since the last time. */
const announce = (dropIn: DropIn, isInvalid = false): void => {
  const { told: before, callbacks } = dropIn;
  const now = knownNow(dropIn);
  dropIn.told = now;
  keep(dropIn);
  const identity = identityOf(dropIn);
  for (const event of eventsBetween(before, now)) callbacks.emit(event, identity);
  callbacks.emitLegacy(isInvalid ? LEGACY_STATUS.invalid : statusBetween(before, now), now.token);
};

/** Something may have changed in the session. */
export function update(dropIn: DropIn): void {
  const { state } = dropIn;
  // A page that comes back from the back/forward cache has yet to read what happened meanwhile.
  if (state.name !== 'ready' || state.session.state.waitingFor === 'storage') return;
  if (!isSameKnown(dropIn.told, knownNow(dropIn)) && !look(dropIn)) announce(dropIn);
}

/**
 * Look whether a server or another host has changed the cookie, and start again from it if it is newer than the record.
 *
 * @returns whether it is.
 */
export function look(dropIn: DropIn): boolean {
  const { state, places, options, considered } = dropIn;
  if (state.name !== 'ready' || !places.hasChanged(state.records.isDatabaseLost())) return false;
  const found = places.read();
  const evidence = { found, isCookieMode: options.useCookie === true, record: state.records.view() };
  if (!hasNews(evidence, considered)) return false;
  startFrom(dropIn, found, false);
  return true;
}

const afterWrite = (dropIn: DropIn): void => {
  update(dropIn);
  keep(dropIn);
};

/** Supply another identity, as the page's own act. */
export function setIdentity(dropIn: DropIn, identity: unknown): void {
  const { state } = dropIn;
  if (isIdle(state)) throw new Error('setIdentity: call init first');
  if (state.name === 'reading' && state.mark) {
    // Held back until the mark has been compared with the record.
    const supplied = suppliedBy(identity);
    if (supplied) state.evidence = { ...state.evidence, found: [supplied, ...withoutIdentities(state.evidence.found)] };
    return;
  }
  dropIn.considered.add((Object(identity) as Identity)['refresh_token']);
  state.session.setTokens(identity).then(
    () => afterWrite(dropIn),
    () => dropIn.callbacks.emitLegacy(LEGACY_STATUS.invalid, undefined),
  );
}

/** Log out. The places are marked at once: the page may be gone before the database has answered. */
export function disconnect(dropIn: DropIn): void {
  if (isIdle(dropIn.state)) start(dropIn);
  const { state } = dropIn;
  if (isIdle(state)) return;
  const isOptedOut = knownNow(dropIn).condition === 'optedOut';
  if (state.name === 'reading') {
    state.candidate = undefined;
    state.evidence = { ...state.evidence, current: undefined, found: withoutIdentities(state.evidence.found) };
  }
  const now = Date.now();
  const actAt = Math.max(now, (state.records.view()?.actAt ?? 0) + 1);
  dropIn.places.write(markOf(isOptedOut ? 'optout' : 'logout', actAt, now, Boolean(dropIn.options.cookieDomain)));
  const settle = () => afterWrite(dropIn);
  void state.session.clear().then(settle, settle);
}

/** Stop, and emit nothing more. */
export function abort(dropIn: DropIn): void {
  if (!isIdle(dropIn.state)) dropIn.state.session.close();
  dropIn.state = { name: 'closed' };
  dropIn.told = undefined;
  dropIn.start();
}
