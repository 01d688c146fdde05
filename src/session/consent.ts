/**
 * The consent gate: calls it, applies its answers, and holds back the calls of the host that need consent.
 *
 * Erasing needs none: a logout and an opt-out are recorded at once, whatever the gate says. Everything else waits for consent, and
 * rejects if it is refused, or withdrawn meanwhile.
 */

import { TokenError } from '../token/errors.ts';
import { explain } from './explain/entry.ts';
import { type Core, disconnect, noToken, readAgain, reconcile, reportError, setPage } from './reconcile.ts';
import { type Change, erased, renderedFor } from './rules/record.ts';
import type { ChangeOptions } from './shown-record.ts';

/** The host supplies a set, or names its user. */
export const HOST_CALL: ChangeOptions = { cause: 'set', isHost: true };
/** A change that only erases: a logout, an opt-out, a withdrawal of consent. */
export const ERASURE: ChangeOptions = { ...HOST_CALL, isErasure: true };

/**
 * Change the record for the host; settles after the write.
 *
 * @throws {TokenError} `no_consent`; `storage_failed` if neither a write nor an erasure could be confirmed, so that the next
 *   page may still find the previous user.
 */
export async function commit(core: Core, change: Change, options: ChangeOptions): Promise<void> {
  const { records } = core;
  const needsConsent = !options.isErasure;
  if (needsConsent && core.consent === undefined)
    return new Promise((resolve, reject) => {
      core.held.push((error) => (error ? reject(error) : resolve(commit(core, change, options))));
    });
  // Without consent, a call that gets here erases, or is refused below. It replaces the older calls that wait for consent.
  if (!core.consent) {
    core.rendered = undefined;
    releaseCalls(core, new TokenError('no_consent', explain?.laterCall));
  }
  if (needsConsent && !core.consent) throw noToken(core);
  const writing = records.change(change, options);
  reconcile(core);
  const { before, after } = await writing;
  // Listeners do not wait for a store that has failed.
  reconcile(core);
  const isConfirmed = await records.isConfirmed();
  if (after !== before) core.tabs.notify();
  // The page may call this while it is being left, for example in a listener for `pagehide`.
  if (core.isAway) void disconnect(core);
  if (needsConsent && !core.consent) throw noToken(core);
  if (!isConfirmed) throw new TokenError('storage_failed', explain?.unconfirmed);
}

/** Run the calls that wait for consent, or reject them with `error`. */
export function releaseCalls({ held }: Core, error?: TokenError): void {
  for (const release of held.splice(0)) release(error);
}

/** Report an error, except missing consent, which is not a failure. */
export function reportUnlessConsent(core: Core, error: TokenError): void {
  if (error.code !== 'no_consent') reportError(core, error);
}

/**
 * Call the gate and apply every answer: only `true` is consent. An answer that is not a boolean is reported, because otherwise there
 * would be no token and no explanation.
 */
export function askConsent(core: Core): void {
  const { consent } = core.settings;
  if (!consent) return void setConsent(core, true);
  let hasChanged = false;
  const apply = (answer: unknown, isDecided: boolean, fault: string | undefined, ...thrown: unknown[]) => {
    const applied = isDecided ? setConsent(core, answer === true) : undefined;
    if (typeof answer !== 'boolean') void reportGate(core, applied, fault, thrown);
  };
  const onChange = (answer: unknown) => {
    hasChanged = true;
    apply(answer, true, explain?.gateChanged(answer));
  };
  // An async function, because the gate may throw. An answer that was requested before the last change is ignored.
  (async (): Promise<unknown> => consent(onChange))().then(
    // A gate that returns undefined leaves the decision to `onChange`.
    (answer) => hasChanged || apply(answer, answer !== undefined, explain?.gateAnswered(answer)),
    (thrown) => hasChanged || apply(undefined, true, explain?.gateFailed(thrown), thrown),
  );
}

/** Report that the gate failed, or did not answer with a boolean. `thrown`: what it threw, for the console. */
async function reportGate(
  core: Core,
  applied: Promise<void> | undefined,
  fault: string | undefined,
  thrown: unknown[],
): Promise<void> {
  // A withdrawal erases the last failure. A gate may call `onChange` before it returns: the page then has no session yet.
  await applied;
  if (!core.isClosed) explain?.warn(`${fault}`, 'no_consent', ...thrown);
  reportError(core, new TokenError('no_consent', fault));
  reconcile(core);
}

/** Consent is given, refused or withdrawn. A withdrawal resolves when the record is erased. */
function setConsent(core: Core, isGranted: boolean): Promise<void> | undefined {
  const before = core.consent;
  if (core.isClosed) return undefined;
  if (before && !isGranted) setPage(core, { emitted: {} });
  const erasing = before && !isGranted ? commit(core, erased, ERASURE).catch(() => {}) : undefined;
  setPage(core, { consent: isGranted });
  if (isGranted && !before) {
    // Other tabs may have changed the record meanwhile.
    core.records.loseTrack();
    void readAgain(core);
    enter(core);
    releaseCalls(core);
  }
  reconcile(core);
  return erasing;
}

/** Consent is given: offer the set that was rendered into the page, and end the record of any other user than the page's. */
function enter(core: Core): void {
  const { user, rendered } = core;
  core.rendered = undefined;
  // A page without a label can use every record, unless it was rendered for nobody.
  const endsOthers = user !== undefined || core.settings.user === null;
  if (!rendered && !endsOthers) return;
  const change = renderedFor(user, core.now(), rendered, endsOthers);
  commit(core, change, HOST_CALL).catch((error: TokenError) => reportUnlessConsent(core, error));
}
