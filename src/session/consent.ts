/** The consent gate of a session: calls it, applies its answers, and reports a gate that fails. */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import { answerFault, changeFault, failureFault } from './consent-fault.ts';
import { endOtherUser } from './host-calls.ts';
import { reportError, setPage } from './page-owner.ts';
import { storeOutdated } from './rules/page-state.ts';
import { erased } from './rules/record.ts';
import { commit, ERASURE, readAgain, reconcile, releaseCalls, type Shell } from './shell.ts';
import { warn } from './warnings.ts';

/** Message of the production build. */
const FAILED = 'no_consent: failed';

/**
 * Call the gate and apply every answer: only `true` is consent. An answer that is not a boolean is reported, because otherwise there
 * would be no token and no explanation.
 */
export function askConsent(shell: Shell): void {
  const { consent = () => true } = shell.settings;
  let hasChanged = false;
  const onChange = (answer: unknown) => {
    hasChanged = true;
    setConsent(shell, answer === true);
    if (typeof answer !== 'boolean') void reportGate(shell, isDevelopment ? changeFault(answer) : FAILED);
  };
  const onFirstAnswer = (answer: unknown) => {
    // Ignore an answer that was requested before the last change.
    if (hasChanged) return;
    // A gate that returns undefined leaves the decision to `onChange`.
    if (answer !== undefined) setConsent(shell, answer === true);
    if (typeof answer !== 'boolean') void reportGate(shell, isDevelopment ? answerFault(answer) : FAILED);
  };
  const onFailure = (thrown: unknown) => {
    if (hasChanged) return;
    setConsent(shell, false);
    void reportGate(shell, isDevelopment ? failureFault(thrown) : FAILED, thrown);
  };
  let answer: unknown;
  try {
    answer = consent(onChange);
  } catch (thrown) {
    answer = Promise.reject(thrown);
  }
  if (typeof answer === 'boolean') onFirstAnswer(answer);
  else Promise.resolve(answer).then(onFirstAnswer, onFailure);
}

/** Report that the gate failed, or did not answer with a boolean. `thrown`: what it threw, for the console. */
async function reportGate(shell: Shell, fault: string, ...thrown: unknown[]): Promise<void> {
  // A gate may call `onChange` before it returns. The page then has no session yet, and no listener.
  await undefined;
  if (isDevelopment && !shell.page.isClosed) warn(fault, 'no_consent', ...thrown);
  // Not before `setConsent`, because a withdrawal erases the last failure.
  reportError(shell, new TokenError('no_consent', fault));
  reconcile(shell);
}

/** Consent is given, refused or withdrawn. */
function setConsent(shell: Shell, isGranted: boolean): void {
  const { page } = shell;
  if (page.isClosed) return;
  if (page.consent === 'granted' && !isGranted) {
    setPage(shell, { emitted: {} });
    commit(shell, erased, ERASURE).catch(() => {});
  }
  setPage(shell, { consent: isGranted ? 'granted' : 'refused' });
  if (isGranted && page.consent !== 'granted') {
    // Other tabs may have changed the record meanwhile.
    shell.page = storeOutdated(shell.page);
    void readAgain(shell, false);
    endOtherUser(shell);
    releaseCalls(shell);
  }
  reconcile(shell);
}
