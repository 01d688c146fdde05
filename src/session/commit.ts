/**
 * The changes of the host: each shows at once, and is written as the consent gate permits.
 *
 * | consent | logout, opt-out, withdrawal | any other change |
 * |---|---|---|
 * | given | written | written |
 * | not answered yet | written; rejects the calls that wait | waits for consent |
 * | refused | written; rejects the calls that wait | rejected; rejects the calls that wait |
 * | withdrawn during the write | written | rejected |
 */

import { TokenError } from '../token/errors.ts';
import { type Core, noToken, reportError } from './core.ts';
import { explain } from './explain/entry.ts';
import { disconnect, reconcile } from './reconcile.ts';
import type { Change } from './rules/record.ts';
import { withTimeout } from './timeout.ts';

/** How long a call waits for a late store, ms. The change is carried out when it answers. */
const CONFIRM_MS = 10_000;

/**
 * Settles after the write.
 *
 * @throws {TokenError} `no_consent`; `storage_failed` if neither a write nor an erasure could be confirmed, so that the next page
 *   may still find the previous user.
 */
export function commit(core: Core, change: Change): Promise<void> {
  if (core.consent) return write(core, change);
  if (core.consent === undefined)
    return new Promise((resolve, reject) => {
      core.waiting.push((error) => (error ? reject(error) : resolve(commit(core, change))));
    });
  supersede(core);
  return Promise.reject(noToken(core));
}

/** As {@link commit}, for a logout, an opt-out or a withdrawal of consent. */
export function commitErasure(core: Core, change: Change): Promise<void> {
  if (!core.consent) supersede(core);
  return write(core, change, true);
}

async function write(core: Core, change: Change, isErasure?: boolean): Promise<void> {
  const { shown } = core;
  const writing = shown.update(change, 'set', isErasure);
  const confirming = withTimeout(CONFIRM_MS, () => writing.then(shown.isConfirmed), 'the store').catch(() => false);
  reconcile(core);
  const { before, after } = await writing;
  // Listeners do not wait for a store that is late or has failed.
  reconcile(core);
  const isConfirmed = await confirming;
  if (after !== before) core.tabs.notify();
  // The page may call this while it is being left, for example in a listener for `pagehide`.
  if (core.isAway) void disconnect(core);
  // Consent may have been withdrawn meanwhile.
  if (!isErasure && !core.consent) throw noToken(core);
  if (!isConfirmed) throw new TokenError('storage_failed', explain?.unconfirmedReason);
}

/** A later call takes the place of those that wait for consent. */
function supersede(core: Core): void {
  releaseCalls(core, new TokenError('no_consent', explain?.supersededReason));
}

/** Report why a change that no call of the page waits for has failed. Missing consent is not a failure. */
export function reportFailure(core: Core, change: Promise<void>): void {
  change.catch((error: TokenError) => {
    if (error.code !== 'no_consent') reportError(core, error);
  });
}

/** Run the calls that wait for consent, or reject them with `error`. */
export function releaseCalls({ waiting }: Core, error?: TokenError): void {
  for (const release of waiting.splice(0)) release(error);
}
