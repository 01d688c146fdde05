/** The consent gate: calls it, and applies its answers. */

import { TokenError } from '../token/errors.ts';
import { commit, commitErasure, releaseCalls, reportFailure } from './commit.ts';
import { type Core, reportError } from './core.ts';
import { explain } from './explain/entry.ts';
import { reconcile, retrySoon } from './reconcile.ts';
import { erased, othersEnded } from './rules/host-changes.ts';
import { NOTHING_EMITTED } from './rules/page-state.ts';

/** Call the gate and apply every answer: only `true` is consent. */
export function askConsent(core: Core): void {
  const { consent } = core.settings;
  if (!consent) return void setConsent(core, true);
  let hasChanged = false;
  // An answer that is not a boolean is reported: otherwise there would be no token and no explanation.
  const apply = async (answer: unknown, isDecided: boolean, fault: string | undefined) => {
    // Awaited, because a withdrawal erases the last failure, and because a gate may call `onChange` before the page has its session.
    await (isDecided && setConsent(core, answer === true));
    if (typeof answer === 'boolean') return;
    reportError(core, new TokenError('no_consent', fault));
    reconcile(core);
  };
  const onChange = (answer: unknown) => {
    hasChanged = true;
    void apply(answer, true, explain?.gateChangeFault(answer));
  };
  // An async function, because the gate may throw. An answer that was requested before the last change is ignored.
  (async (): Promise<unknown> => consent(onChange))().then<unknown, unknown>(
    // A gate that returns undefined leaves the decision to `onChange`.
    (answer) => hasChanged || apply(answer, answer !== undefined, explain?.gateAnswerFault(answer)),
    (thrown) => hasChanged || apply(undefined, true, explain?.gateFailureFault(thrown)),
  );
}

/** A withdrawal resolves when the record is erased. */
async function setConsent(core: Core, isGranted: boolean): Promise<void> {
  const { consent: before, user, settings } = core;
  if (core.isClosed) return;
  core.consent = isGranted;
  if (before && !isGranted) {
    core.emitted = NOTHING_EMITTED;
    return commitErasure(core, erased).catch(() => {});
  }
  if (isGranted && !before) {
    // Other tabs may have changed the record meanwhile.
    core.shown.loseTrack();
    void retrySoon(core, false);
    releaseCalls(core);
    // After the calls: one of them may supply the stored set again, with its label. A set without a label would be ended.
    if (user !== undefined || settings.user === null) reportFailure(core, commit(core, othersEnded(user, core.now())));
  }
  reconcile(core);
}
