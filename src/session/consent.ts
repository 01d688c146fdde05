/**
 * The consent gate: calls it, applies its answers, and holds back the calls of the host that need consent.
 *
 * Erasing needs none: a logout and an opt-out are recorded at once, whatever the gate says. Everything else waits for consent, and
 * rejects if it is refused, or withdrawn meanwhile.
 */

import { TokenError } from '../token/errors.ts';
import { explain } from './explain/entry.ts';
import { type Core, disconnect, noToken, readAgain, reconcile, reportError, setPage } from './reconcile.ts';
import { type Change, erased, othersEnded } from './rules/record.ts';

/**
 * Change the record for the host; settles after the write.
 *
 * @param isErasure  see {@link commitErasure}.
 * @throws {TokenError} `no_consent`; `storage_failed` if neither a write nor an erasure could be confirmed, so that the next
 *   page may still find the previous user.
 */
export async function commit(core: Core, change: Change, isErasure = false): Promise<void> {
  const { records } = core;
  const { consent } = core;
  if (!isErasure && consent === undefined)
    return new Promise((resolve, reject) => {
      core.waitingCalls.push((error) => (error ? reject(error) : resolve(commit(core, change))));
    });
  // This call is an erasure, or is refused: either way it replaces the older calls that wait for consent.
  if (!consent) releaseCalls(core, new TokenError('no_consent', explain?.laterCall));
  if (!isErasure && !consent) throw noToken(core);
  const writing = records.change(change, 'set', isErasure);
  reconcile(core);
  const { before, after } = await writing;
  // Listeners do not wait for a store that has failed.
  reconcile(core);
  const isConfirmed = await records.isConfirmed();
  if (after !== before) core.tabs.notify();
  // The page may call this while it is being left, for example in a listener for `pagehide`.
  if (core.isAway) void disconnect(core);
  if (!isErasure && !core.consent) throw noToken(core);
  if (!isConfirmed) throw new TokenError('storage_failed', explain?.unconfirmed);
}

/** Change the record by an erasure, which needs no consent: a logout, an opt-out, a withdrawal of consent. */
export function commitErasure(core: Core, change: Change): Promise<void> {
  return commit(core, change, true);
}

/** The document now shows a page that was rendered for `user`: as when a page is loaded. */
export function enterPage(core: Core, user: string | undefined): Promise<void> {
  setPage(core, { user, provideResult: undefined });
  return commit(core, othersEnded(user, core.now()));
}

/** Report why a change that the page did not wait for has failed. Missing consent is not a failure. */
export function reportUnlessConsent(core: Core, error: TokenError): void {
  if (error.code !== 'no_consent') reportError(core, error);
}

/** Run the calls that wait for consent, or reject them with `error`. */
export function releaseCalls({ waitingCalls }: Core, error?: TokenError): void {
  for (const release of waitingCalls.splice(0)) release(error);
}

/** Call the gate and apply every answer: only `true` is consent. */
export function askConsent(core: Core): void {
  const { consent } = core.settings;
  if (!consent) return void setConsent(core, true);
  let hasChanged = false;
  // An answer that is not a boolean is reported: otherwise there would be no token and no explanation.
  const apply = async (answer: unknown, isDecided: boolean, fault: string | undefined) => {
    // A withdrawal erases the last failure. A gate may call `onChange` before it returns: the page then has no session yet.
    await (isDecided && setConsent(core, answer === true));
    if (typeof answer === 'boolean') return;
    reportError(core, new TokenError('no_consent', fault));
    reconcile(core);
  };
  const onChange = (answer: unknown) => {
    hasChanged = true;
    void apply(answer, true, explain?.gateChanged(answer));
  };
  // An async function, because the gate may throw. An answer that was requested before the last change is ignored.
  (async (): Promise<unknown> => consent(onChange))().then(
    // A gate that returns undefined leaves the decision to `onChange`.
    (answer) => (hasChanged ? undefined : apply(answer, answer !== undefined, explain?.gateAnswered(answer))),
    (thrown) => (hasChanged ? undefined : apply(undefined, true, explain?.gateFailed(thrown))),
  );
}

/** Consent is given, refused or withdrawn. A withdrawal resolves when the record is erased. */
function setConsent(core: Core, isGranted: boolean): Promise<void> | undefined {
  const before = core.consent;
  if (core.isClosed) return undefined;
  if (before && !isGranted) setPage(core, { emitted: {} });
  const erasing = before && !isGranted ? commitErasure(core, erased).catch(() => {}) : undefined;
  setPage(core, { consent: isGranted });
  if (isGranted && !before) {
    // Other tabs may have changed the record meanwhile.
    core.records.loseTrack();
    void readAgain(core);
    releaseCalls(core);
    // After them, because a set that the page was rendered with may be the one that is stored, and has no label yet.
    const { user, settings } = core;
    if (user !== undefined || settings.user === null)
      commit(core, othersEnded(user, core.now())).catch((error) => reportUnlessConsent(core, error));
  }
  reconcile(core);
  return erasing;
}
