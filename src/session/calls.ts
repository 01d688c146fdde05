/** What the public methods do that take more than one step. */

import { TokenError } from '../token/errors.ts';
import { parsePlainAnswer } from '../token/token-set.ts';
import { commit, commitErasure } from './commit.ts';
import { type Core, decideNow, noToken, reportError } from './core.ts';
import { explain } from './explain/entry.ts';
import { catchUp, readAgain, reconcile } from './reconcile.ts';
import { attemptError, isActive } from './rules/decide.ts';
import { optedOut, renderedWith, setByHost, signedIn } from './rules/host-changes.ts';
import { isSameSet } from './rules/record.ts';
import { withTimeout } from './timeout.ts';

/** For `user` or, by default, the user of the page. `isRendered`: it was rendered into the page. */
export async function supply(core: Core, input: unknown, user = core.user, isRendered = false): Promise<void> {
  try {
    const answer = (explain?.parserOf(isRendered ? 'tokens' : 'setTokens') ?? parsePlainAnswer)(input);
    const now = core.now();
    if (answer === 'optout') return commitErasure(core, optedOut(now));
    core.user = user;
    return commit(core, (isRendered ? renderedWith : setByHost)(answer, now, user, core.settings.refresh === 'off'));
  } catch (error) {
    // The page may not wait for this promise.
    reportError(core, error as TokenError, false);
    throw error;
  }
}

/** Settles once `check`, which is called after every reconciliation, returns a value or throws. */
function whenFound<T>(core: Core, check: () => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const off = core.events.on('reconciled', () => {
      try {
        const value = check();
        if (value === undefined) return;
        resolve(value);
      } catch (error) {
        reject(error);
      }
      off();
    });
  });
}

/** Calls wait together, and one that has a token at hand decides nothing: each would make all others decide again. */
export async function getToken(core: Core, timeoutMs: number): Promise<string> {
  const check = () => {
    const { token, isTokenExpected } = decideNow(core);
    if (!token && isTokenExpected) return undefined;
    core.tokenWait = undefined;
    if (!token) throw noToken(core);
    return token;
  };
  // The first caller may start an attempt on a hidden page, or the timer.
  const isFirst = !core.callers++ || !core.tokenWait;
  try {
    const { token, due } = catchUp(core);
    const wait = token ?? (core.tokenWait ??= whenFound(core, check));
    if (token ? due : isFirst) reconcile(core);
    const found = withTimeout(timeoutMs, () => wait, 'getToken');
    if (!explain) return await found;
    return await found.catch((error: TokenError) => {
      throw explain?.timedOut(error, core, noToken(core));
    });
  } finally {
    core.callers--;
  }
}

/** `isExplicit`: false if the pause after many calls of `provide` counts. */
export async function refreshNow(core: Core, isExplicit = true): Promise<void> {
  const { records, lastError, settings } = core;
  await records.idle();
  const { record: before } = records.view;
  core.provideResult = undefined;
  /** Another tab has made an attempt meanwhile. */
  let isHeld = false;
  const over = whenFound(core, () => {
    const { otherTabUntil } = decideNow(core);
    isHeld ||= otherTabUntil > 0;
    return (!core.attempt && !otherTabUntil) || !isActive(core) || undefined;
  });
  reconcile(core, isExplicit);
  const { attempt } = core;
  if (!attempt) throw noToken(core);
  await withTimeout(settings.timeoutMs, () => over, 'refresh').catch((error) => {
    if (!isHeld) throw error;
  });
  // The message of that tab may have been lost.
  if (isHeld) await readAgain(core);
  const { record } = records.view;
  const error = core.lastError === lastError ? undefined : core.lastError;
  if (error || record.ended || !decideNow(core).token) throw error ?? noToken(core);
  if (attempt.plan.kind === 'refresh' && isSameSet(record, before))
    throw attemptError(core) ?? new TokenError(isHeld ? 'timeout' : 'network', explain?.notRefreshed(isHeld));
}

export async function signIn(core: Core, user: string | undefined): Promise<void> {
  core.user = user;
  // Without consent, only the erasure is stored; the user's label follows when consent is given.
  const erasing = commitErasure(core, signedIn(core.consent ? user : undefined, core.now()));
  // If it is not confirmed, this page goes on all the same with the user who has signed in.
  await erasing.catch(() => {});
  // A set may have arrived meanwhile, from the page or from `provide`: a label tells every tab that a set is awaited.
  await core.records.idle();
  core.callers++;
  try {
    // `provide` may have called this method.
    if (!decideNow(core).token) await refreshNow(core, false);
  } finally {
    core.callers--;
    // That the former user may come back matters more than why there is no new token.
    await erasing;
  }
}
