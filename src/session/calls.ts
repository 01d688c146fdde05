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
export async function supply(core: Core, input: unknown, user = core.user, isRendered?: boolean): Promise<void> {
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

/** Calls share one wait. A call that finds a token usually does not reconcile, which would make all waiting calls decide again. */
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
    const { token, start } = catchUp(core);
    const wait = token ?? (core.tokenWait ??= whenFound(core, check));
    if (token ? start : isFirst) reconcile(core);
    const found = withTimeout(timeoutMs, () => wait, 'getToken');
    if (!explain) return await found;
    return await found.catch((error: TokenError) => {
      throw explain?.timeoutWithReason(error, core, noToken(core));
    });
  } finally {
    core.callers--;
  }
}

/** `isExplicit`: false for a call that pauses delay: that of `signIn`. */
export async function refreshNow(core: Core, isExplicit = true): Promise<void> {
  const { shown, lastError, settings } = core;
  await shown.idle();
  const { record: before } = shown.view;
  core.provideResult = undefined;
  // Another tab may be making an attempt.
  const isUnderWay = () => (core.attempt || decideNow(core).otherTabUntil) && isActive(core);
  const over = whenFound(core, () => (isUnderWay() ? undefined : null));
  reconcile(core, isExplicit);
  const { attempt } = core;
  if (!attempt) throw noToken(core);
  const late = await withTimeout(settings.timeoutMs, () => over, 'refresh').catch((error: TokenError) => error);
  // The message of that tab may have been lost.
  await readAgain(core);
  const { record } = shown.view;
  const isSame = isSameSet(record, before);
  const error = core.lastError === lastError ? isSame && late : core.lastError;
  if (error) throw error;
  if (record.ended || !decideNow(core).token) throw noToken(core);
  if (isSame && attempt.plan.kind === 'refresh')
    throw attemptError(core) ?? new TokenError('network', explain?.notRefreshedReason);
}

export async function signIn(core: Core, user: string | undefined): Promise<void> {
  core.user = user;
  // Without consent, only the erasure is stored; the user's label follows when consent is given.
  const erasing = commitErasure(core, signedIn(core.consent ? user : undefined, core.now()));
  // Awaited below: this page goes on with the user who has signed in, even if the erasure is confirmed late or never.
  erasing.catch(() => {});
  // A set may have arrived meanwhile, from the page or from `provide`: a label tells every tab that a set is awaited.
  await core.shown.idle();
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
