/** The consent gate of a session: asks it, follows its answers, and reports a gate that fails. */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import { gateFault } from './consent-fault.ts';
import { endOtherUser } from './host-calls.ts';
import { erased } from './rules/record.ts';
import { commit, ERASURE, readAgain, reconcile, releaseCalls, reportError, type Shell, setPage } from './shell.ts';
import { warn } from './warnings.ts';

/** Ask for consent, and follow every answer. */
export function askConsent(shell: Shell): void {
  const { consent } = shell.settings;
  let hasChanged = false;
  const onChange = (answer: unknown) => {
    hasChanged = true;
    follow(shell, answer);
  };
  // An answer that was asked for before a change is void.
  const onFirstAnswer = (answer: unknown, ...thrown: unknown[]) => {
    if (!hasChanged) follow(shell, answer, thrown);
  };
  let answer: unknown = true;
  try {
    if (consent) answer = consent(onChange);
  } catch (thrown) {
    answer = Promise.reject(thrown);
  }
  if (typeof answer === 'boolean') onFirstAnswer(answer);
  // One microtask later, when the page has its listeners.
  else Promise.resolve(answer).then(onFirstAnswer, (thrown) => onFirstAnswer(null, thrown));
}

/**
 * Follow an answer of the gate: whatever is not `true` is no consent. What is not a boolean is reported, because otherwise there
 * would be no token, and nothing to say why.
 *
 * @param thrown  of the first answer: empty, or what the gate threw instead of one. Absent for a later answer, by `onChange`.
 */
function follow(shell: Shell, answer: unknown, thrown?: readonly unknown[]): void {
  // A gate that returns undefined leaves the decision to `onChange`.
  if (!thrown || answer !== undefined) setConsent(shell, answer === true);
  if (typeof answer === 'boolean') return;
  // A gate may call `onChange` before it returns, when the page has no session yet, and no listener.
  void Promise.resolve().then(() => reportGate(shell, answer, thrown));
}

/** Report that the gate failed, or has not answered with a boolean. */
function reportGate(shell: Shell, answer: unknown, thrown: readonly unknown[] | undefined): void {
  const fault = isDevelopment ? gateFault(answer, thrown) : 'no_consent: failed';
  if (isDevelopment && !shell.page.isClosed) warn(fault, 'no_consent', ...(thrown ?? []));
  // Here, not before `setConsent`: a withdrawal erases the last failure.
  reportError(shell, new TokenError('no_consent', fault));
  reconcile(shell);
}

/** Consent is given, refused or withdrawn. */
function setConsent(shell: Shell, isGranted: boolean): void {
  const { page, records } = shell;
  if (page.isClosed) return;
  if (page.consent === 'granted' && !isGranted) {
    setPage(shell, { emitted: {} });
    commit(shell, erased, ERASURE).catch(() => {});
  }
  setPage(shell, { consent: isGranted ? 'granted' : 'refused' });
  if (isGranted && page.consent !== 'granted') {
    // Other tabs may have changed the record meanwhile.
    records.outdate();
    void readAgain(shell, false);
    endOtherUser(shell);
    releaseCalls(shell);
  }
  reconcile(shell);
}
