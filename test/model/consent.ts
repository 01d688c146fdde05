/**
 * Consent as the host of a tab has it: asked for or not, given at once, later or never, taken back and given again. It says
 * what the answer allows; what a session makes of it, the tab judges.
 */

import type { SessionOptions } from '../../src/session/index.ts';

/**
 * - `none`: nobody is asked. `yes`, `no`: the answer is there.
 * - `promised`: the first answer comes by the promise. `pending`: that never settles, `fails`: it rejects; `onChange` tells.
 */
export type Consent = 'none' | 'yes' | 'no' | 'promised' | 'pending' | 'fails';

/**
 * @param ran  for how long the page has been able to run, ms.
 */
export const createConsentTool = (consent: Consent, ran: () => number) => {
  const first = consent === 'none' || consent === 'yes' ? true : consent === 'no' ? false : undefined;
  let granted = first;
  let tell = (_: boolean) => {};
  let keep: ((granted: boolean) => void) | undefined;
  let openedAt = first ? 0 : Number.POSITIVE_INFINITY;

  const ask: SessionOptions['consent'] = (onChange) => {
    tell = onChange;
    if (consent === 'fails') return Promise.reject(new Error('no consent tool'));
    if (consent === 'promised') return new Promise((resolve) => (keep = resolve));
    return first ?? new Promise(() => {});
  };

  return {
    /** The session's option. */
    option: consent === 'none' ? undefined : ask,
    /** What was answered last; undefined before the first answer. */
    get granted() {
      return granted;
    },
    /** From when on it was allowed for the first time, by the time that the page has run, ms; `Infinity`: it never was. */
    get openedAt() {
      return openedAt;
    },
    /** It was allowed, and is no more. */
    get isWithdrawn() {
      return granted === false && openedAt < Number.POSITIVE_INFINITY;
    },
    answer: (next: boolean) => {
      granted = next;
      if (next) openedAt = Math.min(openedAt, ran());
      if (keep) keep(next);
      else tell(next);
      keep = undefined;
    },
  };
};
