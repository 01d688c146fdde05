/** The consent gate of a session: asks it, and follows its answers. */

import { endOtherUser } from './host-calls.ts';
import { erased } from './rules/record.ts';
import { commit, ERASURE, readAgain, reconcile, releaseCalls, type Shell, setPage } from './shell.ts';

/** Ask for consent. Resolves when the answer is there, or is known to come later. */
export async function askConsent(shell: Shell): Promise<void> {
  const { consent } = shell.settings;
  let hasChanged = false;
  const onChange = (answer: unknown) => {
    hasChanged = true;
    setConsent(shell, answer === true);
  };
  // An answer that was asked for before a change is void.
  const onFirstAnswer = (answer: unknown) => {
    if (!hasChanged) setConsent(shell, answer === true);
  };
  const answer = consent ? consent(onChange) : true;
  if (typeof answer === 'boolean') onFirstAnswer(answer);
  else answer.then(onFirstAnswer, shell.events.log);
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
    records.forget();
    void readAgain(shell, false);
    endOtherUser(shell);
    releaseCalls(shell);
  }
  reconcile(shell);
}
