/**
 * The changes of the host: each shows at once and is written, if consent permits it. Erasing needs no consent: a logout and an
 * opt-out are recorded whatever the gate says. Everything else waits for consent, and rejects if it is refused or withdrawn.
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
export async function commit(core: Core, change: Change, isErasure = false): Promise<void> {
  const { records, consent } = core;
  if (!isErasure && consent === undefined)
    return new Promise((resolve, reject) => {
      core.waitingCalls.push((error) => (error ? reject(error) : resolve(commit(core, change))));
    });
  // This call is an erasure, or is refused: either way it replaces the older calls that wait for consent.
  if (!consent) releaseCalls(core, new TokenError('no_consent', explain?.laterCall));
  if (!isErasure && !consent) throw noToken(core);
  const writing = records.update(change, 'set', isErasure);
  const confirming = withTimeout(CONFIRM_MS, () => writing.then(records.isConfirmed), 'the store').catch(() => false);
  reconcile(core);
  const { before, after } = await writing;
  // Listeners do not wait for a store that is late or has failed.
  reconcile(core);
  const isConfirmed = await confirming;
  if (after !== before) core.tabs.notify();
  // The page may call this while it is being left, for example in a listener for `pagehide`.
  if (core.isAway) void disconnect(core);
  if (!isErasure && !core.consent) throw noToken(core);
  if (!isConfirmed) throw new TokenError('storage_failed', explain?.unconfirmed);
}

export function commitErasure(core: Core, change: Change): Promise<void> {
  return commit(core, change, true);
}

/** Report why a change that the page did not wait for has failed. Missing consent is not a failure. */
export function reportUnlessConsent(core: Core, error: TokenError): void {
  if (error.code !== 'no_consent') reportError(core, error);
}

/** Run the calls that wait for consent, or reject them with `error`. */
export function releaseCalls({ waitingCalls }: Core, error?: TokenError): void {
  for (const release of waitingCalls.splice(0)) release(error);
}
